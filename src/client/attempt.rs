//! One attempt: sends a request, and reads its answer as it arrives.

use std::time::{Duration, Instant};

use reqwest::header::CONTENT_TYPE;

use crate::client::failure::Failure;
use crate::client::http::{Http, server_message};
use crate::client::sse::Events;
use crate::client::streamed::StreamedAnswer;
use crate::server::Protocol;
use crate::stop::Trimmer;

/// An answer, with measurements.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) answer: StreamedAnswer,
    pub(super) to_first_token: Duration,
    pub(super) latency: Duration,
    /// The server's events, if they are kept.
    pub(super) raw: Vec<String>,
}

/// An answer that is still arriving.
struct Reading<'a> {
    protocol: &'a Protocol,
    started: Instant,
    keep_raw: bool,
    attempted: Attempted,
}

/// Sends a request and reads its answer.
pub(super) async fn attempt(
    http: &Http,
    protocol: &Protocol,
    body: Vec<u8>,
    trimmer: &Trimmer,
    keep_raw: bool,
) -> Result<Attempted, Failure> {
    let started = Instant::now();
    let mut response = http.post(protocol.path, body).await?;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_stream = kind.starts_with("text/event-stream");
    let attempted = Attempted {
        answer: StreamedAnswer::new(trimmer),
        to_first_token: Duration::ZERO,
        latency: Duration::ZERO,
        raw: Vec::new(),
    };
    let mut reading = Reading { protocol, started, keep_raw, attempted };
    if !is_stream {
        let mut body = Vec::new();
        while let Some(chunk) = http.chunk(&mut response).await? {
            body.extend_from_slice(&chunk);
        }
        reading.event(&String::from_utf8_lossy(&body))?;
        return reading.finish();
    }
    let mut events = Events::default();
    loop {
        let chunk = http.chunk(&mut response).await?;
        let data = match &chunk {
            Some(bytes) => {
                events.push(bytes).map_err(|_| Failure::Broken("an event of the stream has no end".into()))?
            }
            None => events.finish().into_iter().collect(),
        };
        for data in &data {
            reading.event(data)?;
        }
        // If the server continues after a stop, dropping the connection ends the request.
        if chunk.is_none() || reading.attempted.answer.is_past_stop() {
            return reading.finish();
        }
    }
}

impl Reading<'_> {
    fn event(&mut self, data: &str) -> Result<(), Failure> {
        if data == "[DONE]" {
            return Ok(());
        }
        if self.keep_raw {
            self.attempted.raw.push(data.to_owned());
        }
        let no_answer = |what: &crate::Error| {
            Failure::Broken(format!("the server sent no answer ({what}): {}", server_message(data)))
        };
        let answer = &mut self.attempted.answer;
        let event = self.protocol.event(data).map_err(|error| no_answer(&error))?;
        answer.take(event).map_err(|error| no_answer(&error))?;
        let has_begun = answer.token_ids.is_some() || answer.text.is_some();
        if has_begun && self.attempted.to_first_token.is_zero() {
            self.attempted.to_first_token = self.started.elapsed();
        }
        Ok(())
    }

    /// Checks that the answer is complete.
    fn finish(mut self) -> Result<Attempted, Failure> {
        let answer = &self.attempted.answer;
        if let Some(error) = &answer.error {
            return Err(Failure::Broken(format!("the server broke off: {}", server_message(error))));
        }
        if !answer.is_finished() && !answer.has_stopped() {
            return Err(Failure::Broken("the answer was cut off: its stream ended early".into()));
        }
        if let (Some(counted), Some(tokens)) = (answer.usage.completion_tokens, answer.tokens())
            && answer.is_finished()
            && counted != tokens
        {
            let what = format!("the server counts {counted} tokens in its answer, but {tokens} arrived");
            return Err(Failure::Broken(what));
        }
        self.attempted.latency = self.started.elapsed();
        Ok(self.attempted)
    }
}
