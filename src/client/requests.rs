//! Many requests to one server, each with its retries, on a thread of their own.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::assemble::TokenizedPrompt;
use crate::builder::PromptBuilder;
use crate::client::attempt::{Attempted, Sent, attempt};
use crate::client::failure::{FailedRequest, Failure};
use crate::client::gate::Gate;
use crate::client::http::{Http, seconds};
use crate::client::options::{Notice, SILENT};
use crate::client::outage;
use crate::client::pace::Pace;
use crate::client::ready::{self, ServerNotes, VerifiedServer};
use crate::client::{ClientOptions, StreamedAnswer};
use crate::dataset::SamplingParams;
use crate::error::{ErrorKind, Result};
use crate::server::{Protocol, json_string};
use crate::sink::{BuiltPrompt, LineSink, PromptKey};
use crate::stop::Trimmer;

/// How many requests are sent at a time if neither the user nor the server sets a limit.
const DEFAULT_CONCURRENCY: NonZeroUsize = NonZeroUsize::new(64).expect("it is not zero");

/// The longest pause between two attempts, unless the server asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A server that is ready.
pub struct Client {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
    concurrency: NonZeroUsize,
    notes: ServerNotes,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { concurrency, notes, .. } = self;
        f.debug_struct("Client").field("concurrency", concurrency).field("notes", notes).finish_non_exhaustive()
    }
}

/// This many closed connections do not count as attempts: the request is sent again at once on another one.
const CLOSED_CONNECTIONS: u32 = 3;

/// The state that all requests share.
struct Shared {
    http: Http,
    protocol: &'static Protocol,
    known: VerifiedServer,
    gate: Gate,
    pace: Pace,
    notice: Notice,
    /// Whether the user was told that the server asks to wait.
    wait_is_said: AtomicBool,
    retries: u32,
    keep_raw: bool,
    /// A stream lacked ids, so no answer is streamed any more. Only asking for those again would change how often samples
    /// with such ids are drawn.
    is_whole: AtomicBool,
}

/// What writes the bodies of requests.
#[derive(Clone)]
pub(crate) struct Bodies {
    /// Writes the body for an answer as a stream.
    pub(crate) streamed: Arc<dyn LineSink>,
    /// Writes the body for an answer in one piece.
    pub(crate) whole: Arc<dyn LineSink>,
}

/// A prompt to send.
pub(crate) struct ClientRequest {
    /// Distinguishes it from all others of the run.
    pub(crate) request_id: String,
    pub(crate) prompt: TokenizedPrompt,
    pub(crate) max_new_tokens: usize,
    /// How many tokens the server is asked for in the end, if that is known.
    pub(crate) most_tokens: Option<usize>,
    pub(crate) sampling_params: SamplingParams,
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    Answered(Box<Finished>),
    Failed(FailedRequest),
    /// No more requests are sent, for this reason.
    GivenUp(String),
}

/// An answer, with measurements.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) answer: StreamedAnswer,
    pub(crate) to_first_token: Duration,
    pub(crate) latency: Duration,
    pub(crate) attempts: u32,
    pub(crate) raw: Vec<String>,
}

