//! The servers that answer requests over HTTP, by name. A new one is a `const PROTOCOL` in its file, and a line in
//! [`PROTOCOLS`].

use crate::error::{Result, by_name};
use crate::server::{Protocol, dynamo, llama_cpp, lmdeploy, openai, sglang, vllm};

/// All servers.
pub static PROTOCOLS: &[Protocol] =
    &[vllm::PROTOCOL, sglang::PROTOCOL, llama_cpp::PROTOCOL, lmdeploy::PROTOCOL, dynamo::PROTOCOL, openai::PROTOCOL];

impl Protocol {
    /// The server of this name.
    ///
    /// ```
    /// use metatok::server::Protocol;
    ///
    /// assert_eq!(Protocol::find("sglang")?.path, "/generate");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::UnknownName`] lists the known servers.
    pub fn find(name: &str) -> Result<&'static Self> {
        by_name("server", name, PROTOCOLS.iter().map(|protocol| (protocol.name, protocol)))
    }
}
