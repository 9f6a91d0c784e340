//! Whether content may write control tokens.

use crate::error::{Error, Result, by_name};

/// Whether content is data, or may write control tokens like the template.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentTrust {
    /// Content never produces a reserved token: `<|im_end|>` in a question is text.
    #[default]
    Data,
    /// Content is read like the template, as in every reference system.
    Trusted,
}

impl std::str::FromStr for ContentTrust {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        by_name("content trust", name, [("data", Self::Data), ("trusted", Self::Trusted)])
    }
}
