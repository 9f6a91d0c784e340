//! `metatok run --url`: what is waited for, how long, and what is said meanwhile.

use std::process::{Child, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Tests, tests};
use crate::program::{json_lines, metatok, stderr};
use crate::scripted_server::{ScriptedServer, folder, respond, stream, usual, vllm_event};

pub(crate) fn tests() -> Tests {
    tests![
        a_server_of_another_model_ends_the_run,
        the_model_that_is_asked_for_must_be_the_same,
        a_server_without_its_model_is_waited_for,
        a_server_with_too_many_requests_gets_fewer_and_loses_none,
        a_server_that_always_has_too_many_ends_it,
        long_waits_are_said,
        a_server_that_is_never_ready_is_given_up_in_time,
        a_server_that_lists_models_is_ready_whatever_its_health_is,
        a_server_that_does_not_tokenize_yet_is_asked_again,
        refused_rows_are_no_sign_of_a_dead_server
    ]
}

/// A run to `out`, which has begun.
fn begun(folder: &TempDir, url: &str, more: &[&str]) -> Child {
    let fixed = ["run", "-m", "demo", "--engine", "vllm", "--url", url, "-o", "out", "in.jsonl"];
    metatok(folder.path(), &[&fixed[..], more].concat()).spawn().expect("it runs")
}

fn ran(folder: &TempDir, url: &str, more: &[&str]) -> Output {
    begun(folder, url, more).wait_with_output().expect("it ends")
}

/// The lines of `out`.
fn lines(folder: &TempDir) -> Vec<Value> {
    let out = std::fs::read_to_string(folder.path().join("out")).expect("it is complete");
    json_lines(out)
}

/// A server that answers after a while.
fn slow(address: &str, model: &'static str, tokens: Option<[u32; 2]>) -> ScriptedServer {
    ScriptedServer::listen(address, move |asked, to| match (asked.path.as_str(), tokens) {
        ("/v1/completions", _) => {
            thread::sleep(Duration::from_millis(30));
            stream(to, &[vllm_event(&[773, 1052], Some("stop"))])
        }
        ("/tokenize", Some(tokens)) => respond(to, "200 OK", "", &json!({"tokens": tokens}).to_string()),
        _ => usual(asked, model, to),
    })
}

fn a_server_of_another_model_ends_the_run() {
    for (model, tokens, expected) in [
        ("m", None, None),
        (
            "other",
            None,
            Some("after the outage a different server answers: it served \"m\" before and serves \"other\" now"),
        ),
        ("m", Some([1, 2]), Some("the server has another tokenizer")),
    ] {
        let folder = folder(60);
        let server = slow("127.0.0.1:0", "m", None);
        let (url, address) = (server.url(), server.url().replace("http://", ""));
        let run = begun(&folder, &url, &["--concurrency", "2"]);
        thread::sleep(Duration::from_millis(400));
        drop(server);
        thread::sleep(Duration::from_millis(700));
        let again = slow(&address, model, tokens);
        let ran = run.wait_with_output().expect("it ends");
        let Some(expected) = expected else {
            assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
            continue;
        };
        assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
        assert!(stderr(&ran).contains(expected) && stderr(&ran).contains("--resume"), "{}", stderr(&ran));
        assert!(again.bodies("/v1/completions").is_empty(), "{model} is asked nothing");
        assert!(folder.path().join("out.partial").exists());
    }
}

/// After an outage, the other models of a server may be different ones.
fn the_model_that_is_asked_for_must_be_the_same() {
    let listing = |address: &str, models: Value| {
        ScriptedServer::listen(address, move |asked, to| match asked.path.as_str() {
            "/v1/completions" => {
                thread::sleep(Duration::from_millis(30));
                stream(to, &[vllm_event(&[773, 1052], Some("stop"))])
            }
            "/v1/models" => respond(to, "200 OK", "", &json!({ "data": models }).to_string()),
            _ => usual(asked, "m", to),
        })
    };
    let model = |name: &str, context: usize| json!({"id": name, "max_model_len": context});
    for (after, expected) in [
        (json!([model("c", 9), model("b", 1024)]), None),
        (
            json!([model("a", 512), model("b", 99)]),
            Some("it served a context of 1024 before and serves a context of 99"),
        ),
        (json!([model("a", 512)]), Some("it served \"b\" before and serves \"a\" now")),
    ] {
        let folder = folder(60);
        let server = listing("127.0.0.1:0", json!([model("a", 512), model("b", 1024)]));
        let (url, address) = (server.url(), server.url().replace("http://", ""));
        let run = begun(&folder, &url, &["--concurrency", "2", "--served-model-name", "b"]);
        thread::sleep(Duration::from_millis(400));
        drop(server);
        thread::sleep(Duration::from_millis(700));
        let _again = listing(&address, after);
        let ran = run.wait_with_output().expect("it ends");
        assert_eq!(ran.status.code(), Some(if expected.is_some() { 2 } else { 0 }), "{}", stderr(&ran));
        assert!(expected.is_none_or(|expected| stderr(&ran).contains(expected)), "{}", stderr(&ran));
    }
}

