"""Other processes and threads: fork, spawn, the interpreter's lock, and Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time
from pathlib import Path

import pytest

from metatok import PromptBuilder

CHATS = [[{"role": "user", "content": f"How much is {i} and {i}? " * 20}] for i in range(300)]


def ids(builder: PromptBuilder) -> list[list[int]]:
    return [prompt.tolist() for prompt in builder.build_all(CHATS)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_builders_work_in_other_processes(builder: PromptBuilder, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} is not possible here")
    expected = ids(builder)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(ids, [builder, builder]) == [expected, expected]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_uses_what_was_there_before(builder: PromptBuilder) -> None:
    expected = ids(builder)
    child = os.fork()
    if child == 0:
        os._exit(0 if ids(builder) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_other_threads_run_meanwhile(builder: PromptBuilder) -> None:
    ticks, built = 0, []
    thread = threading.Thread(target=lambda: built.extend(builder.build_all(CHATS * 20)))
    thread.start()
    while thread.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert len(built) == len(CHATS) * 20
    assert ticks > 3


def test_several_threads_share_a_builder(builder: PromptBuilder) -> None:
    expected = ids(builder)
    results: list[list[list[int]]] = []
    threads = [threading.Thread(target=lambda: results.append(ids(builder))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this is no free-threaded Python")
def test_the_lock_stays_off_where_there_is_none() -> None:
    program = "import sys, metatok; assert not sys._is_gil_enabled()"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    "work",
    [
        "builder.build_all([chat] * 1000000, threads=1)",
        "builder.build_all([chat] * 1000000, threads=2)",
        "builder.check([chat] * 1000000)",
        "builder.diff(builder, [chat] * 1000000)",
    ],
)
def test_ctrl_c_ends_work(work: str) -> None:
    program = f"""
        import metatok
        chat = [{{"role": "user", "content": "word " * 5000}}]
        builder = metatok.PromptBuilder("demo")
        print("ready", flush=True)
        {work}
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            _, error = process.communicate(timeout=20)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in error
    assert process.returncode in (1, 130, -signal.SIGINT)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_signal_that_waits_for_the_first_ids_is_no_panic() -> None:
    program = """
        import signal, metatok
        def stop(*_): raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, stop)
        builder = metatok.PromptBuilder("demo")
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            builder.build("word " * 1000000)
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout == "interrupted\n"


def test_the_command_line_comes_along() -> None:
    command = [sys.executable, "-m", "metatok"]
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("metatok ")
    failed = subprocess.run([*command, "build", "-m", "no-such-model"], capture_output=True, text=True, check=False)
    assert failed.returncode == 2 and "no-such-model" in failed.stderr


def test_memory_does_not_grow(builder: PromptBuilder) -> None:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("the system does not say how much memory a process has")

    def memory() -> float:
        return int(statm.read_text().split()[1]) * 4096 / 2**20

    def build(rounds: range) -> None:
        for i in rounds:
            chats = [[{"role": "user", "content": f"{i} and {j}"}] for j in range(500)]
            builder.build_batch(chats)
            builder.build_all(chats[:100])

    build(range(20))
    before = memory()
    build(range(20, 60))
    assert memory() - before < 8
