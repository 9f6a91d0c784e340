//! `metatok run --url`: an answer is what the server meant, or an error that says why there is none.

use std::io::Write;
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::program::{json_lines, output, stderr, stdout};
use crate::scripted_server::{
    DIALOGUES, ScriptedServer, begin_stream, folder, respond, send, stream, usual, vllm_event,
};

pub(crate) fn tests() -> Tests {
    tests![
        ids_that_a_stream_leaves_out_are_asked_for_in_one_piece,
        a_stream_is_read_however_it_is_written,
        answers_of_all_kinds_are_read,
        an_answer_that_the_server_gave_up_on_is_an_error,
        what_is_refused_within_an_answer_is_not_asked_again,
        errors_within_an_answer_keep_their_message,
        an_answer_without_end_is_an_error,
        several_answers_to_a_prompt_are_refused,
        an_answer_in_one_piece_can_be_asked_for,
        stop_ids_that_nobody_finds_are_named,
        what_a_server_sends_is_kept_in_one_line,
        an_answer_in_one_piece_has_an_end,
        the_next_turn_has_what_the_answer_has
    ]
}

/// A run of this many conversations, with answers on standard output.
fn ran(server: &ScriptedServer, engine: &str, rows: usize, more: &[&str]) -> Output {
    let (folder, url) = (folder(rows), server.url());
    let fixed = ["run", "-m", "demo", "--engine", engine, "--url", &url, "--concurrency", "1", "in.jsonl"];
    output(folder.path(), &[&fixed[..], more].concat())
}

/// llama.cpp streams no event for a token that ends within a character; the next event has only its own id.
fn ids_that_a_stream_leaves_out_are_asked_for_in_one_piece() {
    let server = ScriptedServer::start(|asked, to| {
        let event = |ids: &[u32], predicted: usize, stop: bool| {
            let kind = if stop { "eos" } else { "none" };
            json!({"content": "", "tokens": ids, "stop": stop, "stop_type": kind, "tokens_predicted": predicted})
        };
        match asked.path.as_str() {
            "/completion" if asked.body["stream"] == true => stream(
                to,
                &[event(&[260], 1, false), event(&[262], 3, false), event(&[1052], 4, false), event(&[], 4, true)],
            ),
            "/completion" => respond(to, "200 OK", "", &event(&[260, 261, 262, 1052], 4, true).to_string()),
            _ => usual(asked, "m", to),
        }
    });
    for (more, ids) in [(&[][..], vec![260, 261, 262]), (&["--stop-id", "262"], vec![260, 261])] {
        let before = server.bodies("/completion").len();
        let ran = ran(&server, "llama-cpp", 3, &[more, &["--retries", "0"]].concat());
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        assert!(stderr(&ran).contains("0 retries"), "{}", stderr(&ran));
        assert_eq!(
            json_lines(&ran.stdout).iter().map(|answer| answer["token_ids"].clone()).collect::<Vec<_>>(),
            vec![json!(ids); 3]
        );
        // After the first gap nothing is streamed.
        assert_eq!(server.bodies("/completion").len() - before, 4);
    }
}

fn a_stream_is_read_however_it_is_written() {
    for (kind, events) in [
        (
            "Text/Event-Stream; charset=utf-8",
            "data: {\"choices\": [{\"text\": \"No\",\ndata: \"finish_reason\": \"stop\"}]}\n\n",
        ),
        (
            "text/event-stream",
            "data: {\"choices\": [{\"text\": \"No\", \"finish_reason\": \"stop\"}]}\r\ndata: [DONE]\r\n",
        ),
        ("application/json", "{\"choices\": [{\"text\": \"No\", \"finish_reason\": \"stop\"}]}"),
        ("text/plain", ": ping\n\ndata: {\"choices\": [{\"text\": \"No\", \"finish_reason\": \"stop\"}]}\n\n"),
    ] {
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/v1/completions" => {
                write!(to, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: {kind}\r\n\r\n{events}")
            }
            _ => usual(asked, "m", to),
        });
        let ran = ran(&server, "openai", 1, &["--retries", "0"]);
        assert_eq!(ran.status.code(), Some(0), "{kind}: {}", stderr(&ran));
        assert_eq!(json_lines(&ran.stdout)[0]["text"], "No", "{kind}");
    }
}

