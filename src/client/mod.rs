//! Requests to an inference server over HTTP, many at a time: retried where that helps, held back while the server is
//! down.
//!
//! [`Client::connect`] waits until the server is ready and looks whether its tokens are those of the model here;
//! [`Runner::over_http`](crate::run::Runner::over_http) answers lines with it.

mod attempt;
mod failure;
mod gate;
mod http;
mod message;
mod options;
mod ready;
mod requests;
mod sse;
mod streamed;

pub use failure::FailedRequest;
pub use options::ClientOptions;
pub use ready::ServerNotes;
pub use requests::Client;
pub(crate) use requests::{Ask, Bodies, Finished, Outcome};
pub(crate) use streamed::StreamedAnswer;
