//! What a program must do that no single command line shows: order, memory, interruptions.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Tests, tests};
use crate::program;

pub(crate) fn tests() -> Tests {
    tests![
        an_empty_pipe_is_the_demo_only_where_nothing_is_named,
        the_same_output_whatever_the_threads,
        a_closed_pipe_ends_quietly,
        a_closed_pipe_of_files_ends_quietly,
        a_closed_pipe_leaves_the_rejects,
        a_closed_pipe_leaves_the_rejects_of_answers,
        a_closed_pipe_leaves_results_whole,
        #[cfg(unix)]
        an_interrupted_run_leaves_the_rejects,
        results_come_while_input_is_still_open,
        a_slow_pipe_gives_each_result_before_the_next_line,
        a_killed_run_leaves_no_output,
        a_line_of_a_hundred_megabytes_is_named_and_not_kept,
        memory_does_not_grow_with_the_input,
        memory_does_not_grow_with_a_file
    ]
}

/// Formats that are written when all prompts are there.
const FILE_FORMS: &[&str] = &[
    #[cfg(feature = "arrays")]
    "npz",
    #[cfg(feature = "arrays")]
    "safetensors",
    #[cfg(feature = "arrow")]
    "arrow",
    #[cfg(feature = "arrow")]
    "parquet",
];

fn metatok(args: &[&str]) -> Command {
    program::metatok(Path::new("."), args)
}

/// Lines of very different lengths, some of them wrong.
fn write_conversations(path: &Path, lines: usize, wrong: bool) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("the file can be made"));
    for i in 0..lines {
        let said = format!("What is {i} + {i}? ").repeat(1 + i * i % 40);
        let line = if wrong && i % 97 == 5 {
            format!(r#"{{"messages": [{{"role": "nobody", "content": "{said}"}}]}}"#)
        } else {
            format!(r#"{{"messages": [{{"role": "user", "content": "{said}"}}]}}"#)
        };
        writeln!(file, "{line}").expect("the file can be written");
    }
}

/// The demo must not pass for the output of a program that failed to write any.
fn an_empty_pipe_is_the_demo_only_where_nothing_is_named() {
    for (args, exit) in [
        (&["build"][..], 0),
        (&["build", "-m", "demo"], 2),
        (&["build", "-d", "arc"], 2),
        (&["build", "--conversation", "vicuna"], 2),
        (&["build", "--chat-template", "t.jinja"], 2),
        (&["build", "--template-kwargs", "{}"], 2),
    ] {
        let child = metatok(args).stdin(Stdio::piped()).spawn().expect("the program starts");
        let output = child.wait_with_output().expect("the program ends");
        let stderr = program::stderr(&output);
        assert_eq!(output.status.code(), Some(exit), "{args:?}: {stderr}");
        assert_eq!(output.stdout.is_empty(), exit != 0, "{args:?}: {stderr}");
    }
}

fn the_same_output_whatever_the_threads() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let input = folder.path().join("in.jsonl");
    write_conversations(&input, 5_000, true);
    let build = |threads: &str| {
        let rejects = folder.path().join(format!("{threads}.rejects"));
        let (input, rejects_arg) = (input.to_string_lossy(), rejects.to_string_lossy());
        let args = [
            "build",
            "-m",
            "demo",
            "-q",
            "-j",
            threads,
            "--on-error",
            "reject",
            "--rejects",
            &rejects_arg,
            "--text",
            &input,
        ];
        let output = metatok(&args).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(1));
        (output.stdout, output.stderr, std::fs::read(&rejects).expect("there are rejects"))
    };
    let one = build("1");
    assert_eq!(
        one.0.iter().filter(|byte| **byte == b'\n').count(),
        5_000 - 5_000usize.div_ceil(97) + usize::from(5_000 % 97 <= 5)
    );
    for threads in ["2", "3", "8"] {
        let many = build(threads);
        assert!(many.0 == one.0, "{threads} threads give other prompts");
        assert!(many.2 == one.2, "{threads} threads give other rejects");
        let without_path = |stderr: &[u8], threads: &str| {
            String::from_utf8_lossy(stderr).replace(&format!("{threads}.rejects"), "rejects")
        };
        assert_eq!(without_path(&many.1, threads), without_path(&one.1, "1"));
    }
}

fn a_closed_pipe_ends_quietly() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let input = folder.path().join("in.jsonl");
    write_conversations(&input, 20_000, false);
    let mut child = metatok(&["build", "-m", "demo", &input.to_string_lossy()]).spawn().expect("the program starts");
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    stdout.read_line(&mut first).expect("there is a line");
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert!(first.starts_with("{\"id\":0,"));
    assert_eq!(program::stderr(&output), "");
    assert_eq!(output.status.code(), Some(0));
}

fn a_closed_pipe_of_files_ends_quietly() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let input = folder.path().join("in.jsonl");
    write_conversations(&input, 2_000, false);
    // What is so little is written at the very end.
    let little = folder.path().join("little.jsonl");
    write_conversations(&little, 2, false);
    for (form, input) in FILE_FORMS.iter().flat_map(|form| [(form, &input), (form, &little)]) {
        let args = ["build", "-m", "demo", "-q", "--format", form, &input.to_string_lossy()];
        let mut child = metatok(&args).spawn().expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!((output.status.code(), &*program::stderr(&output)), (Some(0), ""), "{form}");
    }
}