fn answers_of_all_kinds_are_read() {
    let text = |text: &str, finish: Option<&str>| json!({"choices": [{"text": text, "finish_reason": finish}]});
    let so_far = |text: &str, finish: Option<&str>| json!({"text": text, "meta_info": {"finish_reason": finish.map(|kind| json!({"type": kind}))}});
    let lmdeploy = |text: &str, ids: &[u32], finish: Option<&str>| json!({"text": text, "output_ids": ids, "meta_info": {"finish_reason": finish.map(|kind| json!({"type": kind}))}});
    let dynamo = |text: &str, ids: &[u32], finish: Option<&str>| json!({"choices": [{"text": text, "index": 0, "finish_reason": finish}], "nvext": {"completion_token_ids": ids}});
    for (what, engine, events, expected) in [
        (
            "the last event has nothing but the reason",
            "openai",
            vec![text("No", None), json!({"choices": [{"text": null, "finish_reason": "stop"}]})],
            "No",
        ),
        (
            "LiteLLM's last event has only counts",
            "openai",
            vec![
                json!({"choices": [{"index": 0}]}),
                text("No", None),
                text("", Some("stop")),
                json!({"choices": [{"index": 0}], "usage": {"completion_tokens": 1}}),
            ],
            "No",
        ),
        ("an empty reason is none", "openai", vec![text("No", Some("")), text(", it", Some("stop"))], "No, it"),
        (
            "SGLang repeats the text",
            "sglang",
            vec![so_far("No", None), so_far("No, it", None), so_far("No, it is", Some("stop"))],
            "No, it is",
        ),
        (
            "SGLang cuts off a stop string",
            "sglang",
            vec![so_far("No", None), so_far("No\nUse", None), so_far("No", Some("stop"))],
            "No",
        ),
        (
            "SGLang in pieces",
            "sglang",
            vec![so_far("No", None), so_far(", it", None), so_far(" is", Some("stop"))],
            "No, it is",
        ),
        (
            "LMDeploy ends with the stop",
            "lmdeploy",
            vec![
                lmdeploy("Paris", &[773], None),
                lmdeploy(".", &[13], None),
                lmdeploy("", &[], None),
                lmdeploy("<|im_end|>", &[1052], Some("stop")),
            ],
            "Paris.",
        ),
        (
            "Dynamo's ids are beside the choices",
            "dynamo",
            vec![dynamo("Paris", &[773], None), dynamo(".", &[13], None), dynamo("", &[1052], Some("stop"))],
            "Paris.",
        ),
    ] {
        let path = if ["sglang", "lmdeploy"].contains(&engine) { "/generate" } else { "/v1/completions" };
        let server = ScriptedServer::start(move |asked, to| match asked.path == path {
            true => stream(to, &events),
            false => usual(asked, "m", to),
        });
        let ran = ran(&server, engine, 1, &["--retries", "0"]);
        assert_eq!(ran.status.code(), Some(0), "{what}: {}", stderr(&ran));
        let answer = &json_lines(&ran.stdout)[0];
        assert_eq!(answer["text"], expected, "{what}");
        if expected == "Paris." {
            assert_eq!((&answer["token_ids"], &answer["tail"]), (&json!([773, 13]), &json!([1052])), "{what}");
        }
    }
}

fn an_answer_that_the_server_gave_up_on_is_an_error() {
    let memory = json!({"type": "abort", "message": "out of memory", "status_code": 500});
    for (engine, path, event, message) in [
        ("vllm", "/v1/completions", vllm_event(&[773], Some("abort")), "the server ended the answer with \"abort\""),
        ("vllm", "/v1/completions", vllm_event(&[773], Some("error")), "the server ended the answer with \"error\""),
        (
            "sglang",
            "/generate",
            json!({"text": "", "output_ids": [773], "meta_info": {"completion_tokens": 1, "finish_reason": memory}}),
            "the server ended the answer with \"abort\": out of memory",
        ),
    ] {
        let server = ScriptedServer::start(move |asked, to| match asked.path == path {
            true => stream(to, std::slice::from_ref(&event)),
            false => usual(asked, "m", to),
        });
        let ran = ran(&server, engine, 1, &["--retries", "1"]);
        assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
        let line = &json_lines(&ran.stdout)[0];
        assert_eq!((&line["error"], &line["attempts"]), (&message.into(), &2.into()));
    }
}