/// Dynamo's frontend lists no model until a worker is there. Of one that is gone it first says that it is not ready.
fn a_server_without_its_model_is_waited_for() {
    let has_model = Arc::new(AtomicBool::new(false));
    let (is_there, answered) = (Arc::clone(&has_model), AtomicUsize::new(0));
    let server = ScriptedServer::start(move |asked, to| {
        let is_there_now = is_there.load(Ordering::SeqCst);
        match asked.path.as_str() {
            "/v1/models" if !is_there_now => respond(to, "200 OK", "", r#"{"object": "list", "data": []}"#),
            "/v1/completions" if !is_there_now => respond(to, "404 Not Found", "", ""),
            "/v1/completions" => match answered.fetch_add(1, Ordering::SeqCst) {
                // The worker is lost.
                2 => {
                    is_there.store(false, Ordering::SeqCst);
                    respond(to, "503 Service Unavailable", "", "not ready")
                }
                _ => stream(to, &[vllm_event(&[773, 1052], Some("stop"))]),
            },
            _ => usual(asked, "m", to),
        }
    });
    let folder = folder(5);
    let run = begun(&folder, &server.url(), &["--retries", "0", "--concurrency", "1"]);
    thread::sleep(Duration::from_millis(500));
    assert!(server.bodies("/v1/completions").is_empty(), "nothing is asked of a server without a model");
    for _ in 0..2 {
        has_model.store(true, Ordering::SeqCst);
        thread::sleep(Duration::from_secs(1));
    }
    let ran = run.wait_with_output().expect("it ends");
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert_eq!(lines(&folder).len(), 5);
}

/// The server answers two requests at a time.
fn a_server_with_too_many_requests_gets_fewer_and_loses_none() {
    let under_way = Arc::new(AtomicUsize::new(0));
    let server = ScriptedServer::start(move |asked, to| {
        if asked.path != "/v1/completions" {
            return usual(asked, "m", to);
        }
        let responded = if under_way.fetch_add(1, Ordering::SeqCst) < 2 {
            thread::sleep(Duration::from_millis(20));
            stream(to, &[vllm_event(&[773, 1052], Some("stop"))])
        } else {
            respond(to, "429 Too Many Requests", "Retry-After: 0.3\r\n", "{}")
        };
        under_way.fetch_sub(1, Ordering::SeqCst);
        responded
    });
    let folder = folder(100);
    let ran = ran(&folder, &server.url(), &["--retries", "0", "--concurrency", "32"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert_eq!(lines(&folder).len(), 100);
    let sent = server.bodies("/v1/completions").len();
    assert!(sent < 250, "{sent} requests for 100 answers: it is not asked for more and more");
}

fn a_server_that_always_has_too_many_ends_it() {
    for (status, retry_after) in [("429 Too Many Requests", ""), ("503 Service Unavailable", "Retry-After: 0\r\n")] {
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/v1/completions" => respond(to, status, retry_after, "busy"),
            _ => usual(asked, "m", to),
        });
        let folder = folder(2);
        let ran = ran(&folder, &server.url(), &["--retries", "1", "--idle-timeout", "1"]);
        assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
        let (line, sent) = (&lines(&folder)[0], server.bodies("/v1/completions").len());
        assert!(line["error"].as_str().is_some_and(|error| error.contains(&status[..3])), "{line}");
        assert_eq!(line["attempts"], 2, "waiting is no attempt, until it lasts too long");
        assert!(sent > 6, "{sent} requests");
    }
}

fn long_waits_are_said() {
    let server = ScriptedServer::start(|asked, to| match (asked.path.as_str(), asked.number) {
        ("/v1/completions", 0) => respond(to, "429 Too Many Requests", "Retry-After: 4\r\n", "{}"),
        ("/v1/completions", _) => stream(to, &[vllm_event(&[773, 1052], Some("stop"))]),
        _ => usual(asked, "m", to),
    });
    let (one, two) = (folder(1), folder(1));
    let busy = begun(&one, &server.url(), &[]);
    let url = slow("127.0.0.1:0", "m", None).url();
    let down = ran(&two, &url, &["--ready-timeout", "4"]);
    let busy = busy.wait_with_output().expect("it ends");
    assert_eq!(busy.status.code(), Some(0), "{}", stderr(&busy));
    assert!(stderr(&busy).contains("is overloaded; waiting 4 seconds (later"), "{}", stderr(&busy));
    assert_eq!(stderr(&down).matches("waiting until the server is ready").count(), 1, "{}", stderr(&down));
}

fn a_server_that_is_never_ready_is_given_up_in_time() {
    for (silent, expected) in [
        ("all", "the server does not answer; waited 1 second\n"),
        ("/v1/models", "it does not say what it serves; waited 1 second\n"),
        ("/tokenize", "it does not say how it tokenizes; waited 1 second\n"),
        ("busy", "busy; waited 1 second\n"),
        ("no model", "it serves no model yet; waited 1 second\n"),
    ] {
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            path if path == silent || silent == "all" => {
                thread::sleep(Duration::from_secs(10));
                Ok(())
            }
            "/health" if silent == "busy" => respond(to, "503 Service Unavailable", "", "busy"),
            "/v1/models" if silent == "no model" => respond(to, "200 OK", "", r#"{"data": []}"#),
            _ => usual(asked, "m", to),
        });
        let started = Instant::now();
        let ran = ran(&folder(1), &server.url(), &["--ready-timeout", "1"]);
        let took = started.elapsed();
        assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
        assert!(stderr(&ran).ends_with(expected), "{silent}: {}", stderr(&ran));
        assert!(took > Duration::from_secs(1) && took < Duration::from_secs(6), "{silent}: {took:?}");
    }
}

