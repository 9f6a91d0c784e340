//! How a server is reached, and how patiently.

use std::num::NonZeroUsize;
use std::time::Duration;

/// How a server is reached, and how patiently.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Where it listens, such as `http://127.0.0.1:8000`.
    pub url: String,
    /// Its name for the model; asked of the server where nobody says.
    pub served_model_name: Option<String>,
    /// How many requests are under way at a time; as many as the server says that it answers, or 64.
    pub concurrency: Option<NonZeroUsize>,
    /// How long to wait until the server is ready.
    pub ready_timeout: Duration,
    /// How long a server may send nothing of an answer.
    pub idle_timeout: Duration,
    /// How often a request that failed is sent again.
    pub retries: u32,
    /// After so many failures without an answer in between the server is given up.
    pub max_consecutive_errors: u32,
    /// Headers of each request, which are never shown.
    pub headers: Vec<(String, String)>,
    /// Whether what the server sent is kept beside each answer.
    pub keep_raw: bool,
}

impl ClientOptions {
    /// For a server at this address.
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
        }
    }
}

impl std::fmt::Debug for ClientOptions {
    /// Without the headers, which may hold keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { url, concurrency, retries, .. } = self;
        let mut debug = f.debug_struct("ClientOptions");
        debug.field("url", url).field("concurrency", concurrency).field("retries", retries).finish_non_exhaustive()
    }
}
