//! Requests per second to a server that answers at once, and to one that takes 100 ms, compared with the maximum that the
//! window allows; then a million rows, with the most memory that they take.
//! `cargo bench --bench client --features http`.
#![allow(clippy::print_stdout, missing_docs, reason = "what it shows is for people")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use metatok::PromptBuilder;
use metatok::client::{Client, ClientOptions};
use metatok::input::Input;
use metatok::run::{RunAnswers, RunEvent, RunOptions, Runner};
use metatok::server::Protocol;

const EVENTS: &str = "data: {\"choices\":[{\"index\":0,\"text\":\"Paris.\",\"token_ids\":[773,13,1052],\"finish_reason\":\"stop\",\"stop_reason\":null}]}\n\ndata: [DONE]\n\n";

/// A server that takes this long for an answer.
fn serve(latency: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it has one"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever breaks off is gone.
            thread::spawn(move || drop(answer(&stream, latency)));
        }
    });
    url
}

fn answer(stream: &TcpStream, latency: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    let (mut line, mut body) = (String::new(), Vec::new());
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{EVENTS}",
        EVENTS.len()
    );
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let is_answer = line.starts_with("POST /v1/completions");
        let mut length = 0;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or_default();
            }
        }
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        if is_answer {
            thread::sleep(latency);
            writer.write_all(response.as_bytes())?;
        } else {
            writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")?;
        }
    }
}

/// Rows that are made when they are read.
struct Lines {
    left: std::ops::Range<usize>,
    line: std::io::Cursor<Vec<u8>>,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.line.position() == self.line.get_ref().len() as u64
            && let Some(i) = self.left.next()
        {
            let content = format!("What is the capital of country {i}?");
            let line = format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"{content}\"}}]}}\n");
            self.line = std::io::Cursor::new(line.into_bytes());
        }
        self.line.read(buffer)
    }
}

/// The most memory that this process has had, in MiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// Requests per second.
fn run(url: &str, concurrency: usize, requests: usize) -> f64 {
    let builder = PromptBuilder::demo().expect("it is embedded");
    let mut options = ClientOptions::new(url);
    options.concurrency = NonZeroUsize::new(concurrency);
    let protocol = Protocol::find("vllm").expect("it is one");
    let client = Client::connect(protocol, &builder, &options).expect("it is ready");
    let runner = Runner::over_http(builder, client, None, RunOptions::default());
    let lines = Lines { left: 0..requests, line: std::io::Cursor::default() };
    let inputs = vec![Input::new("lines", BufReader::new(lines))];
    let (started, mut written) = (Instant::now(), 0);
    let mut watch = |event: RunEvent<'_>| {
        written += usize::from(matches!(event, RunEvent::Line(_)));
        Ok(ControlFlow::Continue(()))
    };
    let ran = runner.run(inputs, &mut RunAnswers::streamed(), &mut watch);
    assert!(ran.is_ok() && written == requests, "all are answered");
    requests as f64 / started.elapsed().as_secs_f64()
}

fn main() {
    // `cargo test` runs it too, to see that it does.
    let is_test = !std::env::args().any(|arg| arg == "--bench");
    let scale = if is_test { 100 } else { 1 };
    let at_once = serve(Duration::ZERO);
    for concurrency in [16, 64, 256] {
        let rate = run(&at_once, concurrency, 40_000 / scale);
        println!("answers at once, {concurrency:>3} under way: {rate:>6.0} requests/s");
    }
    let rate = run(&at_once, 64, 1_000_000 / (scale * scale));
    let memory = peak_memory().map_or_else(|| "unknown".into(), |memory| format!("{memory} MiB"));
    println!(
        "a million rows,   64 under way: {rate:>6.0} requests/s, at most {memory} of memory, the server's included"
    );
    let latency = Duration::from_millis(100);
    let slow = serve(latency);
    for concurrency in [16, 64, 256] {
        let rate = run(&slow, concurrency, concurrency * 60 / scale.min(20));
        let most = concurrency as f64 / latency.as_secs_f64();
        let share = rate * 100.0 / most;
        println!("answers after 100 ms, {concurrency:>3} under way: {rate:>6.0} requests/s, {share:.0}% of {most:.0}");
    }
}