/// A gateway may have another use for this path, or none.
fn a_server_that_lists_models_is_ready_whatever_its_health_is() {
    for (status, ready) in [
        ("204 No Content", true),
        ("400 Bad Request", true),
        ("401 Unauthorized", true),
        ("307 Temporary Redirect", true),
        ("501 Not Implemented", true),
        ("", true),
        ("503 Service Unavailable", false),
    ] {
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/health" if status.is_empty() => {
                thread::sleep(Duration::from_secs(20));
                Ok(())
            }
            "/health" => respond(to, status, "", ""),
            "/v1/completions" => stream(to, &[vllm_event(&[773, 1052], Some("stop"))]),
            _ => usual(asked, "m", to),
        });
        let ran = ran(&folder(1), &server.url(), &["--ready-timeout", "2"]);
        assert_eq!(ran.status.code(), Some(if ready { 0 } else { 2 }), "{status}: {}", stderr(&ran));
    }
}

/// Only a server that cannot tokenize is taken without a look at its tokens.
fn a_server_that_does_not_tokenize_yet_is_asked_again() {
    let other = "the server has another tokenizer";
    let waited = "busy; waited 3 seconds";
    for (engine, first, then, code, expected) in [
        ("vllm", "503 Service Unavailable", Some("{\"tokens\": [1, 2]}"), 2, other),
        ("vllm", "429 Too Many Requests", Some("{\"tokens\": [1, 2]}"), 2, other),
        ("vllm", "", Some("{\"tokens\": [1, 2]}"), 2, other),
        ("vllm", "503 Service Unavailable", None, 2, waited),
        ("openai", "500 Internal Server Error", None, 0, waited),
        ("vllm", "404 Not Found", None, 0, "was not compared with the one here: the server answered 404"),
        ("vllm", "501 Not Implemented", None, 0, "was not compared with the one here: the server answered 501"),
    ] {
        let server = ScriptedServer::start(move |asked, to| match (asked.path.as_str(), asked.number, then) {
            ("/tokenize", 2.., Some(tokens)) => respond(to, "200 OK", "", tokens),
            ("/tokenize", ..) if first.is_empty() => Ok(()),
            ("/tokenize", ..) => respond(to, first, "", "busy"),
            ("/v1/completions", ..) => stream(to, &[vllm_event(&[773, 1052], Some("stop"))]),
            _ => usual(asked, "m", to),
        });
        let (folder, url) = (folder(1), server.url());
        let args = ["run", "-m", "demo", "--url", &url, "--engine", engine, "--ready-timeout", "3", "in.jsonl"];
        let ran = metatok(folder.path(), &args).output().expect("it runs");
        assert_eq!(ran.status.code(), Some(code), "{first}: {}", stderr(&ran));
        assert!(stderr(&ran).contains(expected), "{first}: {}", stderr(&ran));
    }
}

fn refused_rows_are_no_sign_of_a_dead_server() {
    let server = ScriptedServer::start(|asked, to| match asked.path.as_str() {
        "/v1/completions" => respond(to, "400 Bad Request", "", "too long"),
        _ => usual(asked, "m", to),
    });
    let folder = folder(10);
    let ran = ran(&folder, &server.url(), &["--max-consecutive-errors", "2", "--concurrency", "1"]);
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    assert_eq!(lines(&folder).len(), 10);
}
