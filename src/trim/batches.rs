//! Trims the lines of inputs on all cores, in their order.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::input::{Input, LineBatch, Rejected, objects};
use crate::pipeline;
use crate::trim::{AnswerTrimmer, TrimTotals};

/// The trimmed answers of a batch of lines.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TrimmedBatch {
    /// The answers, a line of JSON each.
    pub lines: Vec<u8>,
    /// How many there are, and what was found in them.
    pub totals: TrimTotals,
    /// The lines that are no answers. If the first one stops the trimmer, nothing of the lines after it is kept.
    pub rejected: Vec<Rejected>,
    /// Reading failed after them.
    pub error: Option<Error>,
}

impl AnswerTrimmer {
    /// Trims all lines of the inputs, in batches, the last of which may end with an error. The threads, one per core by
    /// default and at most, end when the batches are dropped.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use metatok::PromptBuilder;
    /// use metatok::input::Input;
    /// use metatok::trim::{AnswerTrimmer, TrimOptions};
    ///
    /// let trimmer = Arc::new(AnswerTrimmer::new(&PromptBuilder::demo()?, TrimOptions::default())?);
    /// let input = Input::new("memory", &br#"{"text": "Paris.<|im_end|>"}"#[..]);
    /// let batches: Vec<_> = trimmer.batches(vec![input], 1 << 20, None)?.collect();
    /// assert!(batches[0].lines.starts_with(br#"{"text":"Paris.","finish_reason":"stop""#));
    /// assert_eq!(batches[0].totals.stopped, 1);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the system starts no thread. Errors of a line, or of reading, come with the batch.
    pub fn batches(
        self: Arc<Self>,
        inputs: Vec<Input>,
        max_line_bytes: usize,
        threads: Option<NonZeroUsize>,
    ) -> Result<impl Iterator<Item = TrimmedBatch> + use<>> {
        let stops = self.stops_at_error;
        let batches = pipeline::ordered(pipeline::threads(threads), objects(inputs, max_line_bytes), move || {
            let trimmer = Arc::clone(&self);
            Box::new(move |batch| trimmer.trim_batch(batch, max_line_bytes))
        })?;
        Ok(pipeline::up_to(batches, move |batch: &TrimmedBatch| {
            batch.error.is_some() || stops && !batch.rejected.is_empty()
        }))
    }

    fn trim_batch(&self, mut batch: LineBatch, longest: usize) -> TrimmedBatch {
        let mut trimmed = TrimmedBatch::default();
        for line in &batch.lines {
            let record = batch.raw(line, longest).and_then(|record| record.json_line());
            if let Err(error) = record.and_then(|json| self.trim_into(&json, &mut trimmed)) {
                let bytes = batch.bytes(line).unwrap_or_default().into_owned();
                trimmed.rejected.push(Rejected::new(&batch.input, &line.record.line, bytes, error));
                if self.stops_at_error {
                    return trimmed;
                }
            }
        }
        trimmed.error = batch.error.take();
        trimmed
    }

    fn trim_into(&self, json: &str, trimmed: &mut TrimmedBatch) -> Result<()> {
        for answer in &self.trim(json)? {
            trimmed.totals.add(answer);
            serde_json::to_writer(&mut trimmed.lines, answer)
                .expect("answers are JSON, and writing to memory cannot fail");
            trimmed.lines.push(b'\n');
        }
        Ok(())
    }
}
