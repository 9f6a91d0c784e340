//! `metatok run --url`: whatever a server does wrong, no answer is lost, none is given twice, and a run that was cut off ends as
//! one that was not.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand_mt::Mt64;
use serde_json::Value;

use crate::fake_server::{Does, FAULTS, FakeServer};
use crate::harness::{Tests, tests};
use crate::program::{json_lines, line_by_line, metatok, output, stderr, stdout};
use crate::root::root;
use crate::scripted_server::DIALOGUES;

pub(crate) fn tests() -> Tests {
    tests![
        answers_are_the_servers,
        faults_lose_nothing_and_repeat_nothing,
        a_killed_run_ends_as_one_that_was_not,
        a_server_that_comes_back_is_waited_for,
        a_dead_server_ends_the_run_with_its_journal_whole,
        what_a_server_refuses_is_an_error_in_place_of_an_answer,
        a_dialogue_that_fails_has_an_error_for_each_turn_that_is_left,
        another_tokenizer_is_found_before_the_first_request,
        a_server_of_another_kind_is_found_at_the_first_request,
        another_model_is_not_resumed,
        a_key_is_never_shown,
        a_slow_pipe_gives_each_answer_before_the_next_line,
        llama_cpp_gives_the_ids_of_this_process
    ]
}

/// This many conversations, each with an id.
fn conversations(count: usize) -> String {
    (0..count)
        .map(|i| {
            format!("{{\"id\": \"c{i}\", \"messages\": [{{\"role\": \"user\", \"content\": \"What is {i}?\"}}]}}\n")
        })
        .collect()
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("it is written");
}

/// The arguments of a run to `out`.
fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["run", "-m", "demo", "--engine", "vllm", "-o", "out", "--idle-timeout", "1", "--url", url];
    [&fixed[..], more].concat()
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn answers_are_the_servers() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &conversations(50));
    let server = FakeServer::start(|_, _| Does::Answer);
    let ran = output(folder.path(), &args(&server.url(), &["in.jsonl"]));
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let answers = json_lines(read(folder.path(), "out"));
    let requests = server.requests.lock().expect("nobody panicked");
    assert_eq!((answers.len(), requests.len()), (50, 50));
    for (i, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], format!("c{i}"));
        let prompt =
            |request: &&Value| request["request_id"].as_str().is_some_and(|id| id.starts_with(&format!("{i}-")));
        let request = requests.iter().find(prompt).expect("it was asked");
        let prompt: Vec<u64> = request["prompt"].as_array().expect("ids").iter().filter_map(Value::as_u64).collect();
        let mut ids = crate::fake_server::answer(&prompt);
        ids.pop();
        assert_eq!(answer["token_ids"], serde_json::json!(ids));
    }
    assert!(!folder.path().join("out.partial").exists());
}

/// What a run without faults gives.
fn undisturbed(folder: &Path, more: &[&str]) -> Vec<u8> {
    let server = FakeServer::start(|_, _| Does::Answer);
    let ran = output(folder, &args(&server.url(), more));
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let out = read(folder, "out");
    std::fs::remove_file(folder.join("out")).expect("it is there");
    out
}

/// Faults at a third of all requests, but never often at one.
fn faulty(seed: u64) -> impl Fn(u64, &Value) -> Does + Send + Sync {
    move |number, _| {
        let mut random = Mt64::new(seed.wrapping_mul(1 << 20) + number);
        let place = random.next_u64() as usize % (FAULTS.len() * 3);
        FAULTS.get(place).copied().unwrap_or(Does::Answer)
    }
}

fn faults_lose_nothing_and_repeat_nothing() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &conversations(120));
    let expected = undisturbed(folder.path(), &["in.jsonl"]);
    for seed in 0..2 {
        let server = FakeServer::start(faulty(seed));
        let ran = output(folder.path(), &args(&server.url(), &["--retries", "30", "in.jsonl"]));
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        assert!(read(folder.path(), "out") == expected, "seed {seed}");
        assert!(server.requests.lock().expect("nobody panicked").len() > 130, "faults were met");
    }
}

