//! Files and processes are safe: no input is written over, nothing partial stays, and what comes slowly goes out at once.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Tests, tests};
use crate::program::{METATOK, metatok, output, stderr};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        files_are_compared_not_their_names,
        what_is_open_is_written_to_not_replaced,
        results_come_behind_what_was_written,
        a_link_is_written_through,
        more_files_than_can_be_open_at_once,
        a_line_is_answered_before_the_next_is_written,
        templates_come_through_pipes,
        a_signal_leaves_nothing_behind,
        #[cfg(feature = "candle")]
        two_runs_do_not_share_a_journal,
        a_full_disk_is_an_error_everywhere,
        an_option_that_says_nothing_is_refused,
        wrong_values,
        the_fingerprint_knows_the_neighbours,
        an_edited_chat_template_is_used_with_the_tokenizer_that_was_kept,
        roles_and_names_are_shown_without_their_control_characters
    ]
}

const HI: &str = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi!\"}]}\n";

fn files_are_compared_not_their_names() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    fs::write(at.join("x"), HI).expect("written");
    fs::hard_link(at.join("x"), at.join("hard")).expect("linked");
    std::os::unix::fs::symlink("x", at.join("soft")).expect("linked");
    let open = |name: &str| File::open(at.join(name)).expect("it is there");
    let append = |name: &str| OpenOptions::new().append(true).open(at.join(name)).expect("it is there");
    let mut cases = Vec::new();
    for name in ["hard", "soft"] {
        cases
            .push((format!("--output {name} and the input x"), metatok(at, &["build", "-m", "demo", "-o", name, "x"])));
    }
    for args in [&["build", "-m", "demo", "-o", "hard"][..], &["trim", "-m", "demo", "-o", "hard", "-"]] {
        let mut command = metatok(at, args);
        command.stdin(open("x"));
        cases.push(("--output hard and standard input".into(), command));
    }
    for args in [
        &["build", "-m", "demo", "soft"][..],
        &["run", "-m", "demo", "soft"],
        &["trim", "-m", "demo", "soft"],
        &["view", "-m", "demo", "soft"],
        &["check", "-m", "demo", "soft"],
        &["bench", "-m", "demo", "soft"],
    ] {
        let mut command = metatok(at, args);
        command.stdout(append("x"));
        cases.push(("standard output and the input soft".into(), command));
    }
    for (sides, mut command) in cases {
        let ran = command.output().expect("the program runs");
        let expected = format!("metatok: {sides} are the same file, which would be lost; write to another file\n");
        assert_eq!(stderr(&ran), expected, "{command:?}");
        assert_eq!(ran.status.code(), Some(2), "{command:?}");
        assert_eq!(fs::read_to_string(at.join("x")).expect("it is there"), HI, "{command:?}");
    }
    // Terminals, pipes and devices may well be both.
    let both = ["build", "-m", "demo", "-q", "--on-error", "reject", "--rejects", "/dev/null", "-o", "/dev/null", "x"];
    assert_eq!(output(at, &both).status.code(), Some(0));
}

