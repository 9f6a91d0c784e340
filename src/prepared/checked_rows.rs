//! Rows for a checker: their prompts, filled in both ways.

use std::ops::ControlFlow;

use crate::check::Checker;
use crate::error::Result;
use crate::input::{Holds, Input, each_record};
use crate::prepared::PreparedDataset;

impl PreparedDataset {
    /// Shows the dataset and its rows, up to this many, to a checker, and returns how many there were. Their prompts have
    /// any length.
    ///
    /// ```
    /// use metatok::input::Input;
    /// use metatok::prepared::{DatasetOptions, PreparedDataset};
    /// use metatok::{BuilderOptions, Checker, Dataset, Model, Tokenizer};
    ///
    /// let file = br#"infer_cfg = { prompt_template = { template = "Q: {q}" } }"#;
    /// let dataset = PreparedDataset::new(Dataset::parse("d.toml", file)?, &DatasetOptions::default())?;
    /// let mut checker = Checker::new(&Model::default(), Tokenizer::demo()?, &BuilderOptions::default())?;
    /// let rows = vec![Input::new("rows", &br#"{"question": "1+1=?"}"#[..])];
    /// assert_eq!(dataset.check_rows(rows, None, &mut checker)?, 1);
    /// let findings = checker.finish()?;
    /// assert!(findings.iter().any(|finding| finding.code == "no-such-column"));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of reading the rows and their examples, with their place. What is wrong with a prompt is a finding.
    pub fn check_rows(&self, inputs: Vec<Input>, limit: Option<usize>, checker: &mut Checker) -> Result<usize> {
        let (single_pass, limit) = (self.single_pass(), limit.unwrap_or(usize::MAX));
        let (mut prompter, mut other) = (self.prompter(), single_pass.prompter());
        let mut retriever = self.retriever()?;
        checker.see_dataset(self.dataset(), self.train());
        let mut rows = 0;
        each_record(inputs, Holds::Rows, self.options.max_line_bytes, |place, record| {
            let row = record.and_then(|record| self.dataset.row_of(record)).map_err(|error| place.of_error(error))?;
            let examples = retriever.retrieve(rows).and_then(|examples| self.example_ids(&row, examples));
            let examples = examples.map_err(|error| place.of_error(error))?;
            let prompts = self.prompts(&row, examples.clone().into(), &mut prompter, |_| Ok(0));
            let filled_once = single_pass.prompts(&row, examples.into(), &mut other, |_| Ok(0));
            checker.see_row(&row, prompts, filled_once, &place.to_string());
            rows += 1;
            Ok(if rows < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(rows)
    }
}
