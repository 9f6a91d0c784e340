//! How many tokens a prompt and its answer may have.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result, Setting, counted, way_out};
use crate::truncate::truncation::Truncation;

/// How long a prompt may be: the context's tokens without those reserved for the answer.
///
/// ```
/// use metatok::ContextBudget;
/// use metatok::truncate::Truncation;
///
/// let budget = ContextBudget::new(8192, 1024).truncation(Truncation::OldestTurns);
/// let json = r#"{"max_seq_len":8192,"max_out_len":1024,"truncation":"oldest-turns"}"#;
/// assert_eq!(serde_json::to_string(&budget)?, json);
/// assert_eq!(serde_json::from_str::<ContextBudget>(json)?, budget);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextBudget {
    /// The model's context, in tokens.
    pub max_seq_len: usize,
    /// How many of them are reserved for the answer.
    #[serde(default)]
    pub max_out_len: usize,
    /// What is dropped if that is not enough.
    #[serde(default)]
    pub truncation: Truncation,
}

impl ContextBudget {
    /// A context of `max_seq_len` tokens, of which `max_out_len` are reserved for the answer. Longer prompts are rejected.
    pub fn new(max_seq_len: usize, max_out_len: usize) -> Self {
        Self { max_seq_len, max_out_len, truncation: Truncation::Refuse }
    }

    /// Sets what is dropped if a prompt is too long.
    #[must_use]
    pub fn truncation(self, truncation: Truncation) -> Self {
        Self { truncation, ..self }
    }

    /// Reserves this many tokens for the answer, if given.
    #[must_use]
    pub fn of_answer(self, max_out_len: Option<u64>) -> Self {
        let said = max_out_len.map(|said| usize::try_from(said).unwrap_or(usize::MAX));
        Self { max_out_len: said.unwrap_or(self.max_out_len), ..self }
    }

    /// Rejects an answer that takes the whole context.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with both lengths.
    pub fn check_room(&self) -> Result<()> {
        if self.limit() > 0 {
            return Ok(());
        }
        let Self { max_seq_len, max_out_len, .. } = *self;
        if max_out_len == 0 {
            let what = format!("a context of {} has no room for a prompt", counted(max_seq_len, "token"));
            return Err(ErrorKind::Usage(what).into());
        }
        let what = format!(
            "an answer of up to {} leaves no room for a prompt in a context of {max_seq_len}",
            counted(max_out_len, "token")
        );
        Err(ErrorKind::Usage(what).with_way_out(way_out!["lower ", Setting::MAX_OUT_LEN]))
    }

    /// How many tokens a prompt may have.
    pub(super) fn limit(&self) -> usize {
        self.max_seq_len.saturating_sub(self.max_out_len)
    }

    pub(super) fn too_long(&self, tokens: usize) -> Error {
        let Self { max_seq_len, max_out_len, truncation } = *self;
        let kind = ErrorKind::TooLong { tokens, max_seq_len, max_out_len };
        match truncation {
            Truncation::Refuse => kind.into(),
            _ => kind
                .with_way_out(way_out![Setting::TRUNCATE, " cannot drop more of it: shorten it, or allow more tokens"]),
        }
    }

    /// Rejects a prompt with too many tokens.
    pub(crate) fn check(&self, tokens: usize) -> Result<()> {
        if tokens <= self.limit() { Ok(()) } else { Err(self.too_long(tokens)) }
    }
}
