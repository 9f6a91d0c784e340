//! From a file of conversations to a file of ids, on one core and on all.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use metatok::build::{Build, BuildTotals, IdsForm, PromptForm};
use metatok::input::Input;
use metatok::sink::{Jsonl, Sink};
use metatok::{ContentTrust, TokenId};
use serde::Deserialize;

use crate::completed::Completed;
use crate::python::{self, Gigatoken};
use crate::setting::{Setting, name};
use crate::subjects;
use crate::table::{Table, number};
use crate::text::Text;
use crate::workloads::{self, Made, Prompt, ROUNDS, Workload};

const TIMES: usize = 3;

/// What is read: a workload, and how many prompts of it.
const FILES: [(Workload, usize); 3] = [(workloads::W1, 32_000), (workloads::W2, 8_000), (workloads::SHORT, 240_000)];

/// A line of output.
#[derive(Deserialize)]
struct Line {
    input_ids: Vec<TokenId>,
}

pub(crate) fn table(setting: &Setting) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let all = format!("{cores} cores");
    let columns = [
        "tokenizer",
        "workload",
        "prompts",
        "MB read",
        "1 core",
        &all,
        "MB/s",
        "times one core",
        "gigatoken, no file written",
    ];
    let title = "From a file of JSON lines to a file of JSON lines with ids: prompts a second by the clock";
    let mut table = Table::new(title, &columns, 2);
    let Some(text) = setting.text(false) else { return Ok(()) };
    for folder in &setting.folders {
        for (workload, prompts) in FILES {
            if setting.wants(&name(folder), workload.name) {
                let prompts = prompts * setting.prompts / 1000 / (ROUNDS + 1) + 1;
                row(&mut table, &text, folder, &workload, prompts)
                    .map_err(|message| format!("{}: {}, file to file: {message}", name(folder), workload.name))?;
            }
        }
    }
    Ok(())
}

fn row(table: &mut Table, text: &Text, folder: &Path, workload: &Workload, prompts: usize) -> Result<(), String> {
    let tokenizer = subjects::metatok(folder)?;
    let Some(made) = workload.make(text, &tokenizer, prompts) else { return Ok(()) };
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (input, output) = (scratch.path().join("chats.jsonl"), scratch.path().join("ids.jsonl"));
    write(&input, &made, |prompt| serde_json::to_string(&serde_json::json!({ "messages": prompt.conversation })))?;
    let build = |threads: usize| {
        let builder = workloads::builder(&made.model, &tokenizer, ContentTrust::default(), false);
        let sink = Sink::lines(Jsonl::new(&builder, false));
        let mut build = Build::new(PromptForm::Ids(Box::new(IdsForm::new(builder, sink))));
        build.threads = NonZeroUsize::new(threads);
        build
    };
    let one = seconds(&build(1), &input, &output)?;
    let all = seconds(&build(0), &input, &output)?;
    let completed = Completed::new(folder)?;
    check(completed.folder(), &made, &output)?;
    let count = made.rounds.iter().flatten().count() as f64;
    let megabytes = std::fs::metadata(&input).map_err(|error| error.to_string())?.len() as f64 / 1e6;
    let texts = scratch.path().join("texts.jsonl");
    write(&texts, &made, |prompt| serde_json::to_string(&serde_json::json!({ "text": prompt.text })))?;
    let theirs = match python::gigatoken_file(completed.folder(), &texts) {
        Gigatoken::Took(seconds) => number(count / seconds),
        Gigatoken::Not(reason) => {
            table.note(format!("{}: gigatoken: {reason}", name(folder)));
            String::new()
        }
    };
    let [one_core, all_cores] = [one, all].map(|seconds| number(count / seconds));
    let (read, speed, ratio) =
        (format!("{megabytes:.0}"), format!("{:.0}", megabytes / all), format!("{:.2}", one / all));
    table.row(&[name(folder), workload.name.into(), number(count), read, one_core, all_cores, speed, ratio, theirs]);
    Ok(())
}

fn write(path: &Path, made: &Made, line: impl Fn(&Prompt) -> serde_json::Result<String>) -> Result<(), String> {
    let mut file = BufWriter::new(File::create(path).map_err(|error| error.to_string())?);
    for prompt in made.rounds.iter().flatten() {
        let line = line(prompt).map_err(|error| error.to_string())?;
        writeln!(file, "{line}").map_err(|error| error.to_string())?;
    }
    file.flush().map_err(|error| error.to_string())
}

/// By the clock, the median of a few times.
fn seconds(build: &Build, input: &Path, output: &Path) -> Result<f64, String> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let started = Instant::now();
        write_ids(build, input, output).map_err(|error| error.to_string())?;
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[TIMES / 2])
}

fn write_ids(build: &Build, input: &Path, output: &Path) -> metatok::Result<()> {
    let (mut file, mut totals) = (File::create(output)?, BuildTotals::default());
    for batch in build.batches(vec![Input::open(input)?], None)? {
        file.write_all(batch.lines())?;
        let remarks = totals.add(batch);
        if let Some(error) = remarks.error.or(remarks.rejected.into_iter().next().map(|row| row.into_error())) {
            return Err(error);
        }
    }
    Ok(())
}

/// Every hundredth prompt is compared, and all are counted.
fn check(folder: &Path, made: &Made, output: &Path) -> Result<(), String> {
    let written = std::fs::read_to_string(output).map_err(|error| error.to_string())?;
    let mut judge = subjects::judge(folder)?;
    let prompts = made.rounds.iter().flatten();
    if written.lines().count() != prompts.clone().count() {
        return Err("prompts are missing".into());
    }
    for (line, prompt) in written.lines().zip(prompts).step_by(100) {
        let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let mut is_equal = false;
        judge.run(std::slice::from_ref(prompt), &mut |ids| is_equal = ids == line.input_ids)?;
        if !is_equal {
            return Err("other ids".into());
        }
    }
    Ok(())
}