/// Twenty times: the run is killed at a random moment, and resumed.
fn a_killed_run_ends_as_one_that_was_not() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows: String = (0..60)
        .map(|i| {
            format!("{{\"question\": [\"What is {i}?\", \"Why?\", \"Why {i}?\"], \"answer\": [\"a\", \"b\", \"c\"]}}\n")
        })
        .collect();
    write(folder.path(), "rows.jsonl", &rows);
    write(folder.path(), "d.toml", DIALOGUES);
    let dataset = ["-d", "d.toml", "--concurrency", "4", "--quiet", "rows.jsonl"];
    let expected = undisturbed(folder.path(), &dataset);
    assert_eq!(json_lines(&expected).len(), 180);
    let server = FakeServer::start(|_, _| Does::AnswerSlowly);
    let (url, mut random) = (server.url(), Mt64::new(3));
    let with_resume = [&dataset[..], &["--resume"]].concat();
    for kill in 0..20 {
        let mut run = metatok(folder.path(), &args(&url, &with_resume)).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(60 + random.next_u64() % 200));
        // It may be done.
        let _ = run.kill();
        run.wait().expect("it was there");
        if folder.path().join("out").exists() {
            assert!(kill > 3, "it was killed often enough to show something");
            break;
        }
    }
    let ran = output(folder.path(), &args(&url, &with_resume));
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(read(folder.path(), "out") == expected);
}

fn a_server_that_comes_back_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &conversations(80));
    let expected = undisturbed(folder.path(), &["in.jsonl"]);
    let server = FakeServer::start(|_, _| Does::AnswerSlowly);
    let (url, address) = (server.url(), server.address.to_string());
    let run = metatok(folder.path(), &args(&url, &["--concurrency", "2", "in.jsonl"])).spawn().expect("it runs");
    std::thread::sleep(Duration::from_millis(300));
    server.stop();
    std::thread::sleep(Duration::from_millis(700));
    let _again = FakeServer::listen(&address, |_, _| Does::Answer, None);
    let ran = run.wait_with_output().expect("it ends");
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(read(folder.path(), "out") == expected);
}

fn a_dead_server_ends_the_run_with_its_journal_whole() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &conversations(200));
    let expected = undisturbed(folder.path(), &["in.jsonl"]);
    let server = FakeServer::start(|_, _| Does::AnswerSlowly);
    let url = server.url();
    let more = ["--concurrency", "2", "--max-consecutive-errors", "2", "in.jsonl"];
    let run = metatok(folder.path(), &args(&url, &more)).spawn().expect("it runs");
    server.wait_for_answers(3);
    server.stop();
    let ran = run.wait_with_output().expect("it ends");
    assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
    let message = stderr(&ran);
    assert!(message.contains("gave up on the server after 2 failures in a row"), "{message}");
    assert!(message.contains("--resume"), "{message}");
    assert!(!folder.path().join("out").exists());
    let answered = server.answered.load(Ordering::Relaxed);
    assert!(answered > 2, "some were answered");
    // Another server of the same model goes on from there.
    let other = FakeServer::start(|_, _| Does::Answer);
    let ran = output(folder.path(), &args(&other.url(), &["--resume", "in.jsonl"]));
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(read(folder.path(), "out") == expected);
    let asked = other.requests.lock().expect("nobody panicked").len() as u64;
    assert!(asked <= 200 - answered + 2, "{asked} were asked after {answered} answers");
}

fn what_a_server_refuses_is_an_error_in_place_of_an_answer() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &conversations(20));
    let expected = undisturbed(folder.path(), &["in.jsonl"]);
    let refused =
        |body: &Value| body["request_id"].as_str().is_some_and(|id| id.starts_with("3-") || id.starts_with("11-"));
    let failing = FakeServer::start(move |_, body| match refused(body) {
        true if body["request_id"].as_str().is_some_and(|id| id.starts_with("3-")) => Does::Refuse400,
        true => Does::Error500,
        false => Does::Answer,
    });
    let ran = output(folder.path(), &args(&failing.url(), &["--retries", "1", "in.jsonl"]));
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let message = stderr(&ran);
    assert!(message.contains("2 rows without an answer"), "{message}");
    assert!(message.contains("--resume --retry-errors"), "{message}");
    let answers = json_lines(read(folder.path(), "out"));
    assert_eq!(answers.len(), 20);
    let error = |answer: &Value| (answer["error"].clone(), answer["status"].clone(), answer["attempts"].clone());
    assert_eq!(error(&answers[3]), ("the server answered 400: the prompt is not welcome".into(), 400.into(), 1.into()));
    assert_eq!(error(&answers[11]), ("the server answered 500: it broke".into(), 500.into(), 2.into()));
    // They alone are asked again.
    let mended = FakeServer::start(|_, _| Does::Answer);
    let ran = output(folder.path(), &args(&mended.url(), &["--resume", "--retry-errors", "in.jsonl"]));
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(read(folder.path(), "out") == expected);
    assert_eq!(mended.requests.lock().expect("nobody panicked").len(), 2);
    assert!(!folder.path().join("out.partial").exists());
}

