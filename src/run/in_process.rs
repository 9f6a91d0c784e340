//! Lines are answered by an engine in this process, several side by side.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::dataset::RowKey;
use crate::engine::{Engine, GenerationEvent, Request, Sampling};
use crate::error::Result;
use crate::input::LineBatch;
use crate::run::events::{RunEvent, RunOutcome};
use crate::run::job::{Ask, Job, JobKey};
use crate::run::runner::{Refused, Run, Runner, json};
use crate::stop::Completion;
use crate::trim::TrimmedAnswer;

impl Run<'_> {
    pub(super) fn in_process(
        &mut self,
        engine: &dyn Engine,
        mut next: impl FnMut() -> Option<LineBatch>,
    ) -> Result<RunOutcome> {
        let mut window = Vec::new();
        while let Some(mut batch) = next() {
            let mut examples = std::mem::take(&mut batch.examples).into_iter();
            for i in 0..batch.lines.len() {
                let line = self.take_line(&batch, i, examples.next().unwrap_or_default());
                window.push(line);
                if window.len() == self.runner.batch_size.get()
                    && let ControlFlow::Break(outcome) = self.window(engine, std::mem::take(&mut window))?
                {
                    return Ok(outcome);
                }
            }
            // Whoever watches a run that goes on has no reason to end it here.
            let _ = (self.watch)(RunEvent::Read(batch.size as u64))?;
            if let Some(error) = batch.error {
                return Err(error);
            }
        }
        match self.window(engine, window)? {
            ControlFlow::Break(outcome) => Ok(outcome),
            ControlFlow::Continue(()) => Ok(RunOutcome::Complete),
        }
    }

    /// Answers lines side by side.
    fn window(
        &mut self,
        engine: &dyn Engine,
        window: Vec<std::result::Result<Job, Refused>>,
    ) -> Result<ControlFlow<RunOutcome>> {
        let lines = self.totals.lines;
        if window.is_empty() || lines <= self.answers.rows() {
            return Ok(ControlFlow::Continue(()));
        }
        let mut jobs = Vec::with_capacity(window.len());
        for line in window {
            match line {
                Ok(job) => jobs.push(job),
                Err(Refused { number, pick, error }) => {
                    let key = RowKey::numbered(pick).into();
                    if let ControlFlow::Break(error) = self.refuse(number, &key, 0, error)? {
                        return Ok(ControlFlow::Break(RunOutcome::StoppedAt(error)));
                    }
                }
            }
        }
        loop {
            let mut asks = Vec::with_capacity(jobs.len());
            for (i, job) in jobs.iter_mut().enumerate() {
                let Runner { builder, budget, max_out_len, .. } = self.runner;
                match job.next(builder, *budget, *max_out_len) {
                    Ok(ask) => asks.extend(ask.map(|ask| (i, ask))),
                    Err(error) => {
                        job.fail();
                        let error = job.place().of_error(error);
                        if let ControlFlow::Break(error) = self.refuse(job.number, &job.key, job.asked, error)? {
                            return Ok(ControlFlow::Break(RunOutcome::StoppedAt(error)));
                        }
                    }
                }
            }
            if asks.is_empty() {
                break;
            }
            let completions = self.complete(engine, &jobs, &asks)?;
            for ((i, _), completion) in asks.iter().zip(completions) {
                let Completion { token_ids, text, stop, .. } = completion;
                let answered = jobs[*i].answer(Some(token_ids), &text, stop.as_ref());
                answered.map_err(|error| jobs[*i].place().of_error(error))?;
            }
        }
        let watch = &mut *self.watch;
        Ok(match self.answers.done(lines, |json| watch(RunEvent::Line(json)))? {
            ControlFlow::Break(()) => ControlFlow::Break(RunOutcome::Cut),
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
        })
    }

    /// Answers one prompt of each of these lines.
    fn complete(&mut self, engine: &dyn Engine, jobs: &[Job], asks: &[(usize, Ask)]) -> Result<Vec<Completion>> {
        let Self { runner, trimmer, answers, totals, watch, .. } = self;
        let sampling = &runner.sampling;
        let requests: Vec<Request<'_>> = asks
            .iter()
            .map(|(i, Ask { prompt, max_new_tokens, .. })| Request {
                input_ids: &prompt.input_ids,
                max_new_tokens: *max_new_tokens,
                sampling: Sampling { stream: jobs[*i].number, ..*sampling },
                dialogue: None,
            })
            .collect();
        let mut on_event = |request: usize, event: GenerationEvent<'_>| -> Result<()> {
            let (i, ask) = &asks[request];
            let _ = match event {
                GenerationEvent::Token => {
                    totals.tokens += 1;
                    watch(RunEvent::Tokens(1))?
                }
                GenerationEvent::Text(text) => watch(RunEvent::Text(text))?,
                GenerationEvent::End(completion) => {
                    let job = &jobs[*i];
                    let line = TrimmedAnswer::new(completion.clone());
                    let JobKey { id, repeat, columns, .. } = &job.key;
                    let (id, columns) = (Some(Cow::Borrowed(&**id)), columns.as_deref());
                    let line = TrimmedAnswer { id, repeat: *repeat, turn: ask.turn, columns, ..line };
                    totals.answers += 1;
                    totals.answers_omitted += u64::from(ask.prompt.answer_omitted);
                    *totals.reasons.entry(completion.finish_reason.name()).or_default() += 1;
                    answers.add((job.number, job.asked), json(&line)?)?;
                    watch(RunEvent::Answer)?
                }
            };
            Ok(())
        };
        engine.complete(&requests, trimmer, &mut on_event)
    }
}