/// As in a job whose streams go to its logs.
fn what_is_open_is_written_to_not_replaced() {
    if !Path::new("/dev/stdout").exists() {
        println!("skipped: there is no /dev/stdout");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    fs::write(at.join("x"), format!("{HI}no JSON\n")).expect("written");
    let log = |name: &str| {
        let mut file = OpenOptions::new().append(true).create(true).open(at.join(name)).expect("it can be opened");
        writeln!(file, "before").expect("written");
        file
    };
    let args = ["build", "-m", "demo", "--on-error", "reject", "--rejects", "/dev/stderr", "-o", "/dev/stdout", "x"];
    let ran = metatok(at, &args).stdout(log("out")).stderr(log("err")).status().expect("the program runs");
    assert_eq!(ran.code(), Some(1));
    for (name, parts) in [("out", &["{\"id\":0,\"input_ids\":["][..]), ("err", &["no JSON\"", "metatok: 1 prompt"])] {
        let text = fs::read_to_string(at.join(name)).expect("it is there");
        assert!(text.starts_with("before\n"), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    assert_eq!(fs::read_dir(at).expect("it is there").count(), 3);
}

/// Both are what one file gets, from its beginning.
fn results_come_behind_what_was_written() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    let line = r#"{"id": 0, "columns": {"answer": "7"}, "text": "It is 7."#;
    fs::write(at.join("a.jsonl"), format!("{line}\"}}\n")).expect("written");
    let expected = format!(
        "{line}\",\"found\":\"7\",\"correct\":true}}\n{}\n",
        r#"{"dataset":"a","answers":1,"correct":1,"nothing_found":0,"failed":0,"accuracy":100.0}"#
    );
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].into_iter().filter(|name| Path::new(name).exists()) {
        let out = File::create(at.join("out")).expect("it can be opened");
        let args = ["score", "-r", "answer", "--by", "number", "--json", "-o", name, "a.jsonl"];
        assert!(metatok(at, &args).stdout(out).status().expect("the program runs").success());
        assert_eq!(fs::read_to_string(at.join("out")).expect("it is there"), expected, "{name}");
    }
    fs::write(at.join("x"), "no JSON\n").expect("written");
    for name in ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"].into_iter().filter(|name| Path::new(name).exists()) {
        let err = File::create(at.join("err")).expect("it can be opened");
        let args = ["build", "-m", "demo", "--on-error", "reject", "--rejects", name, "x"];
        assert_eq!(metatok(at, &args).stderr(err).status().expect("the program runs").code(), Some(1));
        let text = fs::read_to_string(at.join("err")).expect("it is there");
        let begins = ["metatok: x: line 1: ", "{", "metatok: 0 prompts", "metatok: 1 row rejected"];
        assert!(
            text.lines().count() == 4 && text.lines().zip(begins).all(|(line, begin)| line.starts_with(begin)),
            "{text}"
        );
    }
}

fn a_link_is_written_through() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    fs::write(at.join("x"), HI).expect("written");
    // At first there is no file that they lead to.
    for (link, target) in [("to-nothing", "new"), ("to-a-link", "to-nothing"), ("to-a-file", "new")] {
        std::os::unix::fs::symlink(target, at.join(link)).expect("linked");
        let ran = output(at, &["build", "-m", "demo", "-q", "-o", link, "x"]);
        assert_eq!((ran.status.code(), stderr(&ran)), (Some(0), String::new()), "{link}");
        assert_eq!(fs::read_link(at.join(link)).expect("it is a link"), Path::new(target), "{link}");
        assert!(fs::symlink_metadata(at.join("new")).expect("it is there").is_file(), "{link}");
        assert!(fs::read_to_string(at.join(link)).expect("it is there").starts_with("{\"id\":0,"), "{link}");
    }
}

fn more_files_than_can_be_open_at_once() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    let table = fs::read(root().join("tests/data/rows.parquet")).expect("it is there");
    let dataset =
        r#"infer_cfg = { prompt_template = { template = { round = [{ role = "HUMAN", prompt = "{q}" }] } } }"#;
    fs::write(at.join("d.toml"), dataset).expect("written");
    for (ending, bytes, records) in [("jsonl", HI.as_bytes(), 1), ("csv", b"q\n1?\n", 1), ("parquet", &table, 2)] {
        if ending == "parquet" && !cfg!(feature = "parquet") {
            continue;
        }
        (0..100).for_each(|number| fs::write(at.join(format!("{number}.{ending}")), bytes).expect("written"));
        let rows = if ending == "jsonl" { "" } else { "-d d.toml" };
        let limited = format!("ulimit -n 64; exec '{METATOK}' build -m demo -q {rows} -o out *.{ending}");
        let ran = Command::new("sh").args(["-c", &limited]).current_dir(at).output().expect("the program runs");
        assert_eq!((ran.status.code(), stderr(&ran)), (Some(0), String::new()), "{ending}");
        let built = fs::read_to_string(at.join("out")).expect("it is there");
        assert_eq!(built.lines().count(), 100 * records, "{ending}");
    }
}

