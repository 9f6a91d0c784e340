//! Answering lines with an engine in this process: whenever it has room, it gets the next turn of a dialogue, or the
//! next line.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::engine::{Engine, Request, Requests, Sampling};
use crate::error::{ErrorKind, Result};
use crate::input::{Batches, LineBatch};
use crate::run::events::{RunEvent, RunOutcome, TICK};
use crate::run::line_reader::LineReader;
use crate::run::open_lines::{LinePrompt, OpenLines, OpenLinesOptions};
use crate::run::runner::Run;
use crate::stop::TokenStream;
use crate::tokenizer::TokenId;
use crate::trim::TrimmedAnswer;

/// How many lines may be taken after the first open one, for each line that is answered side by side.
const LINES_AHEAD: u64 = 256;

/// The lines that the engine answers.
struct InProcess<'w, 'r> {
    lines: OpenLines<'w, 'r>,
    inbox: Receiver<Option<LineBatch>>,
    /// The next turns of dialogues. The engine gets them before any new line, so that no new line overwrites their
    /// caches.
    next_turns: VecDeque<LinePrompt>,
    /// The prompt that the engine is reading.
    reading: Option<LinePrompt>,
    /// How many requests the engine has been given.
    requests: usize,
    /// The answers so far, by the engine's numbers, each with the number of its line.
    streams: BTreeMap<usize, (u64, TokenStream)>,
    /// Kept to reuse the memory.
    text: String,
}

impl Run<'_> {
    pub(super) fn in_process(
        &mut self,
        engine: &dyn Engine,
        batches: Batches,
        batch_size: NonZeroUsize,
    ) -> Result<RunOutcome> {
        let (sender, inbox) = channel();
        let reader = LineReader::start(batches, move |batch| sender.send(batch).is_ok());
        let most_ahead = LINES_AHEAD.saturating_mul(batch_size.get() as u64);
        // How much of a dialogue is read at once affects rounding, so an interrupted dialogue is answered again from
        // its start.
        let options = OpenLinesOptions { most_ahead, resumes_within_lines: false };
        let mut requests = InProcess {
            lines: OpenLines::new(self, reader, options),
            inbox,
            next_turns: VecDeque::new(),
            reading: None,
            requests: 0,
            streams: BTreeMap::new(),
            text: String::new(),
        };
        engine.generate(&mut requests, batch_size)?;
        // An engine that has answered the last line need not ask for another.
        if requests.lines.len() > 0 || requests.next_prompt()?.is_some() {
            return Err(ErrorKind::Engine("the engine ended before all lines were answered".into()).into());
        }
        requests.lines.outcome()
    }
}

impl InProcess<'_, '_> {
    fn next_prompt(&mut self) -> Result<Option<LinePrompt>> {
        if let Some(asked) = self.next_turns.pop_front() {
            return Ok(Some(asked));
        }
        loop {
            let asked = self.lines.next()?;
            if asked.is_some() || !self.lines.reader.is_awaited() || self.lines.is_done() {
                return Ok(asked);
            }
            let Some(batch) = self.batch()? else { return Ok(None) };
            self.lines.reader.take(batch);
        }
    }

    /// The next batch of the input. This waits only if there is nothing else to do.
    fn batch(&mut self) -> Result<Option<Option<LineBatch>>> {
        let wait = if self.lines.len() == 0 { TICK } else { Duration::ZERO };
        loop {
            match self.inbox.recv_timeout(wait) {
                Ok(batch) => return Ok(Some(batch)),
                Err(RecvTimeoutError::Timeout) if wait.is_zero() || !self.lines.tick()? => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let what = "the thread that reads the input has ended too early";
                    return Err(ErrorKind::Engine(what.into()).into());
                }
            }
        }
    }

    fn show_text(&mut self) -> Result<()> {
        if !self.text.is_empty() {
            let _ = (self.lines.run.watch)(RunEvent::Text(&self.text))?;
            self.text.clear();
        }
        Ok(())
    }
}

