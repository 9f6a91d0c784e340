//! Prompts of rows with as many in-context examples as fit.

use std::ops::Range;
use std::sync::Arc;

use foldhash::HashMap;

use crate::conversation::Conversation;
use crate::dataset::prompter::Task;
use crate::dataset::prompter::task::JoinedExamples;
use crate::dataset::rows::{Row, Value};
use crate::error::Result;
use crate::fewest_dropped::{Left, fewest_dropped};

/// What to build from a row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked<'v> {
    /// A prompt to continue, the answer masked.
    Answer,
    /// A text to score for a label, see [`Task::label_prompt`].
    Label {
        /// The label.
        label: &'v Value,
        /// Whether the separator of context and answer stays in.
        keep_sep_token: bool,
    },
}

/// The rows that examples come from, and the examples that were joined last: the same ones are joined only once.
#[derive(Debug, Clone)]
pub(crate) struct Shots {
    train: Arc<[Row]>,
    joined: HashMap<Vec<i64>, JoinedExamples>,
}

/// At most this many lists of examples are kept: retrievers that choose new examples for each row never repeat a list.
const KEPT: usize = 64;

impl Shots {
    pub(crate) fn new(train: Arc<[Row]>) -> Self {
        Self { train, joined: HashMap::default() }
    }

    pub(crate) fn train(&self) -> &[Row] {
        &self.train
    }

    /// The prompt of a row, or its text to score for a label. Examples are dropped from the end of `ids` until
    /// `excess`, which tells by how many tokens a prompt is too long, returns 0, or until no example is left. For later
    /// labels with the same `ids` they stay dropped, as in the reference.
    ///
    /// # Errors
    /// The same as for [`Task::examples`] and [`Task::prompt`], and the errors of `excess`.
    pub(crate) fn prompt(
        &mut self,
        task: &Task,
        row: &Row,
        ids: &mut Vec<i64>,
        asked: Asked<'_>,
        mut excess: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<Conversation> {
        let mut prompt = self.prompt_with(task, row, ids, asked)?;
        if ids.is_empty() || excess(&prompt)? == 0 {
            return Ok(prompt);
        }
        let dropped = fewest_dropped(ids.len(), 0, 0, |dropped| {
            let left = &ids[..ids.len() - dropped];
            prompt = self.prompt_with(task, row, left, asked)?;
            let tokens = if left.is_empty() { 0 } else { excess(&prompt)? };
            // Whether two are the same is not known.
            Ok(Left { tokens, prompt: dropped as u64 })
        })?;
        ids.truncate(ids.len() - dropped.unwrap_or(ids.len()));
        Ok(prompt)
    }

    /// The prompt of a row with these examples.
    fn prompt_with(&mut self, task: &Task, row: &Row, ids: &[i64], asked: Asked<'_>) -> Result<Conversation> {
        let examples = &self.examples(task, ids)?.joined;
        match asked {
            Asked::Label { label, keep_sep_token } => task.label_prompt(row, examples, label, keep_sep_token),
            Asked::Answer => task.prompt(row, examples),
        }
    }

    /// The messages of each of these examples in the prompt of a row; none if they have no messages of their own there.
    pub(crate) fn messages(&mut self, task: &Task, row: &Row, ids: &[i64]) -> Result<Vec<Range<usize>>> {
        let Some(mut end) = task.template()?.messages_before_examples(row)? else { return Ok(Vec::new()) };
        let ranges = self.examples(task, ids)?.messages.iter().map(|messages| {
            let start = end;
            end += messages;
            start..end
        });
        Ok(ranges.collect())
    }

    fn examples(&mut self, task: &Task, ids: &[i64]) -> Result<&JoinedExamples> {
        if !self.joined.contains_key(ids) {
            let examples = task.joined_examples(ids, &self.train)?;
            if self.joined.len() == KEPT {
                self.joined.clear();
            }
            self.joined.insert(ids.to_vec(), examples);
        }
        Ok(&self.joined[ids])
    }
}
