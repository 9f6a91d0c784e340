//! How fast `metatok bench` builds, joins and encodes, and reads and writes. Every pass over the data begins with empty
//! caches, or else they would know all of it.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::bench_data::{Data, input};
use metatok::build::{Build, BuildTotals, IdsForm, PromptForm};
use metatok::builder::PromptBuilder;
use metatok::conversation::Conversation;
use metatok::error::Result;
use metatok::sink::{Jsonl, Sink};

const JOINED: &str = "join, then encode";

/// How much of some work is done in a second.
#[derive(Serialize)]
pub(crate) struct Speed {
    work: &'static str,
    pub(crate) cores: usize,
    #[serde(rename = "prompts_per_second")]
    pub(crate) prompts: f64,
    #[serde(rename = "tokens_per_second")]
    tokens: f64,
    /// Of the joined strings, whatever the work.
    #[serde(rename = "bytes_per_second")]
    bytes: f64,
}

/// Conversations become prompts.
pub(crate) fn built(
    cores: usize,
    time: Duration,
    bytes: u64,
    data: &Data,
    builder: &(impl Fn() -> Result<PromptBuilder> + Sync),
) -> Result<Speed> {
    on_threads("build", cores, time, bytes, data, || {
        let mut session = builder()?.session();
        Ok(move |conversation: &Conversation| session.build(conversation).map(|prompt| prompt.input_ids.len()))
    })
}

/// Conversations become strings, which the library encodes.
pub(crate) fn joined(
    cores: usize,
    time: Duration,
    bytes: u64,
    data: &Data,
    reference: &PromptBuilder,
) -> Result<Speed> {
    on_threads(JOINED, cores, time, bytes, data, || {
        let mut join = reference.join_session();
        Ok(move |conversation: &Conversation| join.encode(conversation))
    })
}

/// JSON lines become JSON lines with ids.
pub(crate) fn files(
    cores: usize,
    time: Duration,
    bytes: u64,
    data: &Data,
    builder: &impl Fn() -> Result<PromptBuilder>,
) -> Result<Speed> {
    let lines = data.lines();
    let (mut passes, mut tokens, mut spent) = (0, 0, Duration::ZERO);
    let started = Instant::now();
    while passes == 0 || started.elapsed() < time {
        let builder = builder()?;
        let sink = Sink::lines(Jsonl::new(&builder, false));
        let mut build = Build::new(PromptForm::Ids(Box::new(IdsForm::new(builder, sink))));
        build.input_format = data.format;
        build.max_line_bytes = data.longest_line;
        build.threads = NonZeroUsize::new(cores);
        let (began, mut totals) = (Instant::now(), BuildTotals::default());
        for batch in build.batches(vec![input(&lines)], None)? {
            std::hint::black_box(batch.lines());
            let remarks = totals.add(batch);
            let rejected = remarks.rejected.into_iter().next().map(|row| row.into_error());
            if let Some(error) = remarks.error.or(rejected) {
                return Err(error);
            }
        }
        spent += began.elapsed();
        tokens += totals.written.tokens;
        passes += 1;
    }
    let prompts = passes * data.conversations.len() as u64;
    Ok(Speed::new("JSON lines to lines", cores, prompts, tokens, passes * bytes, 1.0 / spent.as_secs_f64()))
}

/// A step over all conversations on every thread, pass by pass until the time is over, each pass with a new step.
fn on_threads<S: FnMut(&Conversation) -> Result<usize>>(
    work: &'static str,
    cores: usize,
    time: Duration,
    bytes: u64,
    data: &Data,
    step: impl Fn() -> Result<S> + Sync,
) -> Result<Speed> {
    let started = Instant::now();
    let measured = || -> Result<(u64, u64, Duration)> {
        let (mut passes, mut tokens, mut spent) = (0, 0, Duration::ZERO);
        while passes == 0 || started.elapsed() < time {
            let (mut step, began) = (step()?, Instant::now());
            for conversation in &data.conversations {
                tokens += step(conversation)? as u64;
            }
            spent += began.elapsed();
            passes += 1;
        }
        Ok((passes, tokens, spent))
    };
    let all = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(measured)).collect();
        workers.into_iter().map(|worker| worker.join().expect("measuring does not panic")).collect::<Result<Vec<_>>>()
    })?;
    let speeds = all.into_iter().map(|(passes, tokens, spent)| {
        let prompts = passes * data.conversations.len() as u64;
        Speed::new(work, cores, prompts, tokens, passes * bytes, 1.0 / spent.as_secs_f64())
    });
    Ok(speeds.reduce(Speed::beside).unwrap_or_else(|| Speed::new(work, cores, 0, 0, 0, 0.0)))
}

impl Speed {
    fn new(work: &'static str, cores: usize, prompts: u64, tokens: u64, bytes: u64, rate: f64) -> Self {
        let [prompts, tokens, bytes] = [prompts, tokens, bytes].map(|number| number as f64 * rate);
        Self { work, cores, prompts, tokens, bytes }
    }

    /// Of two threads together.
    fn beside(self, other: Self) -> Self {
        let (prompts, tokens) = (self.prompts + other.prompts, self.tokens + other.tokens);
        Self { prompts, tokens, bytes: self.bytes + other.bytes, ..self }
    }

    pub(crate) fn is_joined(&self) -> bool {
        self.work == JOINED
    }

    pub(crate) fn cells(&self, ratio: f64) -> Vec<String> {
        let Self { work, cores, prompts, tokens, bytes } = self;
        let (prompts, tokens, ratio) = (rounded(*prompts), rounded(*tokens), format!("{ratio:.2}"));
        vec![(*work).to_owned(), cores.to_string(), prompts, tokens, format!("{:.1}", bytes / 1e6), ratio]
    }
}

/// Three digits that say something, with commas between thousands.
fn rounded(number: f64) -> String {
    let unit = 10_f64.powf((number.max(100.0).log10() - 2.0).floor());
    let digits = format!("{:.0}", (number / unit).round() * unit);
    let with_comma = |(i, digit): (usize, char)| {
        let comma = (i > 0 && (digits.len() - i).is_multiple_of(3)).then_some(',');
        comma.into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(with_comma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_what_is_known() {
        let all = [0.4, 7.0, 999.4, 1_234.0, 28_649.0, 999_999.0, 26_123_456.0].map(rounded);
        assert_eq!(all, ["0", "7", "999", "1,230", "28,600", "1,000,000", "26,100,000"]);
    }
}
