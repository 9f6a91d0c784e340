//! `metatok run --url`: how a run ends, what is kept of it, and what is said of that.

use std::process::{Child, Command, Output};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Tests, tests};
use crate::program::{exit_code, metatok, output, stderr, stdout};
use crate::scripted_server::{Asked, ScriptedServer, folder, respond, stream, usual, vllm_event};

pub(crate) fn tests() -> Tests {
    tests![
        what_has_arrived_is_written_when_a_run_ends_early,
        #[cfg(unix)]
        a_run_whose_reader_has_gone_waits_for_no_answer,
        #[cfg(unix)]
        an_interrupted_run_says_what_is_kept,
        errors_that_are_kept_are_told_from_answers,
        totals_count_what_failed_and_only_what_is_known,
        a_request_asks_for_no_more_than_fits,
        the_context_is_that_of_the_model_that_is_asked_for,
        what_is_shortened_leaves_room_for_an_answer,
        stop_strings_that_the_server_does_not_take_end_answers_too,
        what_comes_after_a_stop_does_not_change_the_answer
    ]
}

fn args<'a>(url: &'a str, engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "-m", "demo", "--engine", engine, "--url", url, "in.jsonl"], more].concat()
}

fn ran(folder: &TempDir, server: &ScriptedServer, more: &[&str]) -> Output {
    output(folder.path(), &args(&server.url(), "vllm", more))
}

/// The number of the row that is asked.
fn row(asked: &Asked) -> usize {
    let id = asked.body["request_id"].as_str().unwrap_or_default();
    id.split('-').next().and_then(|row| row.parse().ok()).unwrap_or(usize::MAX)
}

fn answer(to: &mut std::net::TcpStream) -> std::io::Result<()> {
    stream(to, &[vllm_event(&[773, 1052], Some("stop"))])
}

/// A server that answers all rows but the second, for which this is done after a while.
fn but_the_second(status: Option<&'static str>) -> ScriptedServer {
    ScriptedServer::start(move |asked, to| match (asked.path.as_str(), row(asked), status) {
        ("/v1/completions", 1, Some(status)) => {
            thread::sleep(Duration::from_millis(500));
            respond(to, status, "", "no")
        }
        ("/v1/completions", 1, None) => {
            thread::sleep(Duration::from_secs(20));
            Ok(())
        }
        ("/v1/completions", ..) => answer(to),
        _ => usual(asked, "m", to),
    })
}

/// Sends a signal, one that no shell lets a program ignore, when the server has been asked for this many rows, and answers have had time to arrive.
fn interrupted(mut run: Child, server: &ScriptedServer, rows: usize) -> Output {
    while server.bodies("/v1/completions").len() < rows && run.try_wait().expect("it was started").is_none() {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    let sent = Command::new("kill").args(["-TERM", &run.id().to_string()]).status().expect("there is a kill");
    assert!(sent.success());
    run.wait_with_output().expect("it ends")
}

fn what_has_arrived_is_written_when_a_run_ends_early() {
    let check = |ran: &Output, code: i32, message: &str| {
        assert_eq!(exit_code(ran), Some(code), "{}", stderr(ran));
        assert!(stderr(ran).contains(message), "{}", stderr(ran));
        assert!(!stderr(ran).contains("--resume"), "there is nothing to go on from: {}", stderr(ran));
        let ids: Vec<Value> = stdout(ran)
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("it is JSON")["id"].clone())
            .collect();
        assert_eq!(ids, [0, 2, 3, 4]);
    };
    let server = but_the_second(Some("401 Unauthorized"));
    check(&ran(&folder(5), &server, &[]), 2, "the server answered 401: no");
    if cfg!(unix) {
        let (server, folder) = (but_the_second(None), folder(5));
        let run = metatok(folder.path(), &args(&server.url(), "vllm", &[])).spawn().expect("it runs");
        check(&interrupted(run, &server, 5), 143, "interrupted; 4 lines written");
    }
}

/// As with `| head -1`.
#[cfg(unix)]
fn a_run_whose_reader_has_gone_waits_for_no_answer() {
    use std::io::{BufRead as _, BufReader};
    use std::time::Instant;

    let server = ScriptedServer::start(|asked, to| match (asked.path.as_str(), row(asked)) {
        ("/v1/completions", row) => {
            // The second row is answered when the reader has gone, the third after a long time.
            thread::sleep([Duration::ZERO, Duration::from_millis(500), Duration::from_secs(60)][row]);
            answer(to)
        }
        _ => usual(asked, "m", to),
    });
    let folder = folder(3);
    let mut run = metatok(folder.path(), &args(&server.url(), "vllm", &[])).spawn().expect("it runs");
    let mut lines = BufReader::new(run.stdout.take().expect("it is piped")).lines();
    assert!(lines.next().is_some(), "the first row is answered");
    drop(lines);
    let started = Instant::now();
    assert!(run.wait().expect("it ends").success());
    assert!(started.elapsed() < Duration::from_secs(30), "it does not wait for the third row");
}

