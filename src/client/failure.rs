//! Why a request has no answer, and whether sending it again may help.

use std::time::Duration;

/// How often a request waits for a server that is unavailable but does not say for how long, which takes about a minute.
/// Some servers answer so to a request that they never take.
const MOST_WAITS: u32 = 8;

/// Why an attempt has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server does not accept connections.
    Down(String),
    /// The connection closed before anything arrived. Servers close connections that were idle or used often, even if a
    /// request is on its way.
    Closed(String),
    /// The connection broke, or the response is not an answer.
    Broken(String),
    /// A stream lacks ids that an answer in one piece has.
    OmittedIds,
    /// The server answers that it cannot do it, or not now: 408, 429, or 500 and above.
    Unavailable { status: u16, retry_after: Option<Duration>, message: String },
    /// No request to this address can succeed.
    Unusable(String),
    /// The server rejects the request, and would again. There is no status if it says so within an answer without one.
    Refused { status: Option<u16>, message: String },
}

impl Failure {
    /// Whether the server wants this request later, which has waited this often. That says nothing against the request.
    pub(super) fn asks_to_wait(&self, waits: u32) -> bool {
        match self {
            Self::Unavailable { status: 429, .. } | Self::Unavailable { status: 503, retry_after: Some(_), .. } => true,
            Self::Unavailable { status: 503, .. } => waits < MOST_WAITS,
            _ => false,
        }
    }

    /// Whether the same request may be answered later. A server that lacks what is asked of it has not.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unavailable { status, .. } => *status != 501,
            Self::Down(_) | Self::Closed(_) | Self::Broken(_) => true,
            Self::OmittedIds | Self::Unusable(_) | Self::Refused { .. } => false,
        }
    }

    /// How long the server asks to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        if let Self::Unavailable { retry_after, .. } = self { *retry_after } else { None }
    }

    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Unavailable { status, .. } => Some(*status),
            Self::Refused { status, .. } => *status,
            Self::Down(_) | Self::Closed(_) | Self::Broken(_) | Self::OmittedIds | Self::Unusable(_) => None,
        }
    }

    pub(super) fn message(self) -> String {
        match self {
            Self::Down(message) | Self::Closed(message) | Self::Broken(message) | Self::Unusable(message) => message,
            Self::OmittedIds => "the stream lacks ids".into(),
            Self::Unavailable { message, .. } | Self::Refused { message, .. } => message,
        }
    }
}

/// A request without an answer after all attempts.
#[derive(Debug)]
pub(crate) struct FailedRequest {
    /// The server's message, or what happened to the connection.
    pub(crate) error: String,
    /// The status of its last answer.
    pub(crate) status: Option<u16>,
    /// How many times it was sent.
    pub(crate) attempts: u32,
}