/// A refusal within an answer is one of its row, as status 400 is, and no sign of a server that is dead.
fn what_is_refused_within_an_answer_is_not_asked_again() {
    let abort = json!({"type": "abort", "message": "too long", "status_code": 400});
    for (engine, event, message, status) in [
        ("sglang", json!({"error": {"message": "too long"}}), "the server refused the request: too long", Value::Null),
        (
            "sglang",
            json!({"text": "", "output_ids": [], "meta_info": {"completion_tokens": 0, "finish_reason": abort}}),
            "the server answered 400: too long",
            400.into(),
        ),
        (
            "vllm",
            json!({"error": {"message": "too long", "type": "BadRequestError", "code": 400}}),
            "the server answered 400: too long",
            400.into(),
        ),
        (
            "openai",
            json!({"choices": [{"index": 0, "text": "", "error": {"message": "too long", "code": "422"}}]}),
            "the server answered 422: too long",
            422.into(),
        ),
    ] {
        let path = if engine == "sglang" { "/generate" } else { "/v1/completions" };
        let server = ScriptedServer::start(move |asked, to| match asked.path == path {
            true => stream(to, std::slice::from_ref(&event)),
            false => usual(asked, "m", to),
        });
        let ran = ran(&server, engine, 4, &["--retries", "3", "--max-consecutive-errors", "2"]);
        assert_eq!(ran.status.code(), Some(1), "{engine}: {}", stderr(&ran));
        let lines = json_lines(&ran.stdout);
        assert_eq!((lines.len(), server.bodies(path).len()), (4, 4), "{engine}: {}", stderr(&ran));
        assert_eq!(
            (&lines[3]["error"], &lines[3]["status"], &lines[3]["attempts"]),
            (&message.into(), &status, &1.into())
        );
    }
}

fn errors_within_an_answer_keep_their_message() {
    let begun = json!({"text": "N", "output_ids": [45], "meta_info": {"completion_tokens": 1, "finish_reason": null}});
    for (engine, events, message) in [
        (
            "vllm",
            vec![json!({"object": "error", "message": "no worker", "code": 500})],
            "the server broke off: no worker",
        ),
        ("vllm", vec![json!({"detail": "no worker"})], "the server broke off: no worker"),
        ("openai", vec![json!({"error": "no worker"})], "the server broke off: no worker"),
        ("sglang", vec![json!({"detail": "no worker"})], "the server broke off: no worker"),
        ("sglang", vec![begun, json!({"error": {"message": "no worker"}})], "the server broke off: no worker"),
    ] {
        let path = if engine == "sglang" { "/generate" } else { "/v1/completions" };
        let server = ScriptedServer::start(move |asked, to| match asked.path == path {
            true if events.len() == 1 => {
                respond(to, "200 OK", "Content-Type: application/json\r\n", &events[0].to_string())
            }
            true => stream(to, &events),
            false => usual(asked, "m", to),
        });
        let ran = ran(&server, engine, 1, &["--retries", "0"]);
        assert_eq!(ran.status.code(), Some(1), "{engine}: {}", stderr(&ran));
        assert_eq!(json_lines(&ran.stdout)[0]["error"], message, "{engine}");
    }
}