fn a_line_is_answered_before_the_next_is_written() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("there is a mkfifo").success());
    let ask = |mut child: Child, mut stdin: Box<dyn Write>| {
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        for i in 0..3 {
            writeln!(stdin, "\"line {i}\"").expect("the program reads");
            stdin.flush().expect("the program reads");
            let mut line = String::new();
            stdout.read_line(&mut line).expect("there is a line");
            assert!(line.starts_with(&format!("{{\"id\":{i},")), "{line}");
        }
        drop(stdin);
        assert!(child.wait().expect("it ends").success());
    };
    for args in [&["build", "-m", "demo", "-q"][..], &["build", "-m", "demo", "-q", "-j", "1", "-"]] {
        let mut child = metatok(folder.path(), args).stdin(Stdio::piped()).spawn().expect("the program starts");
        let stdin: ChildStdin = child.stdin.take().expect("it is piped");
        ask(child, Box::new(stdin));
    }
    let child = metatok(folder.path(), &["build", "-m", "demo", "-q", "fifo"]).spawn().expect("the program starts");
    ask(child, Box::new(OpenOptions::new().write(true).open(fifo).expect("somebody reads")));
}

/// As from `<(…)`.
fn templates_come_through_pipes() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("in.jsonl"), HI).expect("written");
    let fifo = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("there is a mkfifo").success());
    let conversation = r#"{"name": "mine", "sep_style": "NO_COLON_SINGLE", "sep": "|", "roles": ["", ""]}"#;
    let chat = "{{ messages[0].content }}|";
    for (option, template) in [("--conversation", conversation), ("--chat-template", chat)] {
        let args = ["build", option, "pipe", "--tokenizer", "demo", "-q", "in.jsonl"];
        let child = metatok(folder.path(), &args).spawn().expect("the program starts");
        fs::write(&fifo, template).expect("the program reads");
        let ended = child.wait_with_output().expect("it ends");
        let ids = String::from_utf8_lossy(&ended.stdout);
        assert!(ids.starts_with(r#"{"id":0,"input_ids":[39,72,0,91]"#), "{option}: {ids}{}", stderr(&ended));
    }
    let model = r#"{"tokenizer": "demo", "meta_template": {"round": [{"role": "HUMAN", "end": "|"}, {"role": "BOT", "generate": true}]}}"#;
    let html = ["view", "--model", "pipe", "--html", "x.html", "in.jsonl"];
    for (args, expected) in [
        (&["build", "--model", "pipe", "-q", "in.jsonl"][..], r#"{"id":0,"input_ids":[39,72,0,91]"#),
        (&["build", "--model", "pipe", "-q", "--format", "messages", "in.jsonl"], r#"{"id":0,"messages":[{"#),
        (&html, ""),
        (&["count", "--model", "pipe", "in.jsonl"], "36 in.jsonl"),
    ] {
        let child = metatok(folder.path(), args).spawn().expect("the program starts");
        fs::write(&fifo, model).expect("the program reads");
        let ended = child.wait_with_output().expect("it ends");
        let printed = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && printed.starts_with(expected), "{args:?}: {printed}{}", stderr(&ended));
    }
    // What is wrong with it is known from the first time that it is read.
    let child = metatok(folder.path(), &["build", "--model", "pipe", "in.jsonl"]).spawn().expect("the program starts");
    fs::write(&fifo, "tokeniser = 1").expect("the program reads");
    let ended = child.wait_with_output().expect("it ends");
    assert!(stderr(&ended).starts_with("metatok: pipe: tokeniser: unknown key `tokeniser`"), "{}", stderr(&ended));
}

fn a_signal_leaves_nothing_behind() {
    for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
        if is_ignored(number) {
            println!("skipped: {signal} is ignored here, as in the background of a script");
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = folder.path();
        fs::write(at.join("ids"), "old").expect("written");
        let args = ["build", "-m", "demo", "-q", "-o", "ids", "--on-error", "reject", "--rejects", "bad", "-"];
        let mut child = metatok(at, &args).stdin(Stdio::piped()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        write!(stdin, "\"good\"\nbad\n").expect("the program reads");
        wait_for(|| partial(at).len() == 2);
        // A shell ends its loop only if the signal itself ended the program.
        assert_eq!(signalled(&mut child, signal).signal(), Some(number));
        assert!(partial(at).is_empty(), "{:?}", partial(at));
        assert_eq!(fs::read_to_string(at.join("ids")).expect("the old file is there"), "old");
        assert!(!at.join("bad").exists());
    }
}

/// Whether this process, and so the program that it starts, was started so that a signal does not end it.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn signalled(child: &mut Child, signal: &str) -> ExitStatus {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is a kill");
    assert!(sent.success());
    let mut ended = None;
    wait_for(|| {
        ended = child.try_wait().expect("it was started");
        ended.is_some()
    });
    ended.expect("it was waited for")
}

fn partial(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("the folder can be listed").flatten();
    files.map(|file| file.file_name().to_string_lossy().into_owned()).filter(|name| name.contains("partial")).collect()
}

fn wait_for(mut so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !so() {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing happens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(feature = "candle")]
fn two_runs_do_not_share_a_journal() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    let run = ["run", "-m", "demo", "-q", "--batch-size", "1", "-o", "out", "-"];
    let mut child = metatok(at, &run).stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(HI.as_bytes()).expect("the program reads");
    wait_for(|| fs::read_to_string(at.join("out.partial")).is_ok_and(|text| text.contains("\"rows\":1")));
    let second = metatok(at, &["run", "-m", "demo", "-q", "-o", "out"]).output().expect("the program runs");
    let expected =
        "metatok: out.partial: another run is writing it; wait until that is done, or choose another --output\n";
    assert_eq!((second.status.code(), stderr(&second)), (Some(2), expected.into()));
    // What is answered stays for --resume.
    assert_eq!(signalled(&mut child, "-TERM").signal(), Some(15));
    assert_eq!(partial(at), ["out.partial"]);
    fs::remove_file(at.join("out.partial")).expect("it is there");
    assert_eq!(output(at, &["run", "-m", "demo", "-q", "-o", "out"]).status.code(), Some(0));
}

fn a_full_disk_is_an_error_everywhere() {
    if !Path::new("/dev/full").exists() {
        println!("skipped: there is no /dev/full");
        return;
    }
    let full = || OpenOptions::new().write(true).open("/dev/full").expect("it can be opened");
    for args in [
        &["build"][..],
        &["view"],
        &["view", "--json"],
        &["view", "--html", "-"],
        &["check", "--list"],
        &["models"],
        &["models", "qwen3"],
        &["datasets"],
        &["datasets", "gsm8k"],
        &["convert", "vicuna_v1.1"],
        &["completions", "bash"],
        &["bench", "--seconds", "0.001", "--limit", "1", "-j", "1"],
        &["--help"],
        &["--version"],
        &["build", "-h"],
        &["help", "run"],
    ] {
        let ran = metatok(Path::new("."), args).stdout(full()).output().expect("the program runs");
        let expected = "metatok: standard output: No space left on device (os error 28)\n";
        assert_eq!((ran.status.code(), stderr(&ran)), (Some(2), expected.into()), "{args:?}");
        // Nobody is left to be told.
        let ran = metatok(Path::new("."), args).stdout(full()).stderr(full()).status().expect("the program runs");
        assert_eq!(ran.code(), Some(2), "{args:?}");
    }
}

/// The options, and what is said of the one that says nothing.
fn an_option_that_says_nothing_is_refused() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    let plain = "infer_cfg = { prompt_template = { template = \"{q}\" } }";
    let turns = "infer_cfg = { prompt_template = { type = \"MultiTurnPromptTemplate\", template = { round = [{ role = \"HUMAN\", prompt = \"{question}\" }, { role = \"BOT\", prompt = \"{answer}\" }] } }, inferencer = { type = \"MultiTurnGenInferencer\", infer_mode = \"last\" } }";
    for (name, text) in [
        ("d.toml", plain),
        ("t.toml", turns),
        ("x", HI),
        ("r.jsonl", "{\"q\": 1, \"question\": [\"a\"], \"answer\": [\"b\"]}"),
    ] {
        fs::write(at.join(name), text).expect("written");
    }
    let of_ids = "is for token ids, but messages have none; remove it, or build in another format";
    let no_limit = "shortens prompts, but check accepts any length; remove it";
    let padded = "needs --format npz, npy or safetensors: nothing else is padded";
    for (args, expected) in [
        ("build --padding-side left x", format!("--padding-side {padded}")),
        ("build --pad-to-multiple-of 8 --format vllm x", format!("--pad-to-multiple-of {padded}")),
        (
            "build --rejects bad x",
            "--rejects is for rejected lines, but the first one stops the command; add --on-error reject".into(),
        ),
        ("build --format messages --tokenizer demo x", format!("--tokenizer {of_ids}")),
        ("build --format messages --special-tokens never x", format!("--special-tokens {of_ids}")),
        ("build --format messages --content data x", format!("--content {of_ids}")),
        ("build --format messages --reserve a x", format!("--reserve {of_ids}")),
        ("build --format messages --unreserve a x", format!("--unreserve {of_ids}")),
        ("build --format messages --stop-id 1 x", format!("--stop-id {of_ids}")),
        ("build --format messages --max-seq-len 9 x", format!("--max-seq-len {of_ids}")),
        (
            "build --format messages --max-out-len 9 x",
            "--max-out-len leaves room within --max-seq-len, but messages do not pass it to the server; remove it".into(),
        ),
        (
            "build --mode ppl --max-out-len 9 x",
            "--max-out-len is for answers, but texts to score have none; remove it".into(),
        ),
        (
            "build -d d.toml --infer-mode last r.jsonl",
            "d.toml: --infer-mode: this dataset does not generate turn by turn; leave it out".into(),
        ),
        (
            "run -d d.toml --strip-thoughts r.jsonl",
            "--strip-thoughts is for a model's own answers in prompts, but there are none: they come from --answers, --judge, or earlier turns of `run`".into(),
        ),
        (
            "run --top-p 0.5 x",
            "--top-p limits which tokens are sampled, but without --temperature none are sampled".into(),
        ),
        (
            "run --max-seq-len 300 x",
            "an answer of up to 512 tokens leaves no room for a prompt in a context of 300; lower --max-out-len".into(),
        ),
        (
            "view --max-out-len 9 x",
            "--max-out-len leaves room within --max-seq-len, so it has no effect without that; remove it".into(),
        ),
        ("view -d d.toml --turn 0 r.jsonl", "--turn selects a turn, but the dataset does not generate turn by turn".into()),
        (
            "view -d t.toml --label A r.jsonl",
            "--label selects a label, but the dataset generates turn by turn; use --turn".into(),
        ),
        (
            "view -d t.toml --answers x r.jsonl",
            "--answers is for turns that need the model's own answers to earlier turns: ChatInferencer or MultiTurnGenInferencer, and --infer-mode every or every_empty".into(),
        ),
        ("check --max-seq-len 9 x", format!("--max-seq-len {no_limit}")),
        ("check --max-out-len 9 x", format!("--max-out-len {no_limit}")),
    ] {
        let mut args: Vec<&str> = args.split(' ').collect();
        if !args.contains(&"messages") {
            args.extend(["-m", "demo"]);
        }
        let ran = output(at, &args);
        assert_eq!((ran.status.code(), stderr(&ran)), (Some(2), format!("metatok: {expected}\n")), "{args:?}");
    }
}

/// Values that no command takes.
fn wrong_values() {
    let seconds = "write a number of seconds from 0.001 to 3600";
    for (args, expected) in [
        (&["bench", "--seconds", "nan"][..], format!("invalid value 'nan' for '--seconds <SECONDS>': {seconds}")),
        (&["bench", "--seconds", "inf"], format!("invalid value 'inf' for '--seconds <SECONDS>': {seconds}")),
        (&["bench", "--seconds", "-1"], format!("invalid value '-1' for '--seconds <SECONDS>': {seconds}")),
        (
            &["bench", "--limit", "0"],
            "invalid value '0' for '--limit <N>': expected a whole number of at least 1".into(),
        ),
        (&["bench", "--stop", "a"], "unexpected argument '--stop' found".into()),
        (&["bench", "--special-tokens", "never"], "unexpected argument '--special-tokens' found".into()),
        (
            &["build", "--stop", ""],
            "invalid value '' for '--stop <TEXT>': an empty string would end every answer before it begins".into(),
        ),
        (
            &["build", "--format", "npy", "--pad-to-multiple-of", "99999999999"],
            "invalid value '99999999999' for '--pad-to-multiple-of <N>': 99999999999 is not in 1..=1048576".into(),
        ),
        (
            &["build", "--max-seq-len", "99999999999999999999"],
            "invalid value '99999999999999999999' for '--max-seq-len <N>': the number is too large".into(),
        ),
    ] {
        let ran = output(Path::new("."), args);
        let first = stderr(&ran).lines().next().unwrap_or_default().to_owned();
        assert_eq!((ran.status.code(), first), (Some(2), format!("error: {expected}")), "{args:?}");
    }
    let most = u64::MAX.to_string();
    for args in [
        &["build", "-q", "--max-seq-len", &most, "--limit", &most][..],
        &["build", "-q", "--max-out-len", &most],
        &["build", "-q", "--max-line-bytes", &most],
    ] {
        assert_eq!(output(Path::new("."), args).status.code(), Some(0), "{args:?}");
    }
}

/// What the ids depend on: also a file that the dataset file names.
fn the_fingerprint_knows_the_neighbours() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    let dataset = "reader_cfg = { input_columns = \"q\", output_column = \"a\" }
[infer_cfg]
ice_template = { template = \"{q}{a}\" }
prompt_template = { template = \"</E>{q}\", ice_token = \"</E>\" }
retriever = { type = \"TopkRetriever\", neighbours = \"near.jsonl\" }";
    let rows = "{\"q\": \"1\", \"a\": \"a\"}\n{\"q\": \"2\", \"a\": \"b\"}\n";
    for (name, text) in [("d.toml", dataset), ("rows.jsonl", rows), ("near.jsonl", "[0]\n[1]\n")] {
        fs::write(at.join(name), text).expect("written");
    }
    let rows = ["-m", "demo", "-d", "d.toml", "--train", "rows.jsonl"];
    let built = output(at, &[&["build", "-q", "--fingerprint", "-o", "ids", "rows.jsonl"], &rows[..]].concat());
    assert_eq!(built.status.code(), Some(0), "{}", stderr(&built));
    let against = [&["check", "--against", "ids"], &rows[..]].concat();
    assert_eq!(output(at, &against).status.code(), Some(0));
    fs::write(at.join("near.jsonl"), "[1]\n[0]\n").expect("written");
    let other = output(at, &against);
    assert_eq!(other.status.code(), Some(1));
    assert!(stderr(&other).contains("neighbours differs: file has \""), "{}", stderr(&other));
}

fn roles_and_names_are_shown_without_their_control_characters() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    let model = "tokenizer = \"demo\"
[meta_template]
round = [{ role = \"HU\\u001b[31mMAN\", begin = \"Q: \" }, { role = \"BOT\", begin = \"A: \", generate = true }]
reserved_roles = [{ role = \"SYS\\u202eTEM\", api_role = \"SYSTEM\" }]";
    fs::write(at.join("m\u{1b}[2J.toml"), model).expect("written");
    let prompt = "{\"prompt\": [{\"section\": \"round\", \"pos\": \"begin\"}, {\"role\": \"HU\\u001b[31mMAN\", \"prompt\": \"a\\u001b[2Jb\"}, {\"section\": \"round\", \"pos\": \"end\"}]}\n{\"prompt\": [{\"role\": \"HU\\u001b[31mMAN\", \"prompt\": \"\"}]}\n";
    fs::write(at.join("x\u{1b}[31m.jsonl"), prompt).expect("written");
    for args in
        [&["view"][..], &["check"], &["build"], &["build", "--on-error", "reject"], &["build", "--limit", "0\u{1b}c"]]
    {
        let ran = output(at, &[args, &["-m", "m\u{1b}[2J.toml", "x\u{1b}[31m.jsonl"]].concat());
        for text in [&ran.stdout, &ran.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{args:?}: {text:?}");
        }
    }
}

fn an_edited_chat_template_is_used_with_the_tokenizer_that_was_kept() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (at, cache) = (folder.path(), folder.path().join("cache"));
    fs::create_dir(at.join("mine")).expect("made");
    let tokenizer = fs::read_to_string(root().join("models/demo/tokenizer.json")).expect("it is there");
    // A smaller one is not kept.
    fs::write(at.join("mine/tokenizer.json"), tokenizer + &" ".repeat(1 << 20)).expect("written");
    fs::write(at.join("x"), HI).expect("written");
    for (letter, id) in [("a", 64), ("b", 65)] {
        let config =
            format!(r#"{{"eos_token": "<|im_end|>", "chat_template": "{letter}{{{{ messages[0].content }}}}"}}"#);
        fs::write(at.join("mine/tokenizer_config.json"), config).expect("written");
        for _ in 0..2 {
            let mut build = metatok(at, &["build", "--tokenizer", "mine", "x"]);
            let built = build.env("METATOK_CACHE", &cache).output().expect("the program runs");
            let line = String::from_utf8_lossy(&built.stdout).into_owned();
            assert!(line.contains(&format!("\"input_ids\":[{id},39,72,0]")), "{line}{}", stderr(&built));
            assert_eq!(fs::read_dir(&cache).expect("it was made").count(), 1);
        }
    }
}