fn a_closed_pipe_leaves_the_rejects() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (input, rejects) = (folder.path().join("in.jsonl"), folder.path().join("rejects"));
    write_conversations(&input, 20_000, true);
    let (input, rejects_arg) = (input.to_string_lossy(), rejects.to_string_lossy());
    let args = ["build", "-m", "demo", "-q", "--on-error", "reject", "--rejects", &rejects_arg, &input];
    let mut child = metatok(&args).spawn().expect("the program starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    for _ in 0..1_000 {
        line.clear();
        stdout.read_line(&mut line).expect("there is a line");
    }
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    let stderr = program::stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let rejected = std::fs::read_to_string(&rejects).expect("there are rejects").lines().count();
    assert!((10..200).contains(&rejected), "{rejected}");
    assert!(stderr.contains(&format!("metatok: {rejected} rows rejected")), "{stderr}");
}

/// The pipe closes before the first answer, beside which is a bad line.
fn a_closed_pipe_leaves_the_rejects_of_answers() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let lines = b"{\"id\": 0, \"text\": \"a\"}\nnonsense\n";
    let args = ["trim", "-m", "demo", "-q", "--on-error", "reject", "--rejects", "r.jsonl", "-"];
    let mut child = program::metatok(folder.path(), &args).stdin(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    child.stdin.take().expect("it is piped").write_all(lines).expect("the program reads");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(1), "{}", program::stderr(&output));
    let rejects = std::fs::read_to_string(folder.path().join("r.jsonl")).expect("there are rejects");
    assert_eq!(rejects.lines().count(), 1, "{rejects}");
}

