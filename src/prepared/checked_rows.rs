//! Rows for a checker: their prompts, filled in both ways.

use foldhash::HashSet;

use crate::check::Checker;
use crate::dataset::PickedRow;
use crate::error::Result;
use crate::input::Input;
use crate::prepared::{PreparedDataset, line_batches};

impl PreparedDataset {
    /// Runs a checker over the dataset and up to `limit` of the rows that it asks, without repeats, and returns how many
    /// there were. Their prompts have any length.
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
        let longest = self.options.max_line_bytes;
        let mut next = line_batches(Some(self), inputs, longest, None)?;
        checker.see_dataset(self.dataset(), self.train());
        let (mut rows, mut repeated) = (0, HashSet::default());
        while rows < limit
            && let Some(mut batch) = next()
        {
            let all = std::mem::take(&mut batch.examples);
            for (i, (line, examples)) in batch.lines.iter().zip(all).enumerate() {
                let PickedRow { row: number, repeat, .. } = batch.pick(i);
                if repeat.is_some() && !repeated.insert(number) {
                    continue;
                }
                let place = batch.place(line);
                let row = batch.raw(line, longest).and_then(|record| self.dataset.row_of(record));
                let row = row.map_err(|error| place.of_error(error))?;
                let examples = self.example_ids(&row, examples).map_err(|error| place.of_error(error))?;
                let prompts = self.prompts(&row, examples.clone().into(), &mut prompter, |_| Ok(0));
                let filled_once = single_pass.prompts(&row, examples.into(), &mut other, |_| Ok(0));
                checker.see_row(&row, prompts, filled_once, &place.to_string());
                rows += 1;
                if rows == limit {
                    return Ok(rows);
                }
            }
            batch.error.map_or(Ok(()), Err)?;
        }
        Ok(rows)
    }
}