#[cfg(unix)]
fn an_interrupted_run_says_what_is_kept() {
    let (server, folder) = (but_the_second(None), folder(5));
    let run = metatok(folder.path(), &args(&server.url(), "vllm", &["-o", "out"])).spawn().expect("it runs");
    let ran = interrupted(run, &server, 5);
    assert_eq!(exit_code(&ran), Some(143), "{}", stderr(&ran));
    let expected = "metatok: interrupted; 4 answers kept in out.partial, continue with --resume\n";
    assert!(stderr(&ran).ends_with(expected), "{}", stderr(&ran));
    let other = ScriptedServer::start(|asked, to| match asked.path.as_str() {
        "/v1/completions" => answer(to),
        _ => usual(asked, "m", to),
    });
    let resumed = output(folder.path(), &args(&other.url(), "vllm", &["-o", "out", "--resume"]));
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(other.bodies("/v1/completions").len(), 1);
}

fn errors_that_are_kept_are_told_from_answers() {
    let server = ScriptedServer::start(|asked, to| match (asked.path.as_str(), row(asked)) {
        ("/v1/completions", 0) => answer(to),
        ("/v1/completions", _) => respond(to, "400 Bad Request", "", "no"),
        _ => usual(asked, "m", to),
    });
    let folder = folder(3);
    let remove = |name: &str| std::fs::remove_file(folder.path().join(name)).expect("it is there");
    let check = |more: &[&str], code: i32, message: &str| {
        let ran = ran(&folder, &server, &[&["-o", "out"], more].concat());
        assert_eq!(ran.status.code(), Some(code), "{more:?}: {}", stderr(&ran));
        assert!(stderr(&ran).contains(message), "{more:?}: {}", stderr(&ran));
    };
    check(&[], 1, "2 rows without an answer");
    let kept = "out.partial: it has 1 answer and 2 errors of an earlier run; continue it with --resume, which with --retry-errors sends what failed again, or remove it to start over";
    check(&[], 2, kept);
    check(&["--resume"], 1, "note: 3 lines already done, with 2 errors");
    check(&["--resume", "--retry-errors"], 1, "2 requests without an answer");
    remove("out.partial");
    check(
        &["--resume", "--retry-errors"],
        2,
        "out: it has 2 errors, but without out.partial nothing can be asked again",
    );
    check(&["--resume"], 0, "nothing to resume: each line has its answer or its error");
}

fn totals_count_what_failed_and_only_what_is_known() {
    let server = ScriptedServer::start(|asked, to| match (asked.path.as_str(), row(asked)) {
        ("/v1/completions", 0) => stream(to, &[json!({"choices": [{"text": "No.", "finish_reason": "stop"}]})]),
        ("/v1/completions", _) => respond(to, "500 Internal Server Error", "", "no"),
        _ => usual(asked, "m", to),
    });
    let ran = ran(&folder(2), &server, &["--retries", "1"]);
    let said = stderr(&ran);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    for expected in
        ["1 answer (1 stop), ", "1 request answered and 1 without an answer", "out not counted", ", 1 retry\n"]
    {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains("0 tokens"), "{said}");
}

fn a_request_asks_for_no_more_than_fits() {
    let server = ScriptedServer::start(|asked, to| match asked.path.as_str() {
        "/v1/completions" => answer(to),
        "/v1/models" => respond(to, "200 OK", "", &json!({"data": [{"id": "m", "max_model_len": 40}]}).to_string()),
        _ => usual(asked, "m", to),
    });
    for (more, asked_for) in [(&[][..], None), (&["--max-out-len", "9"], Some(9))] {
        let before = server.bodies("/v1/completions").len();
        let ran = ran(&folder(1), &server, more);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        let body = &server.bodies("/v1/completions")[before];
        let left = 40 - body["prompt"].as_array().expect("it has ids").len();
        assert!(left > 9 && left < 40, "{body}");
        assert_eq!(body["max_tokens"], asked_for.unwrap_or(left));
    }
}

fn the_context_is_that_of_the_model_that_is_asked_for() {
    let models = json!([
        {"id": "small", "max_model_len": 24},
        {"id": "large", "max_model_len": 200},
        {"id": "adapter", "max_model_len": null, "parent": "large"}
    ]);
    let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
        "/v1/completions" => answer(to),
        "/v1/models" => respond(to, "200 OK", "", &json!({ "data": models }).to_string()),
        _ => usual(asked, "m", to),
    });
    let unlisted = "note: the server lists no model \"other\", only \"small\", \"large\", \"adapter\", so its context is not known; if that is not meant, set its name with --served-model-name\n";
    for (name, context) in [(None, 24), (Some("large"), 200), (Some("adapter"), 200), (Some("other"), 0)] {
        let before = server.bodies("/v1/completions").len();
        let more = name.map(|name| ["--served-model-name", name]);
        let ran = ran(&folder(1), &server, more.as_ref().map_or(&[], |more| &more[..]));
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        let body = &server.bodies("/v1/completions")[before];
        let length = body["prompt"].as_array().expect("it has ids").len();
        assert_eq!(body["max_tokens"], if context == 0 { 512 } else { context - length }, "{name:?}");
        assert_eq!(body["model"], name.unwrap_or("small"));
        assert_eq!(stderr(&ran).contains(unlisted), name == Some("other"), "{}", stderr(&ran));
    }
}