/// Where the prompts before them are.
#[cfg(unix)]
fn an_interrupted_run_leaves_the_rejects() {
    use std::os::unix::process::ExitStatusExt as _;

    let good = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi!\"}]}\n";
    for is_file in [false, true] {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let args = ["build", "-m", "demo", "-q", "--on-error", "reject", "--rejects", "r.jsonl", "-"];
        let args = [&args[..], if is_file { &["-o", "out.jsonl"] } else { &[] }].concat();
        let mut child =
            program::metatok(folder.path(), &args).stdin(Stdio::piped()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(format!("nonsense\n{good}").as_bytes()).expect("the program reads");
        // The prompt after the bad line is written before or after it.
        wait_for(|| partial_bytes(folder.path()) > 0, &mut child);
        let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        assert_eq!(child.wait().expect("it ends").signal(), Some(15));
        let rejects = std::fs::read_to_string(folder.path().join("r.jsonl")).ok();
        assert_eq!(rejects.is_some_and(|rejects| rejects.contains("nonsense")), !is_file);
        let left = std::fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(left, usize::from(!is_file));
    }
}

/// A result is of all answers, whoever reads what is written about each.
fn a_closed_pipe_leaves_results_whole() {
    const ANSWERS: usize = 5_000;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    let write = |name: &str, line: fn(usize) -> String| {
        let lines: String = (0..ANSWERS).map(|i| line(i) + "\n").collect();
        std::fs::write(at.join(name), lines).expect("the file can be written");
    };
    write("a.jsonl", |i| format!(r#"{{"id": {i}, "columns": {{"answer": "a"}}, "text": "a"}}"#));
    write("b.jsonl", |i| format!(r#"{{"id": {i}, "text": "{}"}}"#, if i < ANSWERS / 2 { "a" } else { "b" }));
    write("texts.jsonl", |i| {
        format!(
            r#"{{"id": {i}, "label": "yes", "input_ids": [5, 6], "labels": [5, 6], "columns": {{"answer": "yes"}}}}"#
        )
    });
    write("scores.jsonl", |i| {
        format!(
            r#"{{"text": "", "output_ids": [], "meta_info": {{"id": "{i}-label-0", "finish_reason": {{"type": "length", "length": 0}}, "input_token_logprobs": [[null, 5, null], [-1.5, 6, null]]}}}}"#
        )
    });
    let run = |args: &[&str]| program::metatok(at, args).spawn().expect("the program starts");
    if Path::new("/dev/stderr").exists() {
        let whole = format!(",\"answers\":{ANSWERS},\"correct\":{ANSWERS},");
        for more in [&["a.jsonl"][..], &["--texts", "texts.jsonl", "scores.jsonl"]] {
            let mut child = run(&[&["score", "-r", "answer", "--json", "-o", "/dev/stderr"], more].concat());
            drop(child.stderr.take());
            let output = child.wait_with_output().expect("the program ends");
            let stdout = program::stdout(&output);
            assert!(output.status.success() && stdout.contains(&whole), "{more:?}: {stdout}");
        }
    }
    let mut child = run(&["compare", "-m", "demo", "--all", "a.jsonl", "b.jsonl"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    let stderr = program::stderr(&output);
    assert!(stderr.starts_with("metatok: 5000 answers compared: 2500 equal, 2500 differ"), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
}

fn results_come_while_input_is_still_open() {
    let mut child =
        metatok(&["build", "-m", "demo", "-q", "-"]).stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // More than a batch, and then nothing more for now.
    for i in 0..3_000 {
        writeln!(stdin, "\"{i} and some more text to fill a batch\"").expect("the program reads");
    }
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("there is a line");
    assert!(line.starts_with("{\"id\":0,"));
    drop(stdin);
    assert_eq!(stdout.lines().count(), 2_999);
    child.wait().expect("the program ends");
}

fn a_slow_pipe_gives_each_result_before_the_next_line() {
    for (opens, line, separator) in
        [("", r#"{"prompt": "a"}"#, "\n"), ("[\n", r#"{"prompt": "a"}"#, ",\n"), ("", "{\n\"prompt\":\n\"a\"}", "\n")]
    {
        let mut child =
            metatok(&["build", "-m", "demo", "-q"]).stdin(Stdio::piped()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        write!(stdin, "{opens}").expect("the program reads");
        for i in 0..3 {
            write!(stdin, "{line}{separator}").expect("the program reads");
            let mut result = String::new();
            stdout.read_line(&mut result).expect("there is a line");
            assert!(result.starts_with(&format!("{{\"id\":{i},")), "{result}");
        }
        drop(stdin);
        child.wait().expect("the program ends");
    }
}

fn a_killed_run_leaves_no_output() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = folder.path().join("ids.jsonl");
    std::fs::write(&output, "old").expect("the file can be written");
    let mut child = metatok(&["build", "-m", "demo", "-q", "-", "-o", &output.to_string_lossy()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    for i in 0..20_000 {
        writeln!(stdin, "\"{i} and some more text to fill a batch\"").expect("the program reads");
    }
    wait_for(|| partial_bytes(folder.path()) > 0, &mut child);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert_eq!(std::fs::read(&output).expect("the old file is there"), b"old");
}

/// What the output holds that is not complete yet.
fn partial_bytes(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).expect("the folder can be listed").flatten();
    let partial = files.filter(|file| file.file_name().to_string_lossy().ends_with(".partial"));
    partial.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

fn wait_for(mut so: impl FnMut() -> bool, child: &mut Child) {
    let started = Instant::now();
    while !so() {
        assert!(child.try_wait().expect("its state can be asked for").is_none(), "the program ended");
        assert!(started.elapsed() < Duration::from_secs(60), "nothing happens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The most memory that the process had, from the operating system.
fn peak_bytes(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

fn a_line_of_a_hundred_megabytes_is_named_and_not_kept() {
    let mut child = metatok(&["build", "-m", "demo", "-q", "--on-error", "reject", "--rejects", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let megabyte = vec![b'a'; 1 << 20];
    stdin.write_all(b"\"").expect("the program reads");
    for _ in 0..100 {
        stdin.write_all(&megabyte).expect("the program reads");
    }
    stdin.write_all(b"\"\n\"after\"\n").expect("the program reads");
    // All but what the pipe holds has been read.
    if let Some(peak) = peak_bytes(&child) {
        assert!(peak < 200 << 20, "{peak} bytes");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert!(program::stderr(&output).starts_with("metatok: stdin: line 1: the line is longer than 67108864 bytes"));
    assert!(program::stdout(&output).starts_with("{\"id\":1,"));
    assert_eq!(output.status.code(), Some(1));
}

fn memory_does_not_grow_with_the_input() {
    let mut child = metatok(&["build", "-m", "demo", "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = std::io::BufWriter::new(child.stdin.take().expect("it is piped"));
    for i in 0..300_000 {
        let said = format!("{i} What goes around the Earth at night and by day? ").repeat(3);
        writeln!(stdin, r#"{{"messages": [{{"role": "user", "content": "{said}"}}]}}"#).expect("the program reads");
    }
    stdin.flush().expect("the program reads");
    if let Some(peak) = peak_bytes(&child) {
        assert!(peak < 150 << 20, "{peak} bytes");
    }
    drop(stdin);
    assert!(child.wait().expect("the program ends").success());
}

fn memory_does_not_grow_with_a_file() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (input, output) = (folder.path().join("in.jsonl"), folder.path().join("out"));
    let said = "What goes around the Earth at night and by day? ".repeat(8);
    let line = format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{said}\"}}]}}\n");
    std::fs::write(&input, line.repeat(120_000)).expect("the file can be written");
    for form in FILE_FORMS {
        let (input, output) = (input.to_string_lossy(), output.to_string_lossy());
        let mut child = metatok(&["build", "-m", "demo", "-q", "--format", form, "-o", &output, &input])
            .spawn()
            .expect("the program starts");
        let mut peak = 0;
        let status = loop {
            if let Some(status) = child.try_wait().expect("it is a child") {
                break status;
            }
            peak = peak.max(peak_bytes(&child).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(status.success(), "{form}");
        assert!(peak < 150 << 20, "{form}: {peak} bytes");
    }
}
