//! Whether the server is up, what it serves, and whether it has the model's tokenizer: before the first request, and
//! after an outage.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use tokio::time::{timeout, timeout_at};

use crate::builder::PromptBuilder;
use crate::client::failure::Failure;
use crate::client::http::{Http, seconds};
use crate::client::options::{Notice, SILENT};
use crate::common_prefix::common_prefix;
use crate::error::{Error, ErrorKind, Result, Setting, Warning, way_out};
use crate::server::{MODELS, Protocol, Served};
use crate::tokenizer::TokenId;

/// Longer than anybody waits: the end of it is still a time.
const LONGEST: Duration = Duration::from_secs(1 << 32);

/// The results of the checks before the first request.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerNotes {
    /// The server's description of itself.
    pub served: Served,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// What a server was found to be.
#[derive(Debug)]
pub(super) struct VerifiedServer {
    pub(super) protocol: &'static Protocol,
    pub(super) builder: PromptBuilder,
    /// The server's description of itself: of the model with the user's name for it, if it lists that one.
    pub(super) served: Served,
    /// Its name for the model, if the user knows a better one.
    pub(super) name: Option<String>,
    /// How long each check may take.
    pub(super) patience: Duration,
}

/// A text that tokenizers split differently: words, numbers, code, other scripts, a character of several code points.
const SAMPLE: &str = "The quick brown fox, 1234.5 times:\n\tif x != 0 { return \"Grüße\"; } — 你好，мир! 👩‍🚀";

/// How many names of models a message shows at most.
const MOST_NAMES: usize = 5;

/// How long a server is given to say whether it is ready, before it is asked what it serves. SGLang takes 20 seconds to say
/// that it is not.
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// The most bytes of what a server says of itself.
const LARGEST: usize = 1 << 24;