fn a_dialogue_that_fails_has_an_error_for_each_turn_that_is_left() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let row = "{\"question\": [\"What?\", \"Why?\", \"And?\", \"So?\"], \"answer\": [\"a\", \"b\", \"c\", \"d\"]}\n";
    write(folder.path(), "rows.jsonl", &row.repeat(4));
    write(folder.path(), "d.toml", DIALOGUES);
    let dataset = ["-d", "d.toml", "--keep", "answer", "--concurrency", "1", "--retries", "0", "rows.jsonl"];
    let expected = undisturbed(folder.path(), &dataset);
    let failing = FakeServer::start(|_, body| match body["request_id"].as_str() {
        Some("1-2" | "3-4") => Does::Refuse400,
        _ => Does::Answer,
    });
    let failed = output(folder.path(), &args(&failing.url(), &dataset));
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("4 turns of 2 rows without an answer"), "{}", stderr(&failed));
    let out = read(folder.path(), "out");
    let answers = json_lines(&out);
    let of: Vec<_> = answers.iter().map(|answer| (answer["id"].as_u64(), answer["turn"].as_u64())).collect();
    assert_eq!(of, (0..16).map(|i| (Some(i / 4), Some(i % 4))).collect::<Vec<_>>());
    let errors: Vec<_> =
        answers.iter().filter_map(|answer| Some((&answer["turn"], answer["error"].as_str()?))).collect();
    let (refused, later) =
        ("the server answered 400: the prompt is not welcome", "not asked, because turn 1 has no answer");
    assert_eq!(errors, [(&1.into(), refused), (&2.into(), later), (&3.into(), later), (&3.into(), refused)]);
    std::fs::rename(folder.path().join("out"), folder.path().join("failed.jsonl")).expect("it is there");
    let scored = output(folder.path(), &["score", "--reference", "answer", "failed.jsonl"]);
    assert_eq!(stdout(&scored).lines().last().and_then(|line| line.split_whitespace().nth(1)), Some("16"));
    // Wherever the journal ends, the turns that are left have their errors.
    let journal = read(folder.path(), "out.partial");
    for end in (0..journal.len()).filter(|i| journal[*i] == b'\n').map(|i| i + 1) {
        std::fs::write(folder.path().join("out.partial"), &journal[..end]).expect("written");
        let ran = output(folder.path(), &args(&failing.url(), &[&dataset[..], &["--resume"]].concat()));
        assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
        assert!(stderr(&ran).contains("4 turns of 2 rows without an answer"), "{}", stderr(&ran));
        assert!(read(folder.path(), "out") == out, "cut at byte {end}");
        std::fs::remove_file(folder.path().join("out")).expect("it is there");
    }
    // The turn that failed answers now, and the one after it fails.
    let other = FakeServer::start(|_, body| match body["request_id"].as_str() {
        Some("1-3") => Does::Refuse400,
        _ => Does::Answer,
    });
    let again = [&dataset[..], &["--resume", "--retry-errors"]].concat();
    let ran = output(folder.path(), &args(&other.url(), &again));
    assert!(stderr(&ran).contains("2 turns of 1 row without an answer"), "{}", stderr(&ran));
    let answers = json_lines(read(folder.path(), "out"));
    assert_eq!((&answers[6]["error"], &answers[7]["error"]), (&refused.into(), &later.replace('1', "2").into()));
    std::fs::remove_file(folder.path().join("out")).expect("it is there");
    let mended = FakeServer::start(|_, _| Does::Answer);
    let ran = output(folder.path(), &args(&mended.url(), &again));
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(read(folder.path(), "out") == expected);
    assert_eq!(mended.requests.lock().expect("nobody panicked").len(), 2);
}

fn another_tokenizer_is_found_before_the_first_request() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &conversations(3));
    let server = FakeServer::listen("127.0.0.1:0", |_, _| Does::Answer, Some(vec![1, 2, 3]));
    let ran = output(folder.path(), &args(&server.url(), &["in.jsonl"]));
    assert_eq!(ran.status.code(), Some(2));
    assert!(stderr(&ran).contains("the server has another tokenizer"), "{}", stderr(&ran));
    assert!(server.requests.lock().expect("nobody panicked").is_empty());
}