/// What a server can send for ever.
fn an_answer_without_end_is_an_error() {
    type Piece = fn(&mut std::net::TcpStream) -> std::io::Result<()>;
    for (what, piece, message) in [
        (
            "comments",
            (|to| {
                thread::sleep(Duration::from_millis(100));
                to.write_all(b": ping\n\n")
            }) as Piece,
            "the server sent nothing for 1 second",
        ),
        ("ids", |to| send(to, &vllm_event(&[773], None)), "the request asks for at most 20 tokens"),
        (
            "text",
            |to| send(to, &json!({"choices": [{"text": "x".repeat(1 << 20), "finish_reason": null}]})),
            "the answer has more than",
        ),
    ] {
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/v1/completions" => {
                begin_stream(to)?;
                loop {
                    piece(to)?;
                }
            }
            _ => usual(asked, "m", to),
        });
        let started = Instant::now();
        let ran = ran(&server, "vllm", 1, &["--retries", "0", "--idle-timeout", "1", "--max-out-len", "20"]);
        assert_eq!(ran.status.code(), Some(1), "{what}: {}", stderr(&ran));
        let error = json_lines(&ran.stdout)[0]["error"].to_string();
        assert!(error.contains(message), "{what}: {error}");
        assert!(started.elapsed() < Duration::from_secs(30), "{what}");
    }
}

fn several_answers_to_a_prompt_are_refused() {
    let server = ScriptedServer::start(|asked, to| usual(asked, "m", to));
    for (engine, param, is_refused) in [
        ("vllm", "n=2", true),
        ("vllm", "best_of=3", true),
        ("sglang", "n=2", true),
        ("llama-cpp", "n_cmpl=2", true),
        ("vllm", "n=1", false),
    ] {
        let ran = ran(&server, engine, 1, &["--param", param]);
        let is_named = stderr(&ran).contains("but a run takes one answer to each prompt; leave it out");
        assert_eq!((ran.status.code(), is_named), (Some(2), is_refused), "{param}: {}", stderr(&ran));
    }
}

fn an_answer_in_one_piece_can_be_asked_for() {
    for engine in ["vllm", "openai", "dynamo", "sglang", "llama-cpp", "lmdeploy"] {
        let server = ScriptedServer::start(|asked, to| {
            let is_whole = asked.body["stream"] == false && asked.body.get("stream_options").is_none();
            match asked.path.as_str() {
                "/v1/completions" | "/generate" | "/completion" if !is_whole => {
                    respond(to, "400 Bad Request", "", &asked.body.to_string())
                }
                "/v1/completions" => respond(to, "200 OK", "", &vllm_event(&[773, 1052], Some("stop")).to_string()),
                "/generate" => {
                    let meta = json!({"finish_reason": {"type": "stop"}, "completion_tokens": 2});
                    let answer = json!({"text": "", "output_ids": [773, 1052], "meta_info": meta});
                    respond(to, "200 OK", "", &answer.to_string())
                }
                "/completion" => {
                    let answer = json!({"content": "", "tokens": [773, 1052], "stop": true, "stop_type": "eos"});
                    respond(to, "200 OK", "", &answer.to_string())
                }
                _ => usual(asked, "m", to),
            }
        });
        let ran = ran(&server, engine, 1, &["--param", "stream=false", "--retries", "0"]);
        assert_eq!(ran.status.code(), Some(0), "{engine}: {}{}", stderr(&ran), stdout(&ran));
        assert_eq!(json_lines(&ran.stdout)[0]["token_ids"], json!([773]), "{engine}");
    }
}

/// Answers are lines, in a journal, too.
fn what_a_server_sends_is_kept_in_one_line() {
    let data = |answer: &Value| serde_json::to_string_pretty(answer).expect("it is JSON");
    let answer = json!({"choices": [{"text": "", "token_ids": [773, 1052], "finish_reason": "stop"}]});
    for is_stream in [false, true] {
        let answer = data(&answer);
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/v1/completions" if is_stream => {
                begin_stream(to)?;
                writeln!(to, "data: {}\n", answer.replace('\n', "\ndata: "))
            }
            "/v1/completions" => respond(to, "200 OK", "Content-Type: application/json\r\n", &answer),
            _ => usual(asked, "m", to),
        });
        let (folder, url) = (folder(3), server.url());
        let args = ["run", "-m", "demo", "--engine", "vllm", "--url", &url, "--keep-raw", "-o", "out", "in.jsonl"];
        let ran = output(folder.path(), &args);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        let out = std::fs::read_to_string(folder.path().join("out")).expect("it was written");
        let answers = json_lines(&out);
        assert_eq!(answers.len(), 3);
        assert!(
            answers.iter().all(|answer| answer["raw"][0]["choices"][0]["token_ids"] == json!([773, 1052])),
            "{out}"
        );
    }
}

