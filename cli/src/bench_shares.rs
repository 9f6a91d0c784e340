//! What one core does in `metatok bench`: the shares of reading, building and writing, and how often a cache served.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::bench_data::{Data, input};
use metatok::builder::{PromptBuilder, RunCounts};
use metatok::error::{Result, counted};
use metatok::input::{each_conversation, from_json};
use metatok::sink::{BuiltPrompt, Jsonl, LineSink as _, PromptKey};

/// The shares of the steps, of all one, and the runs of text of one pass.
#[derive(Default, Serialize)]
pub(crate) struct Shares {
    reading: f64,
    building: f64,
    writing: f64,
    runs: u64,
    runs_found_again: u64,
    bytes: u64,
    bytes_found_again: u64,
}

/// Each step over all of the data, pass by pass until the time is over.
pub(crate) fn shares(time: Duration, data: &Data, builder: &impl Fn() -> Result<PromptBuilder>) -> Result<Shares> {
    let (lines, started) = (data.lines(), Instant::now());
    let (mut spent, mut runs) = ([Duration::ZERO; 3], RunCounts::default());
    while runs.all == 0 || started.elapsed() < time {
        let builder = builder()?;
        let (mut session, sink) = (builder.session(), Jsonl::new(&builder, false));
        let (mut conversations, mut prompts, mut out) = (Vec::new(), Vec::new(), Vec::new());
        let began = Instant::now();
        let reader = builder.record_reader(data.format);
        each_conversation(vec![input(&lines)], reader, data.longest_line, |_, record| {
            conversations.push(record?.into_conversation(builder.mode())?.0);
            Ok(ControlFlow::Continue(()))
        })?;
        spent[0] += began.elapsed();
        let began = Instant::now();
        for conversation in &conversations {
            prompts.push(session.build(conversation)?);
        }
        spent[1] += began.elapsed();
        runs = session.runs();
        let (began, id) = (Instant::now(), from_json("0")?);
        for prompt in &prompts {
            sink.write(&PromptKey::of(id), &BuiltPrompt::from(prompt), &mut out)?;
        }
        spent[2] += began.elapsed();
        if runs.all == 0 {
            break;
        }
    }
    let all: Duration = spent.iter().sum();
    let [reading, building, writing] = spent.map(|spent| spent.as_secs_f64() / all.as_secs_f64().max(f64::EPSILON));
    let RunCounts { all: runs, found_again: runs_found_again, bytes, bytes_found_again } = runs;
    Ok(Shares { reading, building, writing, runs, runs_found_again, bytes, bytes_found_again })
}

impl Shares {
    pub(crate) fn sentences(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let of = |part: u64, all: u64| percent(part as f64 / all.max(1) as f64);
        let Self { reading, building, writing, runs, runs_found_again, bytes, bytes_found_again } = *self;
        let [reading, building, writing] = [reading, building, writing].map(percent);
        let [found, found_bytes] = [of(runs_found_again, runs), of(bytes_found_again, bytes)];
        let runs = counted(runs, "run");
        format!(
            "\non one core: reading {reading}, building {building}, writing {writing}\n\
             found again by the cache: {found} of {runs} of text, {found_bytes} of their bytes\n"
        )
    }
}