impl Requests for InProcess<'_, '_> {
    fn next(&mut self) -> Result<Option<Request<'_>>> {
        let Some(asked) = self.next_prompt()? else { return Ok(None) };
        let Run { runner, trimmer, .. } = &*self.lines.run;
        let sampling = Sampling { stream: asked.number, ..runner.options.sampling };
        let stream = trimmer.stream().max_tokens(asked.ask.max_new_tokens);
        self.streams.insert(self.requests, (asked.number, stream));
        self.requests += 1;
        let LinePrompt { number, ask, .. } = self.reading.insert(asked);
        let (input_ids, max_new_tokens) = (&ask.prompt.input_ids, ask.max_new_tokens);
        Ok(Some(Request { input_ids, max_new_tokens, sampling, dialogue: Some(*number) }))
    }

    fn prefilled(&mut self, _: usize, cached_tokens: usize) -> Result<()> {
        self.lines.run.totals.cached_tokens += cached_tokens as u64;
        Ok(())
    }

    fn token(&mut self, request: usize, id: TokenId) -> Result<ControlFlow<()>> {
        let Some((number, stream)) = self.streams.get_mut(&request) else { return Ok(ControlFlow::Break(())) };
        if stream.finish_reason().is_some() || self.lines.is_cut() || !self.lines.tick()? {
            return Ok(ControlFlow::Break(()));
        }
        self.lines.run.totals.tokens += 1;
        let _ = (self.lines.run.watch)(RunEvent::Tokens(1))?;
        let Some(line) = self.lines.get(*number) else { return Ok(ControlFlow::Break(())) };
        let stop = stream.push(id, &mut self.text).map_err(|error| line.job.place().of_error(error))?;
        self.show_text()?;
        Ok(if stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn end(&mut self, request: usize) -> Result<()> {
        let Some((number, mut stream)) = self.streams.remove(&request) else { return Ok(()) };
        let Some(line) = self.lines.take(number).filter(|_| !self.lines.is_cut()) else { return Ok(()) };
        stream.finish(&mut self.text);
        self.show_text()?;
        self.next_turns.extend(self.lines.answered(line, TrimmedAnswer::new(stream.complete()?))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::PromptBuilder;
    use crate::input::Input;
    use crate::run::{RunAnswers, RunOptions, RunTotals, Runner};

    /// Ends after this many requests. Each gets this many tokens, whether they are wanted or not.
    struct Careless {
        requests: usize,
        tokens: usize,
    }

    impl Engine for Careless {
        fn generate(&self, requests: &mut dyn Requests, _: NonZeroUsize) -> Result<()> {
            for request in 0..self.requests {
                if requests.next()?.is_none() {
                    break;
                }
                for _ in 0..self.tokens {
                    let _ = requests.token(request, 44)?;
                }
                requests.end(request)?;
            }
            Ok(())
        }
    }

    fn run(engine: Careless) -> (Vec<String>, Result<(RunTotals, RunOutcome)>) {
        let options = RunOptions { max_out_len: Some(3), ..RunOptions::default() };
        let runner = Runner::new(PromptBuilder::demo().expect("the demo"), Box::new(engine), None, options);
        let mut lines = Vec::new();
        let outcome = runner.run(
            vec![Input::new("lines", &b"\"a\"\n\"b\"\n\"c\"\n"[..])],
            &mut RunAnswers::streamed(),
            &mut |event| {
                if let RunEvent::Line(json) = event {
                    lines.push(json.to_owned());
                }
                Ok(ControlFlow::Continue(()))
            },
        );
        (lines, outcome)
    }

    #[test]
    fn an_engine_that_ends_too_early_is_an_error() {
        for requests in 0..=4 {
            let (lines, outcome) = run(Careless { requests, tokens: 1 });
            assert_eq!(lines.len(), requests.min(3));
            match outcome {
                Ok((totals, RunOutcome::Complete)) => assert_eq!((requests >= 3, totals.answers), (true, 3)),
                Ok((_, outcome)) => panic!("{requests}: {outcome:?}"),
                Err(error) => {
                    assert_eq!((requests < 3, error.kind().code()), (true, "engine"));
                    assert_eq!(error.to_string(), "the engine ended before all lines were answered");
                }
            }
        }
    }

    #[test]
    fn an_answer_has_no_more_tokens_than_it_may() {
        for (tokens, kept) in [(0, 0), (2, 2), (3, 3), (8, 3)] {
            let (lines, outcome) = run(Careless { requests: 4, tokens });
            let ids = format!("\"token_ids\":[{}]", vec!["44"; kept].join(","));
            assert!(lines.iter().all(|line| line.contains(&ids) && line.contains("\"length\"")), "{lines:?}");
            assert_eq!(outcome.expect("all are answered").0.tokens, 3 * kept as u64);
        }
    }
}