impl Drop for Client {
    fn drop(&mut self) {
        // Waiting for it is not allowed in an asynchronous program.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Client {
    /// Waits until the server is ready, asks what it serves, and compares its tokenizer with the builder's.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for an invalid address;
    /// [`ErrorKind::Engine`](crate::ErrorKind::Engine) if the server is not ready in time, or has another tokenizer.
    pub fn connect(protocol: &'static Protocol, builder: &PromptBuilder, options: &ClientOptions) -> Result<Self> {
        let http = Http::new(options)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("requests")
            .enable_io()
            .enable_time()
            .build()?;
        let (patience, notice) = (options.ready_timeout, &options.notice);
        let ask = async {
            ready::wait(&http, protocol, patience, notice).await?;
            VerifiedServer::find(&http, protocol, builder, (options.served_model_name.clone(), patience)).await
        };
        // A thread of its own may wait, also where the caller's is one of an asynchronous program.
        let found = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(ask)).join());
        let (known, warnings) = found.map_err(|_| ErrorKind::Engine("connecting to the server panicked".into()))??;
        let notes = ServerNotes { served: known.served(), warnings };
        let slots = notes.served.slots.and_then(NonZeroUsize::new);
        let concurrency = options.concurrency.or(slots).unwrap_or(DEFAULT_CONCURRENCY);
        let shared = Shared {
            http,
            protocol,
            known,
            gate: Gate::new(options.max_consecutive_errors),
            pace: Pace::new(concurrency, options.idle_timeout),
            notice: options.notice.clone(),
            wait_is_said: AtomicBool::new(false),
            retries: options.retries,
            keep_raw: options.keep_raw,
            is_whole: AtomicBool::new(false),
        };
        Ok(Self { runtime: Some(runtime), shared: Arc::new(shared), concurrency, notes })
    }

    /// The results of the checks before the first request.
    pub fn notes(&self) -> &ServerNotes {
        &self.notes
    }

    /// How many requests are sent at a time.
    pub fn concurrency(&self) -> NonZeroUsize {
        self.concurrency
    }

    /// The server's protocol.
    pub fn protocol(&self) -> &'static Protocol {
        self.shared.protocol
    }

    /// Whether the server's events are kept with each answer.
    pub(crate) fn keeps_raw(&self) -> bool {
        self.shared.keep_raw
    }

    /// Sends a prompt, and passes on the outcome.
    pub(crate) fn send(
        &self,
        ask: ClientRequest,
        bodies: Bodies,
        trimmer: Trimmer,
        done: impl FnOnce(Result<Outcome>) + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let runtime = self.runtime.as_ref().expect("only dropping takes it");
        runtime.spawn(async move { done(shared.answer(&ask, &bodies, &trimmer).await) });
    }
}

/// How often a request was sent.
#[derive(Default)]
struct Tries {
    attempts: u32,
    /// How often its connection was closed, and how often the server had too many requests. Neither is an attempt.
    closed: u32,
    waits: u32,
    /// Whether it was asked for in one piece, because its stream left out ids.
    is_whole: bool,
}

impl Shared {
    /// Sends a request until it is answered or has failed for good.
    async fn answer(&self, ask: &ClientRequest, bodies: &Bodies, trimmer: &Trimmer) -> Result<Outcome> {
        let mut tries = Tries::default();
        loop {
            let permit = self.pace.permit().await;
            if let Err(why) = self.gate.pass().await {
                return Ok(Outcome::GivenUp(why));
            }
            tries.attempts += 1;
            let sink = if self.is_whole.load(Ordering::Relaxed) { &bodies.whole } else { &bodies.streamed };
            let body = body(ask, tries.attempts, &**sink)?;
            let sent = Sent { body, trimmer, most_tokens: ask.most_tokens, keep_raw: self.keep_raw };
            let attempted = attempt(&self.http, self.protocol, sent).await;
            drop(permit);
            match attempted {
                Ok(Attempted { answer, to_first_token, latency, raw }) => {
                    self.gate.answered();
                    self.pace.answered();
                    let finished = Finished { answer, to_first_token, latency, attempts: tries.attempts, raw };
                    return Ok(Outcome::Answered(Box::new(finished)));
                }
                Err(failure) => {
                    if let Some(failed) = self.recover(failure, &mut tries).await {
                        return Ok(Outcome::Failed(failed));
                    }
                }
            }
        }
    }

