//! `metatok run --url`: what is wrong with an address or a key is said, and neither is shown.

use std::process::Output;

use crate::harness::{Tests, tests};
use crate::program::{metatok, stderr, stdout};
use crate::scripted_server::{ScriptedServer, respond, stream, usual, vllm_event};

pub(crate) fn tests() -> Tests {
    tests![
        what_is_wrong_with_an_address_is_said,
        a_redirect_is_named_and_not_followed,
        what_was_sent_in_headers_is_not_repeated,
        no_proxy_is_asked_for_this_machine
    ]
}

fn ran(url: &str, variables: &[(&str, &str)], more: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("in.jsonl"), "\"1+1=?\"\n").expect("it is written");
    let fixed = ["run", "-m", "demo", "--engine", "vllm", "--ready-timeout", "2", "--url", url, "in.jsonl"];
    let mut run = metatok(folder.path(), &[&fixed[..], more].concat());
    run.envs(variables.iter().copied()).output().expect("it runs")
}

fn answering() -> ScriptedServer {
    ScriptedServer::start(|asked, to| match asked.path.as_str() {
        "/v1/completions" => stream(to, &[vllm_event(&[773, 1052], Some("stop"))]),
        _ => usual(asked, "m", to),
    })
}

fn what_is_wrong_with_an_address_is_said() {
    let server = answering();
    let tls = server.url().replace("http://", "https://");
    for (url, key, expected) in [
        ("ftp://user:pa55@host/", "k", "\"ftp://…@host/\" is not the address of a server: it is not http or https"),
        ("http://user:pa55@host:99999/", "k", "\"http://…@host:99999/\" is not the address of a server"),
        ("http://127.0.0.1:1/?api_key=pa55", "k", "it has a query after \"?\", which cannot be sent"),
        (&tls, "k", "does not speak TLS"),
        (&server.url(), " ", "the environment variable KEY, which --api-key-env names, is empty"),
    ] {
        let ran = ran(url, &[("KEY", key)], &["--api-key-env", "KEY"]);
        assert_eq!(ran.status.code(), Some(2), "{url}: {}", stderr(&ran));
        assert!(stderr(&ran).contains(expected), "{url}: {}", stderr(&ran));
        assert!(!stderr(&ran).contains("pa55"), "{}", stderr(&ran));
    }
}

fn a_redirect_is_named_and_not_followed() {
    let server = ScriptedServer::start(move |asked, to| match asked.path == "/v1/completions" {
        true => respond(to, "307 Temporary Redirect", "Location: http://elsewhere/v1\r\n", ""),
        false => usual(asked, "m", to),
    });
    let ran = ran(&server.url(), &[], &[]);
    assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
    let expected = "the server answered 307, a redirect to http://elsewhere/v1; redirects are not followed";
    assert!(stderr(&ran).contains(expected), "{}", stderr(&ran));
}

fn what_was_sent_in_headers_is_not_repeated() {
    for (message, shown) in
        [("s3cret is no key", "… is no key"), ("Bearer s3cret is no key, nor is pa55", "… is no key, nor is …")]
    {
        let server = ScriptedServer::start(move |asked, to| match asked.path.as_str() {
            "/v1/completions" => respond(to, "400 Bad Request", "", message),
            _ => usual(asked, "m", to),
        });
        let more = ["--api-key-env", "KEY", "--header", "X-Key: pa55"];
        let ran = ran(&server.url(), &[("KEY", "s3cret")], &more);
        assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
        for out in [stderr(&ran), stdout(&ran)] {
            assert!(out.contains(&format!("the server answered 400: {shown}")), "{out}");
        }
    }
}

fn no_proxy_is_asked_for_this_machine() {
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:1"));
    let ran = ran(&answering().url(), &proxies, &[]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
}