/// Waits until the server is up and has a model.
///
/// # Errors
/// [`ErrorKind::Engine`] with the server's last message.
pub(super) async fn wait(http: &Http, protocol: &Protocol, patience: Duration, notice: &Notice) -> Result<()> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(100);
    let mut is_said = false;
    let mut is_looked_at = false;
    loop {
        let left = patience.saturating_sub(started.elapsed());
        let failure = match look(http, protocol, Instant::now() + left.max(pause).min(LONGEST)).await {
            Ok(()) => return Ok(()),
            Err(Failure::Refused { message, .. } | Failure::Unusable(message)) => {
                return Err(not_ready(http, &message));
            }
            Err(Failure::Closed(what))
                if !std::mem::replace(&mut is_looked_at, true) && http.needs_tls(protocol.health).await =>
            {
                return Err(not_ready(http, &format!("it speaks TLS ({what}); try https:// in place of http://")));
            }
            Err(failure) => failure.message(),
        };
        let left = patience.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(not_ready(http, &format!("{failure}; waited {}", seconds(patience))));
        }
        if started.elapsed() > SILENT && !std::mem::replace(&mut is_said, true) {
            notice.say(&format!("waiting until the server is ready: {failure}"));
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

/// Whether the server is up, and serves a model.
async fn look(http: &Http, protocol: &Protocol, until: Instant) -> std::result::Result<(), Failure> {
    let broken = |what: &str| Err(Failure::Broken(what.into()));
    let time = until.saturating_duration_since(Instant::now());
    let health = timeout(LONGEST_LOOK.min(time / 2), http.get(protocol.health)).await;
    let Ok(models) = timeout_at(until.into(), models(http)).await else {
        return broken(if health.is_err() { "the server does not answer" } else { "it does not say what it serves" });
    };
    match health {
        _ if models.as_deref().is_some_and(<[Value]>::is_empty) => broken("it serves no model yet"),
        // A server without such a path is up.
        Ok(Ok(_) | Err(Failure::Refused { status: Some(404 | 405), .. })) => Ok(()),
        // A gateway may refuse this path, or ask all servers behind it.
        Ok(Err(Failure::Refused { .. } | Failure::Unusable(_) | Failure::Unavailable { status: 501, .. })) | Err(_)
            if models.is_some() =>
        {
            Ok(())
        }
        Ok(Err(failure)) => Err(failure),
        Err(_) => broken(&format!("it does not answer at {}", protocol.health)),
    }
}

/// Whether the server is up, but has no model: Dynamo's frontend without a worker.
pub(super) async fn lists_no_model(http: &Http) -> bool {
    models(http).await.is_some_and(|models| models.is_empty())
}

/// The models that the server lists, if it lists any.
async fn models(http: &Http) -> Option<Vec<Value>> {
    match description(http, MODELS).await?.get_mut("data")?.take() {
        Value::Array(models) => Some(models),
        _ => None,
    }
}

fn not_ready(http: &Http, what: &str) -> Error {
    Error::from(ErrorKind::Engine(format!("the server is not ready: {what}"))).at(http.address())
}

impl VerifiedServer {
    /// What the server is, and what could not be found out.
    ///
    /// # Errors
    /// [`ErrorKind::Engine`] if it has another tokenizer, or does not answer in time.
    pub(super) async fn find(
        http: &Http,
        protocol: &'static Protocol,
        builder: &PromptBuilder,
        (name, patience): (Option<String>, Duration),
    ) -> Result<(Self, Vec<Warning>)> {
        let (served, unlisted) = described(http, protocol, name.as_deref(), patience).await?;
        let known = Self { protocol, builder: builder.clone(), served, name, patience };
        let tokens = known.tokens(http, &known.served).await?;
        let warning = known.compare(http, &known.served, tokens)?;
        Ok((known, unlisted.into_iter().chain(warning).collect()))
    }

    /// The description with the user's name for the model.
    pub(super) fn served(&self) -> Served {
        Served { model: self.name.clone().or_else(|| self.served.model.clone()), ..self.served.clone() }
    }

    /// How the server differs from what it was found to be; or why that cannot be found out now.
    pub(super) async fn difference(&self, http: &Http) -> std::result::Result<Option<String>, String> {
        let late = |error: Error| error.to_string();
        let (now, _) = described(http, self.protocol, self.name.as_deref(), self.patience).await.map_err(late)?;
        if self.served.model.is_some() && now.model.is_none() {
            return Err(format!("{} does not say yet what it serves", http.address()));
        }
        if let Some((before, now)) = differing(&self.served, &now) {
            let what =
                format!("after the outage a different server answers: it served {before} before and serves {now} now");
            return Ok(Some(what));
        }
        let tokens = self.tokens(http, &now).await.map_err(late)?;
        Ok(self
            .compare(http, &now, tokens)
            .err()
            .map(|error| format!("after the outage a different server answers: {error}")))
    }

    /// The server's tokens of the sample, or why it gives none. What may pass is waited for.
    ///
    /// # Errors
    /// [`ErrorKind::Engine`] if it does not pass.
    async fn tokens(&self, http: &Http, served: &Served) -> Result<std::result::Result<Vec<TokenId>, String>> {
        let model = self.name.as_ref().or(served.model.as_ref());
        let until = Instant::now() + self.patience.min(LONGEST);
        let mut pause = Duration::from_millis(100);
        let mut failed = None;
        while let Ok(tokens) = timeout_at(until.into(), tokenize(http, self.protocol, model)).await {
            let failure = match tokens {
                Ok(tokens) => return Ok(tokens),
                Err(failure) => failure,
            };
            let wait = failure.retry_after().unwrap_or_default().max(pause);
            failed = Some(failure.message());
            tokio::time::sleep_until((Instant::now() + wait).min(until).into()).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
        let waited = format!("; waited {}", seconds(self.patience));
        match failed {
            // Where there is no such path, some answer 500.
            Some(why) if !self.protocol.tokenize.is_certain => Ok(Err(why + &waited)),
            Some(why) => Err(not_ready(http, &format!("it does not say how it tokenizes: {why}{waited}"))),
            None => Err(not_ready(http, &format!("it does not say how it tokenizes{waited}"))),
        }
    }

    /// Compares the server's tokens of the sample with those of the tokenizer here: with another one, ids mean something
    /// else.
    ///
    /// # Errors
    /// [`ErrorKind::Engine`] with both, if they differ.
    fn compare(
        &self,
        http: &Http,
        served: &Served,
        tokens: std::result::Result<Vec<TokenId>, String>,
    ) -> Result<Option<Warning>> {
        let ours = self.builder.tokenizer().vocab_size();
        if let Some(theirs) = served.vocab_size.filter(|theirs| *theirs < ours) {
            let what = format!(
                "the server's model has {theirs} ids, but the tokenizer here has {ours}: it is not the same model"
            );
            return Err(Error::from(ErrorKind::Engine(what)).at(http.address()));
        }
        let theirs = match tokens {
            Ok(tokens) => tokens,
            Err(why) => {
                let what = format!("the tokenizer of {} was not compared with the one here: {why}", http.address());
                return Ok(Some(Warning::new("tokenizer-not-compared", what)));
            }
        };
        let ours = self.builder.tokenizer().encode(SAMPLE)?;
        if ours == theirs { Ok(None) } else { Err(other_tokenizer(&ours, &theirs).at(http.address())) }
    }
}

/// What the server says of itself, if it does not take too long.
async fn described(
    http: &Http,
    protocol: &Protocol,
    name: Option<&str>,
    patience: Duration,
) -> Result<(Served, Option<Warning>)> {
    let late = |_| not_ready(http, &format!("it does not say what it serves; waited {}", seconds(patience)));
    timeout(patience, describe(http, protocol, name)).await.map_err(late)
}

/// The server's description of itself, if it has one. If it lists models, but none of the user's name, there is a warning,
/// and only the name of its first model is known. There is one, too, if it should list models, but does not.
async fn describe(http: &Http, protocol: &Protocol, name: Option<&str>) -> (Served, Option<Warning>) {
    let mut served = Served { model: name.map(str::to_owned), ..Served::default() };
    let (mut listed, mut has_no_list) = (Vec::new(), false);
    for (path, read) in protocol.descriptions {
        let description = description(http, path).await;
        if *path == MODELS {
            let models = description.as_ref().and_then(|description| description["data"].as_array());
            has_no_list = models.is_none();
            let names = models.into_iter().flatten().filter_map(|model| model["id"].as_str());
            listed = names.map(str::to_owned).collect();
        }
        if let Some(description) = description {
            read(&description, &mut served);
        }
    }
    let unlisted = name.filter(|name| !listed.is_empty() && !listed.iter().any(|model| model == name));
    let warning = match unlisted {
        Some(name) => Some(not_listed(name, &listed, served.max_model_len)),
        None if has_no_list && served.max_model_len.is_none() => {
            let what = format!("the server's list of models ({MODELS}) cannot be read, so its context is not known");
            Some(Warning::new("models-not-listed", what))
        }
        None => None,
    };
    served.model = served.model.filter(|model| listed.contains(model)).or(listed.into_iter().next());
    (served, warning)
}

fn not_listed(name: &str, listed: &[String], context: Option<usize>) -> Warning {
    let names: Vec<String> = listed.iter().take(MOST_NAMES).map(|name| format!("{name:?}")).collect();
    let more = if listed.len() > names.len() { ", …" } else { "" };
    let unknown = if context.is_none() { ", so its context is not known" } else { "" };
    let what = format!("the server lists no model {name:?}, only {}{more}{unknown}", names.join(", "));
    Warning::new("model-not-listed", what)
        .with_way_out(way_out!["if that is not meant, set its name with ", Setting::SERVED_MODEL_NAME])
}

/// What the server has at this path, if it is JSON.
async fn description(http: &Http, path: &str) -> Option<Value> {
    let mut response = http.get(path).await.ok()?;
    let body = http.body(&mut response, LARGEST).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// The first thing that two descriptions say otherwise. How many requests a server handles may change.
fn differing(before: &Served, now: &Served) -> Option<(String, String)> {
    let both = |before: Option<String>, now: Option<String>| before.zip(now).filter(|(before, now)| before != now);
    let name = |served: &Served| served.model.as_ref().map(|name| format!("{name:?}"));
    let context = |served: &Served| served.max_model_len.map(|len| format!("a context of {len}"));
    let size = |served: &Served| served.vocab_size.map(|size| format!("a model with {size} ids"));
    both(name(before), name(now))
        .or_else(|| both(context(before), context(now)))
        .or_else(|| both(size(before), size(now)))
}

/// The server's tokens of the sample, or why it gives none.
///
/// # Errors
/// What may pass: a server that is busy, or a connection that broke.
async fn tokenize(
    http: &Http,
    protocol: &Protocol,
    model: Option<&String>,
) -> std::result::Result<std::result::Result<Vec<TokenId>, String>, Failure> {
    #[derive(Deserialize)]
    struct Tokenized {
        #[serde(alias = "input_ids")]
        tokens: Vec<TokenId>,
    }

    let body = (protocol.tokenize.body)(SAMPLE, model.map(String::as_str));
    let mut response = match http.post(protocol.tokenize.path, body.to_string().into_bytes()).await {
        Ok(response) => response,
        Err(failure) if failure.may_pass() => return Err(failure),
        Err(failure) => return Ok(Err(failure.message())),
    };
    let bytes = http.body(&mut response, LARGEST).await?;
    Ok(match serde_json::from_slice(&bytes) {
        Ok(Tokenized { tokens }) if tokens.is_empty() => Err("it returned no tokens for a text".into()),
        Ok(Tokenized { tokens }) => Ok(tokens),
        Err(_) => Err("its answer has no \"tokens\"".into()),
    })
}

fn other_tokenizer(ours: &[TokenId], theirs: &[TokenId]) -> Error {
    let first = common_prefix(ours, theirs);
    let shown = |ids: &[TokenId]| format!("{:?}", &ids[first.min(ids.len())..ids.len().min(first + 5)]);
    let what = format!(
        "the server has another tokenizer: it splits a text into {} tokens, from token {first} on {}, but the one here into {}, {}",
        theirs.len(),
        shown(theirs),
        ours.len(),
        shown(ours)
    );
    ErrorKind::Engine(what).with_way_out(way_out![
        "name the model that it serves, with ",
        Setting::MODEL,
        " and ",
        Setting::TOKENIZER
    ])
}
