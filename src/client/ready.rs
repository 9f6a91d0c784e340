//! Checks before the first request: whether the server is up, what it serves, and whether it has the model's tokenizer.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::builder::PromptBuilder;
use crate::client::failure::Failure;
use crate::client::http::Http;
use crate::error::{Error, ErrorKind, Result, Setting, Warning};
use crate::server::{Protocol, Served};
use crate::tokenizer::TokenId;

/// The results of the checks before the first request.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerNotes {
    /// The server's description of itself.
    pub served: Served,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// A text that tokenizers split differently: words, numbers, code, other scripts, a character of several code points.
const SAMPLE: &str = "The quick brown fox, 1234.5 times:\n\tif x != 0 { return \"Grüße\"; } — 你好，мир! 👩‍🚀";

/// The most bytes of what a server says of itself.
const LARGEST: usize = 1 << 24;

/// Waits until the server is up.
///
/// # Errors
/// [`ErrorKind::Engine`] with the server's last message.
pub(super) async fn wait(http: &Http, protocol: &Protocol, patience: Duration) -> Result<()> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(100);
    loop {
        let left = patience.saturating_sub(started.elapsed());
        let looked = timeout(left.max(pause), http.get(protocol.health)).await;
        let failure = match looked.unwrap_or_else(|_| Err(Failure::Broken("the server does not answer".into()))) {
            Ok(_) => return Ok(()),
            // A server without such a path is up.
            Err(Failure::Refused { status: 404 | 405, .. }) => return Ok(()),
            Err(Failure::Refused { message, .. }) => return Err(not_ready(http, &message)),
            Err(failure) => failure.message(),
        };
        if started.elapsed() + pause > patience {
            let what = format!("{failure}; waited {} seconds", patience.as_secs());
            return Err(not_ready(http, &what));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

fn not_ready(http: &Http, what: &str) -> Error {
    Error::from(ErrorKind::Engine(format!("the server is not ready: {what}"))).at(http.address())
}

/// The server's description of itself, if it has one.
pub(super) async fn describe(http: &Http, protocol: &Protocol) -> Served {
    let mut served = Served::default();
    for (path, read) in protocol.descriptions {
        let Ok(mut response) = http.get(path).await else { continue };
        if let Ok(description) = http.body(&mut response, LARGEST).await
            && let Ok(description) = serde_json::from_slice::<Value>(&description)
        {
            read(&description, &mut served);
        }
    }
    served
}

/// Has the server tokenize a text, and compares the ids: with another tokenizer, ids mean something else.
///
/// # Errors
/// [`ErrorKind::Engine`] with both, if they differ.
pub(super) async fn compare(
    http: &Http,
    protocol: &Protocol,
    builder: &PromptBuilder,
    served: &Served,
) -> Result<Option<Warning>> {
    #[derive(Deserialize)]
    struct Tokenized {
        tokens: Vec<TokenId>,
    }

    if let (Some(theirs), ours) = (served.vocab_size, builder.tokenizer().vocab_size())
        && theirs < ours
    {
        let what =
            format!("the server's model has {theirs} ids, but the tokenizer here has {ours}: it is not the same model");
        return Err(Error::from(ErrorKind::Engine(what)).at(http.address()));
    }
    let body = (protocol.tokenize.body)(SAMPLE, served.model.as_deref());
    let not_compared = |why: &str| {
        let what = format!("the tokenizer of {} was not compared with the one here: {why}", http.address());
        Ok(Some(Warning::new("tokenizer-not-compared", what)))
    };
    let mut response = match http.post(protocol.tokenize.path, body.to_string().into_bytes()).await {
        Ok(response) => response,
        Err(failure) => return not_compared(&failure.message()),
    };
    let bytes = http.body(&mut response, LARGEST).await.unwrap_or_default();
    let Ok(Tokenized { tokens: theirs }) = serde_json::from_slice(&bytes) else {
        return not_compared("its answer has no \"tokens\"");
    };
    if theirs.is_empty() {
        return not_compared("it returned no tokens for a text");
    }
    let ours = builder.tokenizer().encode(SAMPLE)?;
    if ours == theirs {
        return Ok(None);
    }
    let first = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
    let shown = |ids: &[TokenId]| format!("{:?}", &ids[first.min(ids.len())..ids.len().min(first + 5)]);
    let what = format!(
        "the server has another tokenizer: it splits a text into {} tokens, from token {first} on {}, but the one here into {}, {}",
        theirs.len(),
        shown(&theirs),
        ours.len(),
        shown(&ours)
    );
    let error = ErrorKind::Engine(what).with_way_out(crate::error::way_out![
        "name the model that it serves, with ",
        Setting::MODEL,
        " and ",
        Setting::TOKENIZER
    ]);
    Err(error.at(http.address()))
}