fn a_server_of_another_kind_is_found_at_the_first_request() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &conversations(300));
    let server = FakeServer::start(|_, _| Does::Answer);
    let ran = output(folder.path(), &["run", "-m", "demo", "--url", &server.url(), "--engine", "sglang", "in.jsonl"]);
    assert_eq!(ran.status.code(), Some(2));
    let message = stderr(&ran);
    assert!(message.contains("404") && message.contains("/generate, the path of sglang"), "{message}");
    assert_eq!(stdout(&ran), "");
}

fn another_model_is_not_resumed() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &(conversations(5) + "no conversation\n"));
    let server = FakeServer::start(|_, _| Does::Answer);
    let ran = output(folder.path(), &args(&server.url(), &["in.jsonl"]));
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    for (more, difference) in [
        (&["--served-model-name", "other"][..], "served_model_name"),
        (&["--max-out-len", "7"], "max_out_len"),
        (&["--temperature", "0.5"], "temperature"),
        (&["--seed", "0"], "seed differs: file has the default, current is 0"),
    ] {
        let more = [more, &["--resume", "in.jsonl"]].concat();
        let ran = output(folder.path(), &args(&server.url(), &more));
        assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
        assert!(stderr(&ran).contains(difference), "{}", stderr(&ran));
    }
}

fn a_key_is_never_shown() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "in.jsonl", &(conversations(5) + "no conversation\n"));
    let server = FakeServer::start(|number, _| if number == 1 { Does::Refuse400 } else { Does::Answer });
    let url = format!("http://me:secret-1@{}", server.address);
    let more = ["--api-key-env", "KEY", "--header", "X-Key: secret-2", "in.jsonl"];
    let ran = metatok(folder.path(), &args(&url, &more)).env("KEY", "secret-3").output().expect("it runs");
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let written = [read(folder.path(), "out.partial"), ran.stderr, ran.stdout].concat();
    assert!(!String::from_utf8_lossy(&written).contains("secret"));
    let ran = output(folder.path(), &args(&server.url(), &["--api-key-env", "NOT_SET", "in.jsonl"]));
    assert!(stderr(&ran).contains("NOT_SET"), "{}", stderr(&ran));
}

/// Whoever writes lines by hand has each answer before the next line.
fn a_slow_pipe_gives_each_answer_before_the_next_line() {
    let server = FakeServer::start(|_, _| Does::Answer);
    let run = ["run", "-m", "demo", "-q", "--engine", "vllm", "--url", &server.url(), "-"];
    for (i, answer) in line_by_line(&run, &conversations(3)).iter().enumerate() {
        assert!(answer.starts_with(&format!("{{\"id\":\"c{i}\"")), "{answer}");
    }
}

/// The real one, where `METATOK_LLAMA_CPP` is the address of its server with the demo's weights.
fn llama_cpp_gives_the_ids_of_this_process() {
    let Ok(url) = std::env::var("METATOK_LLAMA_CPP") else {
        println!("skipped: METATOK_LLAMA_CPP names no server");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows: String = ["red planet", "blue planet"]
        .map(|what| {
            format!("{{\"question\": [\"What is the {what}?\", \"And its moons?\"], \"answer\": [\"a\", \"b\"]}}\n")
        })
        .concat();
    write(folder.path(), "rows.jsonl", &rows);
    write(folder.path(), "d.toml", DIALOGUES);
    let demo = root().join("models/demo/conversations.jsonl").display().to_string();
    let asked = AtomicU64::new(0);
    // Some of the answers have characters of several tokens.
    let questions: String = (0..20).map(|i| format!("\"Question {i}?\"\n")).collect();
    write(folder.path(), "in.jsonl", &questions);
    let inputs =
        [&[demo.as_str()][..], &["-d", "d.toml", "rows.jsonl"], &["in.jsonl"], &["--stop-id", "13", "in.jsonl"]];
    for input in inputs {
        let of = |more: &[&str]| {
            let ran = output(folder.path(), &[&["run", "-m", "demo", "--max-out-len", "40"], more, input].concat());
            assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
            let answers = json_lines(&ran.stdout);
            asked.fetch_add(answers.len() as u64, Ordering::Relaxed);
            answers
        };
        let server = of(&["--engine", "llama-cpp", "--url", &url]);
        if cfg!(feature = "candle") {
            let here = of(&[]);
            assert_eq!(server.len(), here.len());
            for (server, here) in server.iter().zip(&here) {
                for key in ["id", "turn", "token_ids", "text", "finish_reason", "stop"] {
                    assert_eq!(server[key], here[key], "{key}: {server}\n{here}");
                }
            }
        }
    }
    assert!(asked.load(Ordering::Relaxed) >= 120);
}