fn an_answer_in_one_piece_has_an_end() {
    let server = ScriptedServer::start(|asked, to| match asked.path.as_str() {
        "/v1/completions" => {
            write!(to, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n")?;
            loop {
                to.write_all(b" ")?;
                thread::sleep(Duration::from_millis(100));
            }
        }
        _ => usual(asked, "m", to),
    });
    let ran = ran(&server, "vllm", 1, &["--param", "stream=false", "--retries", "0", "--idle-timeout", "1"]);
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let error = json_lines(&ran.stdout)[0]["error"].to_string();
    assert!(error.contains("the answer had no end after 1 second"), "{error}");
}

/// Where a stop that only the server knows ends it, or a stop string that begins within a token.
fn the_next_turn_has_what_the_answer_has() {
    let tokenizer = metatok::Tokenizer::demo().expect("the demo loads");
    for (ids, stop_reason, text) in [
        (vec![44, 695, 13], json!(13), "Mars"),
        (vec![44, 695, 13], Value::Null, "Mars."),
        // "mammal" is one token.
        (vec![45, 78, 11, 294, 269, 257, 755, 13, 1052], json!("mal"), "No, it is a mam"),
    ] {
        let answer =
            json!({"choices": [{"text": "", "token_ids": ids, "finish_reason": "stop", "stop_reason": stop_reason}]});
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/v1/completions" => stream(to, std::slice::from_ref(&answer)),
            _ => usual(asked, "m", to),
        });
        let (folder, url) = (folder(0), server.url());
        std::fs::write(folder.path().join("d.toml"), DIALOGUES).expect("it is written");
        std::fs::write(folder.path().join("rows.jsonl"), r#"{"question": ["a", "b"], "answer": ["", ""]}"#)
            .expect("it is written");
        let args = ["run", "-m", "demo", "--engine", "vllm", "--url", &url, "-d", "d.toml", "-o", "out", "rows.jsonl"];
        let ran = output(folder.path(), &args);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        let second: Vec<u32> =
            serde_json::from_value(server.bodies("/v1/completions")[1]["prompt"].clone()).expect("a prompt is ids");
        let prompt = tokenizer.decode(&second, false).expect("they are its ids");
        assert!(prompt.contains(&format!("assistant\n{text}<|im_end|>")), "{prompt}");
        // The answers of the run, and what the server sent, give the same prompt.
        let sent = json!({"id": 0, "turn": 0, "token_ids": ids, "stop_reason": stop_reason}).to_string();
        std::fs::write(folder.path().join("sent"), sent).expect("it is written");
        for answers in ["out", "sent"] {
            let args = ["build", "-q", "-m", "demo", "-d", "d.toml", "--answers", answers, "rows.jsonl"];
            let built = output(folder.path(), &args);
            let last =
                stdout(&built).lines().last().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
            assert_eq!(
                last.map(|line| line["input_ids"].clone()),
                Some(json!(second)),
                "{answers}: {}",
                stderr(&built)
            );
        }
    }
}

/// A server that returns ids may ignore stop ids, because they are looked for here.
fn stop_ids_that_nobody_finds_are_named() {
    let server = ScriptedServer::start(|asked, to| match asked.path.as_str() {
        "/v1/completions" => stream(to, &[json!({"choices": [{"text": "No.", "finish_reason": "stop"}]})]),
        "/completion" => stream(
            to,
            &[json!({"content": "No", "tokens": [773], "stop": true, "stop_type": "eos", "tokens_predicted": 1})],
        ),
        _ => usual(asked, "m", to),
    });
    for (engine, is_named, is_told) in [("openai", true, 0), ("llama-cpp", false, 0), ("vllm", false, 1)] {
        let ran = ran(&server, engine, 2, &["--stop-id", "13"]);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        assert_eq!(stderr(&ran).contains("in which trimming cannot find them"), is_named, "{}", stderr(&ran));
        assert_eq!(stderr(&ran).matches("an answer has no token ids").count(), is_told, "{}", stderr(&ran));
    }
}
