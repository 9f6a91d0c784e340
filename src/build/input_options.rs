//! What prompts depend on besides the builder: their dataset, the answers to earlier turns, the format of the input, and how long they may be.

use crate::answers::ModelAnswers;
use crate::dataset::InputFormat;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::prepared::PreparedDataset;
use crate::truncate::{ContextBudget, Truncation};

/// What prompts depend on besides the builder.
///
/// ```
/// use metatok::build::InputOptions;
/// use metatok::truncate::Truncation;
/// use metatok::{BuilderOptions, Fingerprint, Model, Tokenizer};
///
/// let options = InputOptions { max_seq_len: Some(8192), max_out_len: Some(512), ..InputOptions::default() };
/// let budget = options.budget().expect("conversations have one");
/// assert_eq!((budget.max_seq_len, budget.max_out_len, budget.truncation), (8192, 512, Truncation::Refuse));
///
/// let builder = Fingerprint::new(&Model::load("demo")?, &Tokenizer::demo()?, &BuilderOptions::default());
/// // A prompt that is refused is not written, so the limit changes no prompt.
/// assert_eq!(options.fingerprint(builder.clone())?, builder);
/// let truncation = Some(Truncation::OldestTurns);
/// let shortened = InputOptions { truncation, ..options }.fingerprint(builder)?;
/// assert_eq!(shortened.options["max_seq_len"], 8192);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct InputOptions<'d> {
    /// The dataset, if the input is rows.
    pub dataset: Option<&'d PreparedDataset>,
    /// The model's answers to earlier turns of rows.
    pub answers: Option<&'d ModelAnswers>,
    /// The format of conversations.
    pub input_format: InputFormat,
    /// The model's context, in tokens.
    pub max_seq_len: Option<usize>,
    /// How many of them an answer may have if its row has no limit.
    pub max_out_len: Option<usize>,
    /// What is dropped if a prompt is too long. By default, conversations are refused, and rows lose examples.
    pub truncation: Option<Truncation>,
}

impl InputOptions<'_> {
    /// Rejects an answer that takes the whole context.
    ///
    /// # Errors
    /// The same as for [`ContextBudget::check_room`].
    pub fn check(&self) -> Result<()> {
        match (self.max_seq_len, self.max_out_len) {
            (Some(max_seq_len), Some(max_out_len)) => ContextBudget::new(max_seq_len, max_out_len).check_room(),
            _ => Ok(()),
        }
    }

    /// How long prompts may be; none if any length is allowed. By default, rows that lose examples may still be too
    /// long, as in OpenCompass.
    pub fn budget(&self) -> Option<ContextBudget> {
        let max_seq_len = self.max_seq_len?;
        if self.truncation.is_none() && self.dataset.is_some() {
            return None;
        }
        let (max_out_len, truncation) = (self.max_out_len.unwrap_or_default(), self.truncation.unwrap_or_default());
        Some(ContextBudget { max_seq_len, max_out_len, truncation })
    }

    /// The fingerprint of a builder, with everything here that affects prompts.
    ///
    /// # Errors
    /// The same as for [`PreparedDataset::fingerprint`].
    pub fn fingerprint(&self, builder: Fingerprint) -> Result<Fingerprint> {
        let mut fingerprint = match self.dataset {
            Some(dataset) => dataset.fingerprint(builder)?,
            None => builder,
        };
        if let Some(answers) = self.answers {
            fingerprint = answers.fingerprint(fingerprint);
        }
        // A conversation that is too long is rejected unless something may be dropped.
        let truncation = self.truncation.filter(|what| self.dataset.is_some() || *what != Truncation::Refuse);
        if let Some(truncation) = truncation {
            fingerprint = fingerprint.with("truncate", serde_json::json!(truncation));
        }
        if let Some(max_seq_len) = self.max_seq_len.filter(|_| self.dataset.is_some() || truncation.is_some()) {
            fingerprint = fingerprint.with("max_seq_len", max_seq_len);
            if let Some(max_out_len) = self.max_out_len {
                fingerprint = fingerprint.with("max_out_len", max_out_len);
            }
        }
        if self.input_format != InputFormat::Auto {
            fingerprint = fingerprint.with("input_format", self.input_format.to_string());
        }
        Ok(fingerprint)
    }
}
