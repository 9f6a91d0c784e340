//! `metatok build`: conversations in, token ids out.

use std::io::{self, BufRead};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crate::builder::{PromptBuilder, Session};
use crate::cli::args::{BuildArgs, OnError};
use crate::cli::output::Output;
use crate::cli::{REJECTED, pipeline, progress, setup};
use crate::dataset::{Line, Lines, Record};
use crate::error::{At, Error, ErrorKind, Result};
use crate::sink::{Jsonl, Sink};
use crate::tokenizer::TokenId;

/// A batch is full with this many bytes: enough to make handing it over cheap, little enough to share
/// small inputs among all cores.
const BATCH_BYTES: usize = 1 << 16;

/// How many errors are shown where rows are rejected; the rejects file has them all.
const SHOWN_ERRORS: u64 = 10;

type InputLines = Lines<Box<dyn BufRead + Send>>;

/// Lines of one input, with what is needed to name them.
struct Batch {
    input: Arc<str>,
    bytes: Vec<u8>,
    lines: Vec<(Line, Range<usize>)>,
    /// The number of the first line among all conversations, from 0.
    first: u64,
    /// Reading failed behind these lines.
    error: Option<Error>,
}

/// What became of a batch.
#[derive(Default)]
struct Built {
    out: Vec<u8>,
    bytes: u64,
    prompts: u64,
    tokens: u64,
    omitted: Vec<TokenId>,
    rejected: Vec<Rejected>,
    error: Option<Error>,
}

struct Rejected {
    error: Error,
    /// What the rejects file says of it.
    json: Vec<u8>,
}

pub(crate) fn run(args: &BuildArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let options = crate::builder::BuilderOptions { spans: args.spans, text: args.text, ..setup::options(&args.model) };
    let (model, tokenizer) = setup::load(&args.model)?;
    let builder = Arc::new(PromptBuilder::new(&model, tokenizer, &options)?);
    if !args.quiet {
        for warning in builder.warnings() {
            eprintln!("metatok: warning: {warning}");
        }
    }
    let inputs = setup::inputs(&args.inputs)?;
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let progress = progress::bar(inputs.iter().map(|input| input.bytes).sum(), args.quiet);
    let mut output = Output::open(args.output.as_deref())?;
    let mut rejects = match args.on_error {
        OnError::Stop => None,
        OnError::Reject => Some(Rejects::new(rejects_path(args))),
    };

    let longest = args.model.max_line_bytes;
    let sink = Arc::new(Jsonl::new(&builder, args.attention_mask));
    let stop_at_error = args.on_error == OnError::Stop;
    let shared = Arc::clone(&builder);
    let results = pipeline::ordered(setup::threads(&args.model), batches(inputs, longest), move || {
        let (builder, sink) = (Arc::clone(&shared), Arc::clone(&sink));
        Box::new(move |batch| build(batch, &mut builder.session(), &*sink, longest, stop_at_error))
    });

    let (mut prompts, mut tokens, mut said_omitted) = (0, 0, false);
    for built in results {
        progress.inc(built.bytes);
        if let Err(error) = output.write(&built.out) {
            // Whoever reads has seen enough.
            return if error.kind() == io::ErrorKind::BrokenPipe {
                Ok(ExitCode::SUCCESS)
            } else {
                Err(output.failed(error))
            };
        }
        prompts += built.prompts;
        tokens += built.tokens;
        progress.set_message(format!("{prompts} prompts"));
        if !built.omitted.is_empty() && !said_omitted && !args.quiet {
            said_omitted = true;
            progress.suspend(|| eprintln!("metatok: note: {}", omitted(&builder, &built.omitted)));
        }
        for rejected in built.rejected {
            match &mut rejects {
                Some(rejects) => rejects.add(rejected, &progress)?,
                None => {
                    progress.finish_and_clear();
                    eprintln!("metatok: {}", rejected.error);
                    eprintln!(
                        "metatok: stopped there, after {prompts} good ones; --on-error reject goes on without such rows"
                    );
                    return Ok(ExitCode::from(REJECTED));
                }
            }
        }
        if let Some(error) = built.error {
            return Err(error);
        }
    }
    progress.finish_and_clear();
    let rejected = rejects.as_ref().map_or(0, |rejects| rejects.count);
    if prompts + rejected == 0 {
        return Err(Error::from(ErrorKind::EmptyInput).at(names.join(", ")));
    }
    output.finish()?;
    if !args.quiet {
        eprintln!("metatok: {}", summary(prompts, tokens, started.elapsed().as_secs_f64()));
    }
    match rejects.filter(|rejects| rejects.count > 0) {
        None => Ok(ExitCode::SUCCESS),
        Some(rejects) => {
            rejects.finish()?;
            Ok(ExitCode::from(REJECTED))
        }
    }
}

/// A rate is worth saying only of so many prompts that loading the tokenizer does not decide it.
fn summary(prompts: u64, tokens: u64, seconds: f64) -> String {
    let rate = match prompts {
        10_000.. => format!(" ({:.0} prompts/s)", prompts as f64 / seconds),
        _ => String::new(),
    };
    format!("{prompts} {}, {tokens} tokens, {seconds:.2} s{rate}", if prompts == 1 { "prompt" } else { "prompts" })
}

