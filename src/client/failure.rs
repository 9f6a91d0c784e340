//! Why a request has no answer, and whether sending it again may help.

use std::time::Duration;

/// Why an attempt has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server takes no connection.
    Down(String),
    /// The connection was closed before anything came back. Servers close connections that were idle, or used often, whether
    /// a request is on its way or not.
    Closed(String),
    /// The connection broke, or what came is no answer.
    Broken(String),
    /// The server asks to come again.
    Busy { status: u16, retry_after: Option<Duration>, message: String },
    /// The server refuses the request, and will again.
    Refused { status: u16, message: String },
}

impl Failure {
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Busy { status, .. } | Self::Refused { status, .. } => Some(*status),
            Self::Down(_) | Self::Closed(_) | Self::Broken(_) => None,
        }
    }

    pub(super) fn message(self) -> String {
        match self {
            Self::Down(message) | Self::Closed(message) | Self::Broken(message) => message,
            Self::Busy { message, .. } | Self::Refused { message, .. } => message,
        }
    }
}

/// A request that has no answer, after all attempts.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct FailedRequest {
    /// What the server said, or what became of the connection.
    pub error: String,
    /// The status of its last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How often it was sent.
    pub attempts: u32,
}
