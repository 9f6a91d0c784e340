//! The prompts of a row, with as many examples as fit.

use crate::conversation::{Conversation, Mode};
use crate::dataset::{Dataset, Examples, InferencerKind, Retriever, Row, RowPrompt, RowPrompter, TurnPlan};
use crate::error::{At, ErrorKind, Place, Result, Setting, counted, way_out};
use crate::prepared::PreparedDataset;

impl PreparedDataset {
    /// Returns the examples for one row after the other.
    ///
    /// # Errors
    /// If the dataset needs examples and their rows are not specified.
    pub fn retriever(&self) -> Result<Box<dyn Retriever>> {
        let Dataset { task, name, .. } = &*self.dataset;
        let count = task.retriever.count();
        if count > 0 && self.options.train.is_none() {
            let what =
                format!("the dataset needs {} for each row, but their rows are not given", counted(count, "example"));
            let way_out = way_out![
                "choose their file with ",
                Setting::TRAIN,
                ", or use none with ",
                Setting::NUM_FEWSHOT.set_to("0")
            ];
            let error = ErrorKind::Usage(what).with_way_out(way_out);
            return Err(error.at("infer_cfg.retriever").at(Place::file(name)));
        }
        task.retriever.open(&self.train, &task.input_columns).at("infer_cfg.retriever").at(Place::file(name))
    }

    /// Builds prompts from rows; one per thread.
    pub fn prompter(&self) -> RowPrompter {
        self.prompter.clone()
    }

    /// The prompts of a row, with as many of the examples as fit, measured by `tokens`.
    ///
    /// # Errors
    /// The same as for [`RowPrompter::prompts`]; for a row that lacks a column, if that is rejected.
    pub fn prompts(
        &self,
        row: &Row,
        examples: Examples,
        prompter: &mut RowPrompter,
        tokens: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<Vec<RowPrompt>> {
        self.check(row)?;
        let prompts = prompter.prompts(row, self.checked_example_ids(row, examples)?, self.excess(row, tokens)?)?;
        self.check_asked(prompts.iter().any(|prompt| prompt.leaves_question))?;
        Ok(prompts)
    }

    /// The turns of a row, with as many of the examples as fit, measured by `tokens`.
    ///
    /// # Errors
    /// The same as for [`Self::prompts`].
    pub fn plan(
        &self,
        row: &Row,
        examples: Examples,
        prompter: &mut RowPrompter,
        tokens: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<TurnPlan> {
        self.check(row)?;
        let plan = prompter.plan(row, self.checked_example_ids(row, examples)?, self.excess(row, tokens)?)?;
        self.check_asked(plan.leaves_question())?;
        Ok(plan)
    }

    /// By how many tokens a prompt is too long.
    fn excess(
        &self,
        row: &Row,
        mut tokens: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<impl FnMut(&Conversation) -> Result<usize>> {
        let longest = self.longest(row)?;
        Ok(move |prompt: &Conversation| longest.map_or(Ok(0), |longest| Ok(tokens(prompt)?.saturating_sub(longest))))
    }

    /// How many tokens a prompt of a row may have, so that the answer fits after it.
    pub(crate) fn longest(&self, row: &Row) -> Result<Option<usize>> {
        self.options.max_seq_len.map(|longest| Ok(longest.saturating_sub(self.room(row)?))).transpose()
    }

    /// How many tokens must fit after the prompts of a row.
    fn room(&self, row: &Row) -> Result<usize> {
        let kind = self.dataset.inferencer.kind;
        let max_out_len = match kind.mode() {
            Mode::Generate if kind.has_turns() => self.dataset.max_out_len(row)?.longest(),
            Mode::Generate if kind != InferencerKind::Choose => self.dataset.max_out_len(row)?.of_turn(0)?,
            _ => None,
        };
        let max_out_len = max_out_len.map(|max_out_len| usize::try_from(max_out_len).unwrap_or(usize::MAX));
        Ok(max_out_len.or(self.options.max_out_len).unwrap_or_default().max(kind.room()))
    }
}
