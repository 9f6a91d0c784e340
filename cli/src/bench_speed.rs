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
/// From JSON lines to JSON lines with ids.
const FILES: &str = "read, build, write";

/// How much of some work is done in a second.
#[derive(Serialize)]
pub(crate) struct Speed {
    work: &'static str,
    pub(crate) cores: usize,
    #[serde(rename = "prompts_per_second")]
    pub(crate) prompts: f64,
    #[serde(rename = "tokens_per_second")]
    tokens: f64,
    /// The bytes of the joined strings, whatever the work.
    #[serde(rename = "bytes_per_second")]
    bytes: f64,
}

/// On how many cores what is measured, and how long.
#[derive(Clone, Copy)]
pub(crate) struct Bench<'d> {
    pub(crate) cores: usize,
    pub(crate) time: Duration,
    /// The bytes of the joined strings.
    pub(crate) bytes: u64,
    pub(crate) data: &'d Data,
}

impl Bench<'_> {
    /// Conversations become prompts.
    pub(crate) fn built(&self, builder: &(impl Fn() -> Result<PromptBuilder> + Sync)) -> Result<Speed> {
        self.on_threads("build", || {
            let mut session = builder()?.session();
            Ok(move |conversation: &Conversation| session.build(conversation).map(|prompt| prompt.input_ids.len()))
        })
    }

    /// Conversations become strings, which the library encodes.
    pub(crate) fn joined(&self, reference: &PromptBuilder) -> Result<Speed> {
        self.on_threads(JOINED, || {
            let mut join = reference.join_session();
            Ok(move |conversation: &Conversation| join.encode(conversation))
        })
    }

    /// JSON lines become JSON lines with ids.
    pub(crate) fn files(&self, builder: &impl Fn() -> Result<PromptBuilder>) -> Result<Speed> {
        let (lines, started) = (self.data.lines(), Instant::now());
        let (mut passes, mut tokens, mut spent) = (0, 0, Duration::ZERO);
        while passes == 0 || started.elapsed() < self.time {
            let builder = builder()?;
            let sink = Sink::lines(Jsonl::new(&builder, false));
            let mut build = Build::new(PromptForm::Ids(Box::new(IdsForm::new(builder, sink))));
            build.input_format = self.data.format;
            build.max_line_bytes = self.data.longest_line;
            build.threads = NonZeroUsize::new(self.cores);
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
        Ok(self.speed(FILES, passes, tokens, spent))
    }

    /// A step over all conversations on every thread, pass by pass until the time is over, each pass with a new step.
    fn on_threads<S: FnMut(&Conversation) -> Result<usize>>(
        &self,
        work: &'static str,
        step: impl Fn() -> Result<S> + Sync,
    ) -> Result<Speed> {
        let started = Instant::now();
        let measured = || -> Result<(u64, u64, Duration)> {
            let (mut passes, mut tokens, mut preparing) = (0, 0, Duration::ZERO);
            while passes == 0 || started.elapsed() < self.time {
                let began = Instant::now();
                let mut step = step()?;
                preparing += began.elapsed();
                for conversation in &self.data.conversations {
                    tokens += step(conversation)? as u64;
                }
                passes += 1;
            }
            Ok((passes, tokens, preparing))
        };
        let threads = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.cores).map(|_| scope.spawn(measured)).collect();
            let joined = workers.into_iter().map(|worker| worker.join().expect("measuring does not panic"));
            joined.collect::<Result<Vec<_>>>()
        })?;
        // Each thread's time ends with the last thread's. Otherwise those that wait for a core would add up to more than
        // the cores can do.
        let spent = started.elapsed();
        let speeds = threads
            .into_iter()
            .map(|(passes, tokens, preparing)| self.speed(work, passes, tokens, spent.saturating_sub(preparing)));
        let nothing = self.speed(work, 0, 0, Duration::MAX);
        Ok(speeds.fold(nothing, Speed::beside))
    }

    fn speed(&self, work: &'static str, passes: u64, tokens: u64, spent: Duration) -> Speed {
        let prompts = passes * self.data.conversations.len() as u64;
        let all = [prompts, tokens, passes * self.bytes];
        let [prompts, tokens, bytes] = all.map(|number| number as f64 / spent.as_secs_f64());
        Speed { work, cores: self.cores, prompts, tokens, bytes }
    }
}

impl Speed {
    /// The middle one.
    pub(crate) fn median(mut all: Vec<Self>) -> Option<Self> {
        all.sort_by(|a, b| a.prompts.total_cmp(&b.prompts));
        let middle = all.len() / 2;
        all.into_iter().nth(middle)
    }

    /// The speed of two threads together.
    fn beside(self, other: Self) -> Self {
        let (prompts, tokens) = (self.prompts + other.prompts, self.tokens + other.tokens);
        Self { prompts, tokens, bytes: self.bytes + other.bytes, ..self }
    }

    pub(crate) fn is_joined(&self) -> bool {
        self.work == JOINED
    }

    /// What is shown, beside what joining reaches.
    pub(crate) fn cells(&self, joined: Option<&Self>) -> Vec<String> {
        let Self { work, cores, prompts, tokens, bytes } = self;
        // The joined row leaves out reading and writing, so a ratio would be unfair.
        let joined = joined.filter(|_| *work != FILES);
        let ratio = joined.map(|joined| format!("{:.2}", prompts / joined.prompts));
        let figures = [rounded(*prompts), rounded(*tokens), format!("{:.1}", bytes / 1e6)];
        [(*work).to_owned(), cores.to_string()].into_iter().chain(figures).chain(ratio).collect()
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