    /// Does what a failure asks for before the request is sent again; returns it if it is final.
    async fn recover(&self, failure: Failure, tries: &mut Tries) -> Option<FailedRequest> {
        let failure = match failure {
            Failure::Refused { status: Some(404), message } if ready::lists_no_model(&self.http).await => {
                Failure::Down(message)
            }
            failure => failure,
        };
        match failure {
            // The request was not sent, so this is not an attempt.
            Failure::Down(_) => {
                tries.attempts -= 1;
                if self.gate.close() {
                    outage::wait_out(&self.http, &self.known, &self.gate, &self.notice).await;
                }
            }
            Failure::OmittedIds if !std::mem::replace(&mut tries.is_whole, true) => {
                tries.attempts -= 1;
                self.stream_no_more();
            }
            Failure::Closed(_) if tries.closed < CLOSED_CONNECTIONS => {
                tries.attempts -= 1;
                tries.closed += 1;
            }
            failure if failure.asks_to_wait(tries.waits) && self.hold_back(&failure, tries.waits + 1) => {
                tries.attempts -= 1;
                tries.waits += 1;
            }
            failure if failure.may_pass() && tries.attempts <= self.retries => {
                tokio::time::sleep(pause(tries.attempts, failure.retry_after())).await;
            }
            // Every other request would fail in the same way.
            Failure::Refused { status: Some(401 | 403 | 404 | 405), message } => {
                let Protocol { path, name, .. } = self.protocol;
                let address = self.http.address();
                self.gate.give_up(format!("{message}; the request went to {address}{path}, the path of {name}"));
            }
            Failure::Unusable(message) => self.gate.give_up(message),
            failure => return Some(self.failed(failure, tries.attempts)),
        }
        None
    }

    fn failed(&self, failure: Failure, attempts: u32) -> FailedRequest {
        let is_refused = matches!(failure, Failure::Refused { .. });
        let failed = FailedRequest { status: failure.status(), attempts, error: failure.message() };
        // A server that refuses one request works.
        match is_refused {
            true => self.gate.answered(),
            false => self.gate.failed(&failed.error),
        }
        failed
    }

    /// The server has too many requests: none is sent for a while. Returns false if that has been so for too long.
    fn hold_back(&self, failure: &Failure, times: u32) -> bool {
        let wait = pause(times, failure.retry_after());
        let is_held = self.pace.hold_back(wait);
        if is_held && wait > SILENT && !self.wait_is_said.swap(true, Ordering::Relaxed) {
            let (asked, address) = (seconds(Duration::from_secs(wait.as_secs())), self.http.address());
            self.notice.say(&format!("{address} is overloaded; waiting {asked} (later waits are not announced)"));
        }
        is_held
    }

    /// From now on, answers come in one piece.
    fn stream_no_more(&self) {
        if !self.is_whole.swap(true, Ordering::Relaxed) {
            self.notice.say("the server's stream leaves out ids, so answers come in one piece from now on");
        }
    }
}

/// The body of a request. Each attempt has its own id: the server may still be working on the one before.
fn body(ask: &ClientRequest, attempt: u32, sink: &dyn LineSink) -> Result<Vec<u8>> {
    let id = match attempt {
        1 => json_string(&ask.request_id),
        attempt => json_string(&format!("{}-try-{attempt}", ask.request_id)),
    };
    let key = PromptKey {
        max_out_len: Some(ask.max_new_tokens as u64),
        sampling_params: ask.sampling_params,
        ..PromptKey::of(&id)
    };
    let mut body = Vec::new();
    sink.write(&key, &BuiltPrompt::from(&ask.prompt), &mut body)?;
    Ok(body)
}

/// How long to wait after an attempt: as long as the server asks, or twice as long each time. Half of that is random,
/// so that requests that failed together are spread out.
fn pause(attempts: u32, asked: Option<Duration>) -> Duration {
    let usual = Duration::from_millis(250) * 2_u32.saturating_pow(attempts - 1);
    let pause = usual.min(LONGEST_PAUSE);
    asked.unwrap_or_default().max(pause / 2) + pause.mul_f64(random() / 2.0)
}

/// A random number from 0 to 1.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};

    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