fn what_is_shortened_leaves_room_for_an_answer() {
    let server = ScriptedServer::start(|asked, to| match asked.path.as_str() {
        "/v1/completions" => answer(to),
        "/v1/models" => respond(to, "200 OK", "", &json!({"data": [{"id": "m", "max_model_len": 80}]}).to_string()),
        _ => usual(asked, "m", to),
    });
    let folder = folder(1);
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it is written");
    write("in.jsonl", &format!("\"What is 0?\"\n\"{}\"\n", "Why is 0? ".repeat(40)));
    write("rows.jsonl", "{\"question\": \"Three?\", \"answer\": \"3\"}\n");
    write("train.jsonl", &"{\"question\": \"One and one and one?\", \"answer\": \"3\"}\n".repeat(4));
    write(
        "d.toml",
        r#"
        reader_cfg = { input_columns = ["question"], output_column = "answer" }
        [infer_cfg]
        ice_template = { template = { round = [{ role = "HUMAN", prompt = "{question}" }, { role = "BOT", prompt = "{answer}" }] } }
        prompt_template = { ice_token = "</E>", template = { begin = "</E>", round = [{ role = "HUMAN", prompt = "{question}" }, { role = "BOT", prompt = "" }] } }
        retriever = { type = "FixKRetriever", fix_id_list = [0, 1, 2, 3] }
        inferencer = { type = "GenInferencer" }
        "#,
    );
    let url = server.url();
    let conversations = ["--engine", "vllm", "--url", &url, "--truncate", "middle", "in.jsonl"];
    let rows = ["--train", "train.jsonl", "--truncate", "last-examples", "rows.jsonl"];
    let rows = [&["--engine", "vllm", "--url", &url, "-d", "d.toml"], &rows[..]].concat();
    // Without a length, an answer has half of a context that is smaller than 1024.
    for (args, more, room) in [
        (&conversations[..], &[][..], 40),
        (&conversations[..], &["--max-out-len", "9"], 9),
        (&rows[..], &[], 40),
        (&rows[..], &["--max-out-len", "9"], 9),
    ] {
        let before = server.bodies("/v1/completions").len();
        let ran = output(folder.path(), &[&["run", "-m", "demo"], args, more].concat());
        let said = stderr(&ran);
        assert_eq!(ran.status.code(), Some(0), "{said}");
        assert!(said.contains("note: 1 prompt was truncated\n"), "{said}");
        let shortened =
            stdout(&ran).lines().last().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        let truncated = &shortened.expect("it is answered")["truncated"];
        assert!(truncated["from"].as_u64() > truncated["to"].as_u64(), "{truncated}");
        let to = truncated["to"].as_u64().expect("a number");
        assert!(to > 60 - room && to <= 80 - room, "{to} of {room}");
        assert!(!stdout(&ran).lines().rev().skip(1).any(|line| line.contains("truncated")), "the first one fits");
        for body in &server.bodies("/v1/completions")[before..] {
            assert!(body["max_tokens"].as_u64() >= Some(room), "{body}");
        }
    }
}

fn stop_strings_that_the_server_does_not_take_end_answers_too() {
    let server = ScriptedServer::start(|asked, to| match asked.path.as_str() {
        // No, it is a mammal.
        "/v1/completions" => stream(to, &[vllm_event(&[45, 78, 11, 294, 269, 257, 755, 13, 1052], Some("stop"))]),
        _ => usual(asked, "m", to),
    });
    let stops = ["--stop", "A:", "--stop", "B:", "--stop", "C:", "--stop", "D:", "--stop", "mammal"];
    let ran = ran(&folder(1), &server, &stops);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(!stderr(&ran).contains("answers 400 to a request"), "{}", stderr(&ran));
    assert_eq!(server.bodies("/v1/completions")[0]["stop"], json!(["A:", "B:", "C:", "D:"]));
    let line: Value = serde_json::from_str(stdout(&ran).trim()).expect("it is JSON");
    assert_eq!((&line["text"], &line["stop"]["string"]), (&json!("No, it is a "), &json!("mammal")));
}

fn what_comes_after_a_stop_does_not_change_the_answer() {
    // No, it is a mammal.
    let ids = [45, 78, 11, 294, 269, 257, 755, 13, 1052];
    let answered = |together: usize| {
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/v1/completions" => {
                let is_last = |piece: &[u32]| piece.last() == ids.last();
                let events = ids.chunks(together).map(|piece| vllm_event(piece, is_last(piece).then_some("stop")));
                stream(to, &events.collect::<Vec<_>>())
            }
            _ => usual(asked, "m", to),
        });
        let stops = ["--stop", "A:", "--stop", "B:", "--stop", "C:", "--stop", "D:", "--stop", "it is"];
        stdout(&ran(&folder(1), &server, &stops))
    };
    let one_by_one = answered(1);
    assert!(one_by_one.contains(r#""string":"it is""#), "{one_by_one}");
    for together in [2, 3, 9] {
        assert_eq!(answered(together), one_by_one);
    }
}
