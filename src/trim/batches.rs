//! Trims the lines of inputs on all cores, in their order.

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::de::IgnoredAny;

use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::input::{BatchLine, Batches, Input, LineBatch, Rejected, objects};
use crate::pipeline;
use crate::server::{RequestRecord, SeenSamples, without_infinities};
use crate::trim::requests::{Requests, WAY_OUT};
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
    /// The error that ended reading after these lines, if any.
    pub error: Option<Error>,
}

impl AnswerTrimmer {
    /// Trims all lines of the inputs, in batches, the last of which may end with an error. The threads, one per core by
    /// default and at most, end when the batches are dropped.
    ///
    /// If there are `requests`, one for each line and in the same order, the answers get their ids and columns: not every
    /// server repeats them.
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
    /// let requests = Input::new("requests", &br#"{"id": 7, "prompt": [1]}"#[..]);
    /// let batches: Vec<_> = trimmer.batches(vec![input], Some(requests), 1 << 20, None)?.collect();
    /// assert!(batches[0].lines.starts_with(br#"{"id":7,"text":"Paris.","finish_reason":"stop""#));
    /// assert_eq!(batches[0].totals.stopped, 1);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the system starts no thread. Errors of a line, or of reading, come with the batch.
    pub fn batches(
        self: Arc<Self>,
        inputs: Vec<Input>,
        requests: Option<Input>,
        max_line_bytes: usize,
        threads: Option<NonZeroUsize>,
    ) -> Result<impl Iterator<Item = TrimmedBatch> + use<>> {
        let stops = self.stops_at_error;
        let requests = requests.map(|input| Requests::new(input, max_line_bytes));
        let names = inputs.iter().map(|input| input.name().to_owned()).collect();
        let lines = not_empty(names, with_requests(not_repeated(objects(inputs, max_line_bytes)), requests));
        let batches = pipeline::ordered(pipeline::threads(threads), lines, move || {
            let trimmer = Arc::clone(&self);
            Box::new(move |batch| match batch {
                Ok(AnswerBatch { lines, asked }) => trimmer.trim_batch(lines, asked.as_deref(), max_line_bytes),
                Err(error) => TrimmedBatch { error: Some(error), ..TrimmedBatch::default() },
            })
        })?;
        Ok(pipeline::up_to(batches, move |batch: &TrimmedBatch| {
            batch.error.is_some() || stops && !batch.rejected.is_empty()
        }))
    }

    /// If there are requests, `asked` has one for each line.
    fn trim_batch(&self, mut batch: LineBatch, asked: Option<&[RequestRecord]>, longest: usize) -> TrimmedBatch {
        let mut trimmed = TrimmedBatch::default();
        for (i, line) in batch.lines.iter().enumerate() {
            let record = batch.raw(line, longest).and_then(|record| record.json_line());
            let asked = asked.and_then(|asked| asked.get(i));
            let answers =
                record.and_then(|json| without_infinities(&json, |json| self.trim_into(json, asked, &mut trimmed)));
            let Err(error) = answers else { continue };
            let bytes = batch.bytes(line).unwrap_or_default().into_owned();
            // What is no JSON may be one line of several, or two answers in one line.
            let has_place = || serde_json::from_slice::<IgnoredAny>(&bytes).is_ok();
            if asked.is_some_and(|asked| asked.is_one_of_several() || !has_place()) {
                let way_out =
                    error.way_out_or(format!("after it, the requests of later answers cannot be told; {WAY_OUT}"));
                trimmed.error = Some(batch.place(line).of_error(error.with_way_out(way_out)));
                return trimmed;
            }
            trimmed.rejected.push(Rejected::new(&batch.input, &line.record.line, bytes, error));
            if self.stops_at_error {
                return trimmed;
            }
        }
        trimmed.error = batch.error.take();
        trimmed
    }

    fn trim_into(&self, json: &str, asked: Option<&RequestRecord>, trimmed: &mut TrimmedBatch) -> Result<()> {
        for answer in &self.trim_to(json, asked)? {
            trimmed.totals.add(answer);
            serde_json::to_writer(&mut trimmed.lines, answer)
                .expect("answers are JSON, and writing to memory cannot fail");
            trimmed.lines.push(b'\n');
        }
        Ok(())
    }
}

/// Lines of answers, and the request of each line if there are requests.
struct AnswerBatch {
    lines: LineBatch,
    asked: Option<Vec<RequestRecord>>,
}

/// Lines without those that are logged again, for another filter.
fn not_repeated(mut batches: Batches) -> Batches {
    let mut seen = SeenSamples::default();
    Box::new(move || {
        let mut batch = batches()?;
        let lines = std::mem::take(&mut batch.lines);
        let is_new = |line: &BatchLine| {
            let bytes = batch.bytes(line).unwrap_or_default();
            !std::str::from_utf8(&bytes).is_ok_and(|json| seen.has(&batch.input, json))
        };
        batch.lines = lines.into_iter().filter(is_new).collect();
        Some(batch)
    })
}

/// Lines of answers with their requests; an error is the last of them.
fn with_requests(
    mut lines: Batches,
    mut requests: Option<Requests>,
) -> impl FnMut() -> Option<Result<AnswerBatch>> + Send {
    move || {
        let lines = lines();
        let Some(all) = &mut requests else { return lines.map(|lines| Ok(AnswerBatch { lines, asked: None })) };
        match lines {
            Some(lines) => Some(give(lines, all)),
            None => all.end().err().map(Err),
        }
    }
}

/// Batches of answers; after them, an error for the first of these inputs that has none.
fn not_empty(
    names: Vec<String>,
    mut batches: impl FnMut() -> Option<Result<AnswerBatch>> + Send,
) -> impl FnMut() -> Option<Result<AnswerBatch>> + Send {
    let mut empty = names;
    move || match batches() {
        Some(batch) => {
            empty.retain(|name| !batch.as_ref().is_ok_and(|batch| *batch.lines.input == **name));
            Some(batch)
        }
        None => {
            let name = empty.drain(..).next()?;
            Some(Err(ErrorKind::Parse("it contains no answers".into())).at(Place::file(name)))
        }
    }
}

fn give(mut lines: LineBatch, all: &mut Requests) -> Result<AnswerBatch> {
    let asked = all.take(lines.lines.len())?;
    if let Some(line) = lines.lines.get(asked.len()) {
        lines.error = Some(lines.place(line).of_error(all.lacks()));
        lines.lines.truncate(asked.len());
    }
    Ok(AnswerBatch { lines, asked: Some(asked) })
}
