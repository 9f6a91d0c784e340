//! A service that turns chats into token ids: the standard library alone, a thread and a clone of the builder for each connection.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use metatok::{Conversation, PromptBuilder};

/// As much as a request may have.
const MAX_BODY: usize = 1 << 20;

fn serve(listener: &TcpListener, builder: &PromptBuilder) -> io::Result<()> {
    for connection in listener.incoming() {
        let (connection, builder) = (connection?, builder.clone());
        thread::spawn(move || answer(connection, &builder));
    }
    Ok(())
}

fn answer(mut connection: TcpStream, builder: &PromptBuilder) -> io::Result<()> {
    let body = body(&connection)?;
    let (status, json) = match prompt(&body, builder) {
        Ok(json) => ("200 OK", json),
        Err(error) => ("400 Bad Request", serde_json::json!({ "error": error.to_string() })),
    };
    write!(connection, "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{json}")
}

fn prompt(body: &[u8], builder: &PromptBuilder) -> Result<serde_json::Value, Box<dyn Error>> {
    let conversation: Conversation = serde_json::from_slice(body)?;
    let prompt = builder.build(&conversation)?;
    let stop: Vec<u32> = builder.stop().stop_token_ids().collect();
    Ok(serde_json::json!({ "input_ids": prompt.input_ids, "stop_token_ids": stop }))
}

fn body(connection: &TcpStream) -> io::Result<Vec<u8>> {
    let mut request = BufReader::new(connection);
    let (mut line, mut length) = (String::new(), 0);
    while request.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length.min(MAX_BODY)];
    request.read_exact(&mut body)?;
    Ok(body)
}

/// Asks the service as a client does.
fn post(address: std::net::SocketAddr, body: &str) -> io::Result<String> {
    let mut connection = TcpStream::connect(address)?;
    write!(connection, "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
    connection.shutdown(Shutdown::Write)?;
    let mut response = String::new();
    connection.read_to_string(&mut response)?;
    Ok(response)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let builder = PromptBuilder::demo()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || serve(&listener, &builder));

    let response = post(address, r#"[{"role": "user", "content": "1+1=?"}]"#)?;
    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    assert!(response.contains(r#""input_ids":[1051,375,263,198,16,10,16,337,1052,198,1051,602,483,690,198]"#));

    let response = post(address, r#"[{"role": "robot", "content": "1+1=?"}]"#)?;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(response.contains(r#"the template has no role \"robot\""#), "{response}");
    Ok(())
}
