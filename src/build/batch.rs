//! Builds the prompts of a batch of lines, on one thread.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::answers::ModelAnswers;
use crate::build::notes::Notes;
use crate::build::repeated_ids::LineIds;
use crate::build::writer::{Out, PromptRequest, PromptWriter};
use crate::build::written::Written;
use crate::conversation::Mode;
use crate::dataset::{Examples, Line, MissingColumns, PickedRow, RawRecord, RecordReader, RowPrompter};
use crate::error::{Error, Result, Warning};
use crate::input::{LineBatch, RecordPlace, Rejected, from_json};
use crate::prepared::PreparedDataset;
use crate::sink::{PromptKey, PromptRecord};

/// The result of a batch of lines: prompts, and the errors of lines without one. [`Self::into_result`] returns the first
/// error, and [`BuildTotals::add`](crate::build::BuildTotals::add) all of them.
#[derive(Debug, Default)]
pub struct BuiltBatch {
    pub(super) out: Out,
    /// How many bytes of the input were read for it.
    pub bytes: u64,
    pub(super) written: Written,
    pub(super) input: Option<Arc<str>>,
    pub(super) ids: LineIds,
    pub(super) missing: MissingColumns,
    /// The first warning of each code about a doubtful row.
    pub(super) warnings: Vec<Warning>,
    pub(super) notes: Notes,
    /// With the row that each one is, as it was asked.
    pub(super) rejected: Vec<(PickedRow, Rejected)>,
    pub(super) error: Option<Error>,
}

/// Builds a batch.
pub(super) struct BatchBuilder<'a> {
    /// How lines become prompts, if they are rows.
    pub(super) rows: Option<(&'a PreparedDataset, &'a mut RowPrompter)>,
    pub(super) answers: Option<&'a ModelAnswers>,
    pub(super) writer: PromptWriter<'a>,
    pub(super) reader: RecordReader,
    pub(super) mode: Mode,
    pub(super) max_line_bytes: usize,
    pub(super) stop_at_error: bool,
    pub(super) built: BuiltBatch,
}

impl BuiltBatch {
    pub(super) fn new(missing: MissingColumns) -> Self {
        Self { missing, ..Self::default() }
    }

    /// The batch without errors, or its first error.
    ///
    /// # Errors
    /// Of the first line that is not a valid prompt; of reading after these lines.
    pub fn into_result(mut self) -> Result<Self> {
        let rejected = self.rejected.drain(..).next().map(|(_, rejected)| rejected.into_error());
        rejected.or(self.error.take()).map_or(Ok(self), Err)
    }

    /// The prompts as lines.
    pub fn lines(&self) -> &[u8] {
        &self.out.lines
    }

    /// The prompts of a format that writes all of them to one file, for a [`PromptSpool`](crate::sink::PromptSpool).
    pub fn take_records(&mut self) -> Vec<PromptRecord> {
        std::mem::take(&mut self.out.records)
    }

    /// Whether a line is not a valid prompt, or reading failed.
    pub(super) fn has_error(&self) -> bool {
        self.error.is_some() || !self.rejected.is_empty()
    }
}

