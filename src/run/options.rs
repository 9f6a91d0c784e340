//! The options of a run.

use std::num::NonZeroUsize;

use crate::dataset::InputFormat;
use crate::engine::Sampling;
use crate::error::{Result, Setting};
use crate::input::DEFAULT_MAX_LINE_BYTES;
use crate::sink::{DEFAULT_MAX_OUT_LEN, RequestOptions};
use crate::truncate::{ContextBudget, Truncation};

/// How long prompts and answers may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    of_prompt: ContextBudget,
    /// The budget of a turn after the model's own answers, which is never shortened.
    of_turn: ContextBudget,
    /// How many tokens an answer may have if its row has no limit.
    pub(super) usual: usize,
    /// How many tokens of the context a prompt must leave, however short its answer may be.
    reserved: usize,
}

impl Room {
    /// The budget of a prompt whose row says how many tokens its answer may have.
    pub(super) fn of_prompt(&self, max_out_len: Option<u64>) -> ContextBudget {
        self.of_prompt.of_answer(self.at_least_reserved(max_out_len))
    }

    fn at_least_reserved(&self, max_out_len: Option<u64>) -> Option<u64> {
        max_out_len.map(|said| said.max(self.reserved as u64))
    }

    /// How many tokens a prompt and its answer may have together.
    pub(super) fn max_seq_len(&self) -> usize {
        self.of_prompt.max_seq_len
    }

    /// The budget of a turn after the model's own answers.
    pub(super) fn of_turn(&self, max_out_len: Option<u64>) -> ContextBudget {
        self.of_turn.of_answer(self.at_least_reserved(max_out_len))
    }
}

/// How the lines of a run are answered. By default greedily and one by one, in all of the model's context.
///
/// ```
/// use metatok::run::RunOptions;
///
/// let options = RunOptions { max_seq_len: Some(300), ..RunOptions::default() };
/// let error = options.check().expect_err("an answer may have 512 tokens by default");
/// assert_eq!(
///     error.to_string(),
///     "an answer of up to 512 tokens leaves no room for a prompt in a context of 300; lower `max_out_len`"
/// );
/// ```
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How tokens are drawn by an engine in this process. A server samples as `request` says.
    pub sampling: Sampling,
    /// The context, in tokens, if not what the engine or the server has.
    pub max_seq_len: Option<usize>,
    /// How many tokens an answer may have if its row has no limit.
    pub max_out_len: Option<usize>,
    /// What is dropped if a prompt is too long. If no length is given, a prompt is shortened until an answer of 512 tokens
    /// fits, or one of half the context if that is less.
    pub truncation: Truncation,
    /// How many lines of the input are answered; by default all.
    pub limit: Option<usize>,
    /// The format of conversations.
    pub input_format: InputFormat,
    /// How long a line may be, in bytes.
    pub max_line_bytes: usize,
    /// How many lines are answered side by side by an engine in this process.
    pub batch_size: NonZeroUsize,
    /// Whether the first bad line ends the run; otherwise each is rejected.
    pub stop_at_error: bool,
    /// Whether a model's thoughts are removed from its answers in later turns.
    pub strip_thoughts: bool,
    /// What a server is asked for in each request. It wins over what the row says.
    pub request: RequestOptions,
    /// How settings are named in errors that are recorded instead of answers.
    pub setting_name: fn(&Setting) -> String,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            sampling: Sampling::default(),
            max_seq_len: None,
            max_out_len: None,
            truncation: Truncation::default(),
            limit: None,
            input_format: InputFormat::Auto,
            max_line_bytes: DEFAULT_MAX_LINE_BYTES,
            batch_size: NonZeroUsize::MIN,
            stop_at_error: true,
            strip_thoughts: false,
            request: RequestOptions::default(),
            setting_name: Setting::to_string,
        }
    }
}

impl RunOptions {
    /// Rejects values that no run can have.
    ///
    /// # Errors
    /// The same as for [`Sampling::check`] and [`ContextBudget::check_room`].
    pub fn check(&self) -> Result<()> {
        self.sampling.check()?;
        match self.max_seq_len {
            Some(max_seq_len) => ContextBudget::new(max_seq_len, self.max_out_len()).check_room(),
            None => Ok(()),
        }
    }

    /// How many tokens an answer may have if its row has no limit.
    pub fn max_out_len(&self) -> usize {
        self.max_out_len.unwrap_or(DEFAULT_MAX_OUT_LEN)
    }

    /// How long prompts may be if the model's context has this many tokens, of which they must leave some. If no length is
    /// given, an answer takes what its prompt leaves; but a prompt that is shortened leaves room for one.
    pub(super) fn room(&self, of_model: Option<usize>, least: usize) -> Room {
        // What is more than the model has limits nothing.
        let given = self.max_seq_len.filter(|given| of_model.is_none_or(|of_model| *given <= of_model));
        let is_given = given.is_some() || self.max_out_len.is_some();
        let max_seq_len = given.or(of_model).unwrap_or(usize::MAX);
        // A shorter context than the model's has room for what it must leave.
        let least = least.saturating_sub(of_model.map_or(0, |of_model| of_model.saturating_sub(max_seq_len)));
        let usual = self.max_out_len();
        let reserved = if is_given { usual.max(least) } else { least };
        let to_keep = if self.truncation == Truncation::Refuse { 0 } else { usual.min(max_seq_len / 2) };
        let budget = |max_out_len| ContextBudget { max_seq_len, max_out_len, truncation: self.truncation };
        Room { of_prompt: budget(reserved.max(to_keep)), of_turn: budget(reserved), usual, reserved: least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_leaves_what_its_server_needs() {
        // The options, what a server's prompts must leave of its 2,048 tokens, a row's limit, and what the prompt leaves.
        let of = |max_seq_len, max_out_len| RunOptions { max_seq_len, max_out_len, ..RunOptions::default() };
        let table = [
            (of(None, None), 0, None, 0),
            (of(None, None), 1, None, 1),
            (of(None, Some(1)), 7, None, 7),
            (of(None, Some(300)), 7, None, 300),
            (of(None, None), 7, Some(2), 7),
            (of(None, None), 7, Some(30), 30),
            (of(Some(2_045), Some(1)), 7, None, 4),
            (of(Some(100), Some(1)), 7, None, 1),
            (of(Some(5_000), None), 7, None, 7),
            (of(Some(5_000), Some(30)), 7, None, 30),
        ];
        for (options, least, said, left) in table {
            let room = options.room(Some(2_048), least);
            let of_both = [room.of_prompt(said), room.of_turn(said)].map(|budget| budget.max_out_len);
            assert_eq!(of_both, [left; 2], "{least}, {said:?}");
        }
    }
}
