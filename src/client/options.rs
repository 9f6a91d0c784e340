//! Options of the connection to a server: its address, how many requests to send, and how long to wait.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use crate::client::address::without_password;

/// Options of the connection to a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Its address, such as `http://127.0.0.1:8000`.
    pub url: String,
    /// Its name for the model. By default the server is asked.
    pub served_model_name: Option<String>,
    /// How many requests to send at a time. By default, as many as the server says that it handles, or else 64.
    pub concurrency: Option<NonZeroUsize>,
    /// How long to wait until the server is ready, and for each of the things that it says of itself then.
    pub ready_timeout: Duration,
    /// How long a server may be silent during an answer, and how long it may turn requests away without any answer in
    /// between before that counts as failures.
    pub idle_timeout: Duration,
    /// How many times a failed request is sent again.
    pub retries: u32,
    /// After this many failures without an answer in between, no more requests are sent.
    pub max_consecutive_errors: u32,
    /// Headers of each request. Values of at least 4 characters are never shown.
    pub headers: Vec<(String, String)>,
    /// Whether to keep the server's events with each answer.
    pub keep_raw: bool,
    /// Called once for each wait of more than a few seconds, and when answers cannot be streamed.
    pub notice: Notice,
}

/// How long something is waited for before that is said.
pub(super) const SILENT: Duration = Duration::from_secs(3);

/// A function that gets a sentence for the user when something takes long, or is not as expected. Other threads call it.
#[derive(Clone)]
pub struct Notice(Arc<dyn Fn(&str) + Send + Sync>);

impl Notice {
    /// Calls this function.
    pub fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(say))
    }

    pub(super) fn say(&self, what: &str) {
        (self.0)(what);
    }
}

impl Default for Notice {
    /// Tells nobody.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl std::fmt::Debug for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notice").finish_non_exhaustive()
    }
}

impl ClientOptions {
    /// The default options for a server at this address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            served_model_name: None,
            concurrency: None,
            ready_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(300),
            retries: 5,
            max_consecutive_errors: 50,
            headers: Vec::new(),
            keep_raw: false,
            notice: Notice::default(),
        }
    }
}

impl std::fmt::Debug for ClientOptions {
    /// Omits the headers and the address's password, which may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { url, concurrency, retries, .. } = self;
        let mut debug = f.debug_struct("ClientOptions");
        debug
            .field("url", &without_password(url))
            .field("concurrency", concurrency)
            .field("retries", retries)
            .finish_non_exhaustive()
    }
}
