//! A server with vLLM's API whose answer to a prompt is always the same, and which can go wrong in every way.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http_head::Head;

/// What a server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Answer,
    /// Answers in pieces, with a pause between them.
    AnswerSlowly,
    /// 429, and says when to come again.
    TooMany,
    Error500,
    /// Refuses the request.
    Refuse400,
    /// Closes the connection instead of an answer.
    Close,
    /// Closes the connection within the answer.
    Cut,
    /// Ends the stream within the answer.
    EndEarly,
    /// Sends a piece twice.
    Duplicate,
    Garbage,
    Html,
    /// Sends nothing any more.
    Hang,
    /// Reports an error within the stream.
    ErrorEvent,
}

pub(crate) const FAULTS: [Does; 11] = [
    Does::AnswerSlowly,
    Does::TooMany,
    Does::Error500,
    Does::Close,
    Does::Cut,
    Does::EndEarly,
    Does::Duplicate,
    Does::Garbage,
    Does::Html,
    Does::Hang,
    Does::ErrorEvent,
];

type Plan = dyn Fn(u64, &Value) -> Does + Send + Sync;

/// A server on a port of its own, until it is stopped.
pub(crate) struct FakeServer {
    pub(crate) address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    /// The bodies of all requests.
    pub(crate) requests: Arc<Mutex<Vec<Value>>>,
    /// How many were answered in full.
    pub(crate) answered: Arc<AtomicU64>,
}

struct Shared {
    is_stopped: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<Value>>>,
    answered: Arc<AtomicU64>,
    plan: Box<Plan>,
    tokens: Option<Vec<u32>>,
}

impl FakeServer {
    /// Does with each request, by its number and its body, what the plan says.
    pub(crate) fn start(plan: impl Fn(u64, &Value) -> Does + Send + Sync + 'static) -> Self {
        Self::listen("127.0.0.1:0", plan, None)
    }

    /// At an address; `tokens` is what it tokenizes everything to.
    pub(crate) fn listen(
        address: &str,
        plan: impl Fn(u64, &Value) -> Does + Send + Sync + 'static,
        tokens: Option<Vec<u32>>,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("it has one");
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (requests, answered) = (Arc::default(), Arc::default());
        let shared = Arc::new(Shared {
            is_stopped: Arc::clone(&is_stopped),
            requests: Arc::clone(&requests),
            answered: Arc::clone(&answered),
            plan: Box::new(plan),
            tokens,
        });
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&shared)) else { continue };
                // Whoever breaks off is gone.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Self { address, is_stopped, requests, answered }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until it has answered this many requests.
    pub(crate) fn wait_for_answers(&self, count: u64) {
        let is_answered = || self.answered.load(Ordering::Relaxed) >= count;
        let wait = |_| {
            thread::sleep(Duration::from_millis(10));
            is_answered()
        };
        assert!((0..6_000).any(wait), "{count} requests are answered within a minute");
    }

    /// Takes no connection any more, and leaves those that there are.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        loop {
            let Some((path, body)) = request(&mut reader)? else { return Ok(()) };
            if self.is_stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            match path.as_str() {
                "/health" => respond(&mut stream, "200 OK", "text/plain", "")?,
                "/v1/models" => {
                    let models = json!({"data": [{"id": "fake", "max_model_len": 4096}]});
                    respond(&mut stream, "200 OK", "application/json", &models.to_string())?;
                }
                "/tokenize" => match &self.tokens {
                    Some(tokens) => {
                        respond(&mut stream, "200 OK", "application/json", &json!({"tokens": tokens}).to_string())?;
                    }
                    None => respond(&mut stream, "404 Not Found", "application/json", "{}")?,
                },
                "/v1/completions" => {
                    let body: Value = serde_json::from_slice(&body)?;
                    let number = {
                        let mut requests = self.requests.lock().expect("nobody panicked");
                        requests.push(body.clone());
                        requests.len() as u64 - 1
                    };
                    if !self.complete((self.plan)(number, &body), &body, &mut stream)? {
                        return Ok(());
                    }
                }
                _ => respond(&mut stream, "404 Not Found", "text/plain", "no such path")?,
            }
        }
    }

    /// Says whether the connection stays.
    fn complete(&self, does: Does, body: &Value, stream: &mut TcpStream) -> std::io::Result<bool> {
        match does {
            Does::TooMany => {
                stream.write_all(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 2\r\n\r\n{}")?;
                return Ok(true);
            }
            Does::Error500 => {
                respond(stream, "500 Internal Server Error", "text/plain", "it broke")?;
                return Ok(true);
            }
            Does::Refuse400 => {
                let error = json!({"error": {"message": "the prompt is not welcome", "code": 400}});
                respond(stream, "400 Bad Request", "application/json", &error.to_string())?;
                return Ok(true);
            }
            Does::Html => {
                respond(stream, "200 OK", "text/html", "<html><h1>Welcome to the proxy</h1></html>")?;
                return Ok(true);
            }
            Does::Close => return Ok(false),
            _ => {}
        }
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n",
        )?;
        let events = events(body);
        for (i, event) in events.iter().enumerate() {
            let is_second = i == 1;
            match does {
                Does::AnswerSlowly => thread::sleep(Duration::from_millis(8)),
                Does::Cut if is_second => return Ok(false),
                Does::EndEarly if is_second => break,
                Does::Duplicate if is_second => chunk(stream, &events[0])?,
                Does::Garbage if is_second => chunk(stream, "{\"choices\": [{]\u{0}")?,
                Does::Hang if is_second => thread::sleep(Duration::from_secs(2)),
                Does::ErrorEvent if is_second => chunk(stream, "{\"error\": {\"message\": \"out of memory\"}}")?,
                _ => {}
            }
            chunk(stream, event)?;
        }
        if matches!(does, Does::Answer | Does::AnswerSlowly) {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        stream.write_all(b"0\r\n\r\n")?;
        Ok(true)
    }
}

/// The answer to a prompt, in pieces: a few ids that depend on the prompt alone, and the demo's end.
pub(crate) fn answer(prompt: &[u64]) -> Vec<u64> {
    let sum: u64 = prompt.iter().enumerate().map(|(i, id)| id * (i as u64 + 7)).sum();
    let mut ids: Vec<u64> = (0..2 + sum % 4).map(|i| 260 + (sum + i * 31) % 700).collect();
    ids.push(1052);
    ids
}

fn events(body: &Value) -> Vec<String> {
    let prompt: Vec<u64> = body["prompt"].as_array().expect("it has ids").iter().filter_map(Value::as_u64).collect();
    let ids = answer(&prompt);
    let mut events: Vec<String> = ids
        .iter()
        .enumerate()
        .map(|(i, id)| {
            let finish = (i + 1 == ids.len()).then_some("stop");
            let choice =
                json!({"index": 0, "text": "", "token_ids": [id], "finish_reason": finish, "stop_reason": null});
            json!({"id": "cmpl-x", "choices": [choice]}).to_string()
        })
        .collect();
    let usage = json!({"prompt_tokens": prompt.len(), "completion_tokens": ids.len()});
    events.push(json!({"id": "cmpl-x", "choices": [], "usage": usage}).to_string());
    events.push("[DONE]".into());
    events
}

fn chunk(stream: &mut TcpStream, data: &str) -> std::io::Result<()> {
    let event = format!("data: {data}\n\n");
    stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    stream.write_all(
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes(),
    )
}

/// The path and the body of the next request.
pub(crate) fn request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let Some(head) = Head::read(reader)? else { return Ok(None) };
    let length = head.header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((head.path, body)))
}