impl BatchBuilder<'_> {
    pub(super) fn build(mut self, mut batch: LineBatch) -> BuiltBatch {
        self.built.bytes = batch.size as u64;
        self.built.input = Some(Arc::clone(&batch.input));
        let mut examples = std::mem::take(&mut batch.examples).into_iter();
        for (i, batch_line) in batch.lines.iter().enumerate() {
            let line = &batch_line.record.line;
            let place = batch.place(batch_line);
            let before = (self.built.out.len(), self.built.written.clone());
            let number = batch.first + i as u64;
            // A line that is no row has its examples, too.
            let examples = examples.next().unwrap_or_default();
            let written = batch.raw(batch_line, self.max_line_bytes).and_then(|record| match self.rows {
                None => self.conversation(&record.json()?, number, line, place),
                Some(_) => self.row(record, batch.pick(i), examples, line, place),
            });
            if let Err(error) = written {
                // Of a row with several prompts, all or none.
                self.built.out.truncate(before.0);
                self.built.written = before.1;
                if error.concerns_every_prompt() {
                    self.built.error = Some(place.of_error(error));
                    return self.built;
                }
                let bytes = batch.bytes(batch_line).unwrap_or_default();
                let rejected = Rejected::new(&batch.input, line, bytes.into_owned(), error);
                self.built.rejected.push((batch.pick(i), rejected));
                if self.stop_at_error {
                    return self.built;
                }
            }
        }
        // A reading error is passed on with the batch that it ends, so that all rows before it are kept.
        self.built.error = batch.error;
        self.built
    }

    fn conversation(&mut self, text: &str, number: u64, line: &Line, place: RecordPlace<'_>) -> Result<()> {
        let mut record = self.reader.parse(text)?;
        let (id, tools) = (record.id, record.tools.take());
        let omissions = self.writer.omissions(&record.conversation);
        self.built.notes.see_all(&record, self.reader.keeps_all_keys(), &omissions, self.mode, place);
        if omissions.is_string && !record.is_completion_request && self.mode == Mode::Generate {
            self.built.notes.see_string(place);
        }
        let mut digits = itoa::Buffer::new();
        let id_or_number = id.map_or_else(|| from_json(digits.format(number)), Ok)?;
        // A text to score has no answer.
        let max_out_len = record.max_out_len.filter(|_| self.mode == Mode::Generate);
        let key = PromptKey { max_out_len, ..PromptKey::of(id_or_number) };
        let (conversation, scored) = record.into_conversation(self.mode)?;
        let tools = tools.as_deref();
        self.write(PromptRequest {
            key,
            conversation: &conversation,
            scored: &scored,
            choices: &[],
            examples: &[],
            tools,
        })?;
        self.built.ids.push(id.map(RawValue::get), number, line);
        Ok(())
    }

    fn row(
        &mut self,
        record: RawRecord<'_>,
        pick: PickedRow,
        examples: Examples,
        line: &Line,
        place: RecordPlace<'_>,
    ) -> Result<()> {
        let Some((dataset, prompter)) = &mut self.rows else { return Ok(()) };
        let Some(row) = dataset.row(record, pick)? else { return Ok(()) };
        let key = dataset.kept_columns().key(&row, pick)?;
        self.built.missing.see(&row);
        self.built.notes.see_row(&row, place);
        let warnings = &mut self.built.warnings;
        let told = dataset.warnings(&row, |code| is_new(warnings, code));
        warnings.extend(told.into_iter().map(|warning| place.of_warning(warning)));
        let writer = &mut self.writer;
        if let Some(answers) = self.answers {
            let plan = dataset.plan(&row, examples, prompter, |prompt| writer.tokens(prompt))?;
            tell(warnings, dataset.unasked(plan.leaves_question()), place);
            if let Some(first) = plan.prompt() {
                self.built.notes.see_omissions(&writer.omissions(&first), place);
            }
            let max_out_len = dataset.dataset().max_out_len(&row)?;
            let written = writer.write_turns(&key, plan, &max_out_len, answers, &mut self.built.out)?;
            self.built.written.add(written);
        } else {
            let longest = dataset.longest(&row)?;
            let prompts = dataset.prompts(&row, examples, prompter, |prompt| writer.tokens(prompt))?;
            tell(warnings, dataset.labels_alike(&prompts), place);
            tell(warnings, dataset.unasked(prompts.iter().any(|prompt| prompt.leaves_question)), place);
            for prompt in prompts {
                self.built.notes.see(&prompt.conversation, place);
                self.built.notes.see_omissions(&self.writer.omissions(&prompt.conversation), place);
                let tokens = self.write(PromptRequest::of_row(&key, &prompt))?;
                let written = &mut self.built.written;
                written.waiting += u64::from(prompt.needs_answer);
                written.fewer_examples += u64::from(prompt.examples_left_out > 0);
                written.too_long += u64::from(longest.is_some_and(|longest| tokens > longest as u64));
            }
        }
        self.built.ids.push_row(key.has_id.then(|| key.id.get()), pick, line);
        Ok(())
    }

    /// Writes a prompt, and returns how many tokens it has.
    fn write(&mut self, prompt: PromptRequest<'_>) -> Result<u64> {
        let written = self.writer.write(prompt, &mut self.built.out)?;
        let tokens = written.tokens;
        self.built.written.add(written);
        Ok(tokens)
    }
}

/// Whether there was no warning with this code.
pub(super) fn is_new(warnings: &[Warning], code: &str) -> bool {
    warnings.iter().all(|warning| warning.code() != code)
}

/// Adds the first warning of its code.
fn tell(warnings: &mut Vec<Warning>, warning: Option<Warning>, place: RecordPlace<'_>) {
    let new = warning.filter(|warning| is_new(warnings, warning.code()));
    warnings.extend(new.map(|warning| place.of_warning(warning)));
}

#[cfg(test)]
mod tests {
    use crate::build::{Build, IdsForm, PromptForm};
    use crate::builder::PromptBuilder;
    use crate::input::Input;
    use crate::sink::{Jsonl, Sink};

    #[test]
    fn the_first_error_of_a_batch_ends_a_loop_of_question_marks() {
        let builder = PromptBuilder::demo().expect("the demo");
        let sink = Sink::lines(Jsonl::new(&builder, false));
        let build = Build::new(PromptForm::Ids(Box::new(IdsForm::new(builder, sink))));
        let input = Input::new("lines", &b"\"a\"\n\"b\"\nc\n\"d\"\n"[..]);
        let mut batches = build.batches(vec![input], None).expect("threads start");
        let error = batches.find_map(|batch| batch.into_result().err()).expect("c is no conversation");
        assert_eq!((error.file(), error.line()), (Some("lines"), Some(3)));
    }
}
