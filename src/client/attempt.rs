//! One attempt: sends a request, and reads its answer as it arrives.

use std::time::{Duration, Instant};

use reqwest::header::CONTENT_TYPE;

use crate::client::failure::Failure;
use crate::client::http::Http;
use crate::client::message::status_in;
use crate::client::sse::Events;
use crate::client::streamed::StreamedAnswer;
use crate::server::Protocol;
use crate::stop::Trimmer;

/// What is sent, and what its answer may be.
pub(super) struct Sent<'a> {
    pub(super) body: Vec<u8>,
    pub(super) trimmer: &'a Trimmer,
    /// How many tokens it asks for at most, if that is known.
    pub(super) most_tokens: Option<usize>,
    pub(super) keep_raw: bool,
}

/// An answer, with measurements.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) answer: StreamedAnswer,
    pub(super) to_first_token: Duration,
    pub(super) latency: Duration,
    /// The server's events, if they are kept.
    pub(super) raw: Vec<String>,
}

/// The most bytes that are kept of one answer.
const LARGEST: usize = 1 << 26;

/// An answer that is still arriving.
struct Reading<'a> {
    http: &'a Http,
    protocol: &'a Protocol,
    most_tokens: Option<usize>,
    started: Instant,
    keep_raw: bool,
    raw_bytes: usize,
    is_stream: bool,
    attempted: Attempted,
}

/// Sends a request and reads its answer.
pub(super) async fn attempt(http: &Http, protocol: &Protocol, sent: Sent<'_>) -> Result<Attempted, Failure> {
    let Sent { body, trimmer, most_tokens, keep_raw } = sent;
    let started = Instant::now();
    let mut response = http.post(protocol.path, body).await?;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_stream = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"));
    let attempted = Attempted {
        answer: StreamedAnswer::new(trimmer),
        to_first_token: Duration::ZERO,
        latency: Duration::ZERO,
        raw: Vec::new(),
    };
    let mut reading = Reading { http, protocol, most_tokens, started, keep_raw, raw_bytes: 0, is_stream, attempted };
    let mut events = Events::default();
    let has_no_end = |_| Failure::Broken("an event of the stream has no end".into());
    if !is_stream {
        let body = http.body(&mut response, LARGEST).await?;
        let text = String::from_utf8_lossy(&body);
        // Some call a stream something else.
        let beginning = text.trim_start_matches(['\u{FEFF}', '\r', '\n']);
        if !["data:", "event:", ":"].iter().any(|field| beginning.starts_with(field)) {
            reading.event(&text)?;
            return reading.finish_whole(&text);
        }
        for data in events.push(&body).map_err(has_no_end)?.iter().chain(&events.finish()) {
            reading.event(data)?;
        }
        return reading.finish();
    }
    let mut last_data = Instant::now();
    loop {
        let chunk = http.chunk(&mut response, last_data).await?;
        let data = match &chunk {
            Some(bytes) => events.push(bytes).map_err(has_no_end)?,
            None => events.finish(),
        };
        // Comments keep a connection alive, but are not data.
        if !data.is_empty() {
            last_data = Instant::now();
        }
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
            self.raw_bytes += data.len();
            self.attempted.raw.push(data.to_owned());
        }
        let no_answer = |what: &crate::Error| {
            let message = self.http.secrets().message(data);
            let what = self.http.secrets().message(&what.to_string());
            Failure::Broken(format!("the server sent no answer ({what}): {message}"))
        };
        let answer = &mut self.attempted.answer;
        let event = self.protocol.event(data).map_err(|error| no_answer(&error))?;
        if let Some(error) = event.answer.as_ref().and_then(|event| event.error).filter(|_| !answer.is_finished()) {
            return Err(self.error_event(error.get(), data));
        }
        answer.take(event).map_err(|error| no_answer(&error))?;
        if answer.has_begun() && self.attempted.to_first_token.is_zero() {
            self.attempted.to_first_token = self.started.elapsed();
        }
        self.check_sizes()?;
        self.check_end(data)
    }

    /// Rejects an answer that goes on and on.
    fn check_sizes(&self) -> Result<(), Failure> {
        let answer = &self.attempted.answer;
        let tokens = answer.tokens().unwrap_or_default();
        // A server may send the stop in addition.
        if let Some(most) = self.most_tokens.filter(|most| tokens > most.saturating_add(1)) {
            let what = format!("the request asks for at most {most} tokens, but the server sent {tokens} and went on");
            return Err(Failure::Broken(what));
        }
        let text = answer.text.as_ref().map_or(0, String::len);
        if text.saturating_add(self.raw_bytes).saturating_add(tokens.saturating_mul(4)) > LARGEST {
            return Err(Failure::Broken(format!("the answer has more than {LARGEST} bytes")));
        }
        Ok(())
    }

    /// Rejects an answer that the server gave up on, and one of which it left ids out.
    fn check_end(&self, data: &str) -> Result<(), Failure> {
        let answer = &self.attempted.answer;
        if let Some(reason) = answer.given_up() {
            let message = self.http.secrets().message_in(data).map_or(String::new(), |message| format!(": {message}"));
            return Err(self.failed(data, format!("the server ended the answer with {reason:?}{message}")));
        }
        if self.is_stream && self.protocol.omits_ids && answer.lacks_ids() {
            return Err(Failure::OmittedIds);
        }
        Ok(())
    }

    /// The failure that an event says is one, in place of an answer or in the midst of it.
    fn error_event(&self, error: &str, data: &str) -> Failure {
        let message = self.http.secrets().message(data);
        let may_refuse = self.protocol.refuses_in_stream && error.starts_with('{');
        if may_refuse && !self.attempted.answer.has_begun() && status_in(data).is_none() {
            return Failure::Refused { status: None, message: format!("the server refused the request: {message}") };
        }
        self.failed(data, format!("the server broke off: {message}"))
    }

    /// A failure within an answer: what its status would mean for the whole answer, or one that may not come again.
    fn failed(&self, data: &str, otherwise: String) -> Failure {
        let answered = |status: u16| format!("the server answered {status}: {}", self.http.secrets().message(data));
        match status_in(data) {
            Some(status @ (408 | 429)) => Failure::Unavailable { status, retry_after: None, message: answered(status) },
            Some(status @ 400..500) => Failure::Refused { status: Some(status), message: answered(status) },
            _ => Failure::Broken(otherwise),
        }
    }

    /// Ends an attempt whose answer came in one piece.
    fn finish_whole(self, text: &str) -> Result<Attempted, Failure> {
        let answer = &self.attempted.answer;
        if !answer.is_finished() && !answer.has_stopped() {
            let message = self.http.secrets().message(text);
            return Err(Failure::Broken(format!("the server sent no answer, or not the end of one: {message}")));
        }
        self.finish()
    }

    /// Checks that the answer is complete.
    fn finish(mut self) -> Result<Attempted, Failure> {
        let answer = &self.attempted.answer;
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
        self.attempted.answer.cut_at_stop();
        self.attempted.latency = self.started.elapsed();
        Ok(self.attempted)
    }
}
