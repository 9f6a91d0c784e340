//! Requests to an inference server over HTTP, many at a time: retried where that helps, held back while the server is
//! down.
//!
//! [`Client::connect`] waits until the server is ready and looks whether its tokens are those of the model here;
//! [`Runner::over_http`](crate::run::Runner::over_http) answers lines with it.

mod address;
mod attempt;
mod failure;
mod gate;
mod http;
mod message;
mod options;
mod outage;
mod pace;
mod ready;
mod requests;
mod retry_after;
mod sse;
mod streamed;

pub(crate) use failure::FailedRequest;
pub use options::{ClientOptions, Notice};
pub use ready::ServerNotes;
pub use requests::Client;
pub(crate) use requests::{Bodies, ClientRequest, Finished, Outcome};
pub(crate) use streamed::StreamedAnswer;