/// Says which special tokens the prompts have already.
fn omitted(builder: &PromptBuilder, ids: &[TokenId]) -> String {
    let names: Vec<String> = ids
        .iter()
        .map(|&id| format!("{:?} (id {id})", builder.tokenizer().id_to_token(id).unwrap_or_default()))
        .collect();
    format!(
        "the template already writes {}, so it is not added again; --special-tokens always would double it",
        names.join(" ")
    )
}

/// Reads the inputs one after the other, batch by batch.
fn batches(inputs: Vec<setup::Input>, longest: usize) -> impl FnMut() -> Option<Batch> + Send + 'static {
    let mut inputs = inputs.into_iter();
    let mut current: Option<(Arc<str>, InputLines)> = None;
    let mut first = 0;
    let mut has_failed = false;
    move || loop {
        if has_failed {
            return None;
        }
        let (input, lines) = match &mut current {
            Some(current) => current,
            None => {
                let input = inputs.next()?;
                current.insert((input.name.into(), Lines::new(input.reader, longest)))
            }
        };
        let mut batch = Batch {
            input: Arc::clone(input),
            bytes: Vec::with_capacity(BATCH_BYTES + (BATCH_BYTES >> 2)),
            lines: Vec::new(),
            first,
            error: None,
        };
        let is_complete = fill(&mut batch, lines);
        has_failed = batch.error.is_some();
        first += batch.lines.len() as u64;
        if is_complete {
            current = None;
        }
        if !batch.lines.is_empty() || has_failed {
            return Some(batch);
        }
    }
}

/// Whether the input ended.
fn fill(batch: &mut Batch, lines: &mut InputLines) -> bool {
    while batch.bytes.len() < BATCH_BYTES {
        let start = batch.bytes.len();
        match lines.next_into(&mut batch.bytes) {
            Ok(Some(line)) => batch.lines.push((line, start..batch.bytes.len())),
            Ok(None) => return true,
            Err(error) => {
                batch.error = Some(error.at(&batch.input));
                return true;
            }
        }
    }
    false
}

fn build(batch: Batch, session: &mut Session<'_>, sink: &dyn Sink, longest: usize, stop_at_error: bool) -> Built {
    let mut built = Built { bytes: batch.bytes.len() as u64, ..Built::default() };
    let mut number = itoa::Buffer::new();
    for (i, (line, range)) in batch.lines.iter().enumerate() {
        let bytes = &batch.bytes[range.clone()];
        let row = || -> Result<_> {
            let record = Record::parse(line.text(bytes, longest)?)?;
            Ok((record.id, session.build(&record.conversation)?))
        };
        match { row }() {
            Ok((id, prompt)) => {
                sink.write(id.unwrap_or_else(|| number.format(batch.first + i as u64)), &prompt, &mut built.out);
                built.prompts += 1;
                built.tokens += prompt.input_ids.len() as u64;
                if built.omitted.is_empty() {
                    built.omitted = prompt.omitted;
                }
            }
            Err(error) => {
                let json = reject(&batch, line, bytes, &error);
                built
                    .rejected
                    .push(Rejected { error: error.at(format_args!("line {}", line.number)).at(&batch.input), json });
                if stop_at_error {
                    return built;
                }
            }
        }
    }
    // An error of reading travels with the batch that it ends, so that all rows before it are kept.
    built.error = batch.error;
    built
}

/// A line of the rejects file: where the row stands, why it gave no prompt, and the row itself, as
/// text or, where it is none, as bytes. A row that was too long to keep is found by its offset.
fn reject(batch: &Batch, line: &Line, bytes: &[u8], error: &Error) -> Vec<u8> {
    let mut object = serde_json::json!({
        "file": &*batch.input, "line": line.number, "offset": line.offset, "length": line.length, "error": error.to_string(),
    });
    if !line.is_too_long {
        match std::str::from_utf8(bytes) {
            Ok(text) => object["text"] = text.into(),
            Err(_) => object["bytes"] = bytes.into(),
        }
    }
    format!("{object}\n").into_bytes()
}

fn rejects_path(args: &BuildArgs) -> PathBuf {
    match (&args.rejects, &args.output) {
        (Some(rejects), _) => rejects.clone(),
        (None, Some(output)) if output.metadata().map_or(true, |metadata| metadata.is_file()) => {
            let mut name = output.clone().into_os_string();
            name.push(".rejects.jsonl");
            name.into()
        }
        _ => PathBuf::from("rejects.jsonl"),
    }
}

/// The rejected rows. The file is made only when there is one.
struct Rejects {
    path: PathBuf,
    output: Option<Output>,
    count: u64,
}

impl Rejects {
    fn new(path: PathBuf) -> Self {
        Self { path, output: None, count: 0 }
    }

    fn add(&mut self, rejected: Rejected, progress: &indicatif::ProgressBar) -> Result<()> {
        self.count += 1;
        if self.count <= SHOWN_ERRORS {
            progress.suspend(|| eprintln!("metatok: {}", rejected.error));
        }
        let output = match &mut self.output {
            Some(output) => output,
            None => self.output.insert(Output::open(Some(Path::new(&self.path)))?),
        };
        output.write(&rejected.json).at(self.path.display())
    }

    fn finish(self) -> Result<()> {
        let more = match self.count.saturating_sub(SHOWN_ERRORS) {
            0 => String::new(),
            more => format!(" ({more} of them not shown)"),
        };
        let rows = if self.count == 1 { "row" } else { "rows" };
        eprintln!("metatok: {} {rows} rejected{more}, see {}", self.count, self.path.display());
        self.output.map_or(Ok(()), Output::finish)
    }
}
