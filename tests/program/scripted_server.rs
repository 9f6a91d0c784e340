//! A server whose every response a test writes itself.

use std::io::{BufReader, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fake_server::request;

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) body: Value,
    /// How many came to its path before.
    pub(crate) number: usize,
}

type Script = dyn Fn(&Asked, &mut TcpStream) -> Result<()> + Send + Sync;

/// A server on a port of its own, until it is dropped. It closes each connection after one response.
pub(crate) struct ScriptedServer {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ScriptedServer {
    pub(crate) fn start(script: impl Fn(&Asked, &mut TcpStream) -> Result<()> + Send + Sync + 'static) -> Self {
        Self::listen("127.0.0.1:0", script)
    }

    pub(crate) fn listen(
        address: &str,
        script: impl Fn(&Asked, &mut TcpStream) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("it has one");
        let (is_stopped, asked) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let server = Self { address, is_stopped: Arc::clone(&is_stopped), asked: Arc::clone(&asked) };
        let script: Arc<Script> = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), script, asked) = (stream, Arc::clone(&script), Arc::clone(&asked)) else { continue };
                // Whoever breaks off is gone.
                thread::spawn(move || drop(serve(stream, &*script, &asked)));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bodies of the requests to this path.
    pub(crate) fn bodies(&self, path: &str) -> Vec<Value> {
        let asked = self.asked.lock().expect("nobody panicked");
        asked.iter().filter(|asked| asked.path == path).map(|asked| asked.body.clone()).collect()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
    }
}

/// A dataset of dialogues whose turns go on from the model's answers.
pub(crate) const DIALOGUES: &str = r#"
[reader_cfg]
input_columns = ["question"]
output_column = "answer"
[infer_cfg]
prompt_template = { type = "MultiTurnPromptTemplate", template = { round = [{ role = "HUMAN", prompt = "{question}" }, { role = "BOT", prompt = "{answer}" }] } }
inferencer = { type = "MultiTurnGenInferencer", infer_mode = "every" }
"#;

/// A folder with this many conversations for a run, in `in.jsonl`.
pub(crate) fn folder(rows: usize) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows: String = (0..rows).map(|i| format!("\"What is {i}?\"\n")).collect();
    std::fs::write(folder.path().join("in.jsonl"), rows).expect("it is written");
    folder
}

fn serve(stream: TcpStream, script: &Script, all: &Mutex<Vec<Asked>>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = stream;
    let Ok(request) = request(&mut BufReader::new(stream.try_clone()?)) else {
        // It may be TLS.
        return respond(&mut stream, "400 Bad Request", "", "no HTTP");
    };
    let Some((path, body)) = request else { return Ok(()) };
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let asked = {
        let mut all = all.lock().expect("nobody panicked");
        let number = all.iter().filter(|asked| asked.path == path).count();
        all.push(Asked { path, body, number });
        all[all.len() - 1].clone()
    };
    script(&asked, &mut stream)?;
    stream.shutdown(std::net::Shutdown::Both)
}

/// What a server answers to everything but prompts: it is healthy, and serves a model of this name.
pub(crate) fn usual(asked: &Asked, model: &str, to: &mut TcpStream) -> Result<()> {
    match asked.path.as_str() {
        "/health" => respond(to, "200 OK", "", ""),
        "/v1/models" => respond(to, "200 OK", "", &json!({"data": [{"id": model, "max_model_len": 4096}]}).to_string()),
        _ => respond(to, "404 Not Found", "", "no such path"),
    }
}

/// A response in one piece. Each header ends with a line end.
pub(crate) fn respond(to: &mut TcpStream, status: &str, headers: &str, body: &str) -> Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
    to.write_all((head + body).as_bytes())
}

/// The head of a stream, which goes on until the connection is closed.
pub(crate) fn begin_stream(to: &mut TcpStream) -> Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n")
}

/// A stream of these events.
pub(crate) fn stream(to: &mut TcpStream, events: &[Value]) -> Result<()> {
    begin_stream(to)?;
    events.iter().try_for_each(|event| send(to, event))
}

/// An event of a stream.
pub(crate) fn send(to: &mut TcpStream, event: &Value) -> Result<()> {
    to.write_all(format!("data: {event}\n\n").as_bytes())
}

/// An event of vLLM's, with these ids.
pub(crate) fn vllm_event(ids: &[u32], finish_reason: Option<&str>) -> Value {
    json!({"choices": [{"index": 0, "text": "", "token_ids": ids, "finish_reason": finish_reason}]})
}
