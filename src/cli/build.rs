//! `metatok build`: conversations in, token ids out.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crate::builder::{PromptBuilder, Session};
use crate::cli::args::{BuildArgs, OnError};
use crate::cli::batches::{Batch, batches};
use crate::cli::output::Output;
use crate::cli::rejects::{Rejected, Rejects, reject, rejects_path};
use crate::cli::rows::{RowPrompt, Rows};
use crate::cli::{REJECTED, pipeline, progress, setup};
use crate::conversation::Conversation;
use crate::dataset::{Record, Row, Shots};
use crate::error::{Error, ErrorKind, Result};
use crate::sink::{Jsonl, Sink};
use crate::tokenizer::TokenId;

/// What became of a batch.
#[derive(Default)]
struct Built {
    out: Vec<u8>,
    bytes: u64,
    prompts: u64,
    tokens: u64,
    omitted: Vec<TokenId>,
    /// The first row that lacks a column, and what to say of it.
    missing: Option<String>,
    rejected: Vec<Rejected>,
    error: Option<Error>,
}

pub(crate) fn run(args: &BuildArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let rows = Rows::open(&args.input, args.model.max_line_bytes)?;
    let mut options =
        crate::builder::BuilderOptions { spans: args.spans, text: args.text, ..setup::options(&args.model) };
    if let Some(rows) = &rows {
        rows.set(&mut options, &args.model);
        if args.input.inputs.is_empty() {
            return Err(ErrorKind::Usage("--dataset needs rows: name a file, or - for standard input".into()).into());
        }
    }
    let (model, tokenizer) = setup::load(&args.model)?;
    let builder = Arc::new(PromptBuilder::new(&model, tokenizer, &options)?);
    if !args.quiet {
        for warning in builder.warnings() {
            eprintln!("metatok: warning: {warning}");
        }
    }
    let inputs = setup::inputs(&args.input.inputs)?;
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
    let rows = Arc::new(rows);
    let batches = batches(inputs, longest, rows.as_ref().as_ref())?;
    let results = pipeline::ordered(setup::threads(&args.model), batches, move || {
        let (builder, sink, rows) = (Arc::clone(&shared), Arc::clone(&sink), Arc::clone(&rows));
        Box::new(move |batch| {
            let rows = rows.as_ref().as_ref().map(|rows| (rows, rows.shots()));
            let (session, sink, built) = (builder.session(), &*sink, Built::default());
            Work { rows, session, sink, longest, stop_at_error, built }.batch(batch)
        })
    });

    let (mut prompts, mut tokens, mut said_omitted, mut said_missing) = (0, 0, false, false);
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
        if let Some(missing) = built.missing.filter(|_| !said_missing && !args.quiet) {
            said_missing = true;
            progress.suspend(|| {
                eprintln!("metatok: warning: {missing}; such fields stay as they are (--strict refuses the row)")
            });
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

/// Builds a batch.
struct Work<'a> {
    /// How lines become prompts, if they are rows.
    rows: Option<(&'a Rows, Shots<'a>)>,
    session: Session<'a>,
    sink: &'a dyn Sink,
    longest: usize,
    stop_at_error: bool,
    built: Built,
}

impl Work<'_> {
    fn batch(mut self, mut batch: Batch) -> Built {
        self.built.bytes = batch.bytes.len() as u64;
        let mut examples = std::mem::take(&mut batch.examples).into_iter();
        for (i, (line, range)) in batch.lines.iter().enumerate() {
            let bytes = &batch.bytes[range.clone()];
            let place = || format!("{}: line {}", batch.input, line.number);
            let before = (self.built.out.len(), self.built.prompts, self.built.tokens);
            let number = batch.first + i as u64;
            let written = line.text(bytes, self.longest).and_then(|text| match self.rows {
                None => self.conversation(text, number),
                Some(_) => self.row(text, number, examples.next().unwrap_or_default(), place),
            });
            if let Err(error) = written {
                // Of a row with several prompts, all or none.
                self.built.out.truncate(before.0);
                (self.built.prompts, self.built.tokens) = (before.1, before.2);
                let json = reject(&batch, line, bytes, &error);
                self.built.rejected.push(Rejected { error: error.at(place()), json });
                if self.stop_at_error {
                    return self.built;
                }
            }
        }
        // An error of reading travels with the batch that it ends, so that all rows before it are kept.
        self.built.error = batch.error;
        self.built
    }

    fn conversation(&mut self, text: &str, number: u64) -> Result<()> {
        let record = Record::parse(text)?;
        self.write(record.id, number, None, &record.conversation)
    }

    fn row(&mut self, text: &str, number: u64, examples: Vec<i64>, place: impl Fn() -> String) -> Result<()> {
        let row = Row::from_json(text)?;
        let Some((rows, shots)) = &mut self.rows else { return Ok(()) };
        if self.built.missing.is_none() {
            self.built.missing = rows.missing(&row).map(|missing| format!("{}: {missing}", place()));
        }
        for RowPrompt { label, conversation } in rows.prompts(&row, examples, shots, &mut self.session)? {
            self.write(None, number, label.as_deref(), &conversation)?;
        }
        Ok(())
    }

    fn write(&mut self, id: Option<&str>, number: u64, label: Option<&str>, said: &Conversation) -> Result<()> {
        let prompt = self.session.build(said)?;
        let mut digits = itoa::Buffer::new();
        self.sink.write(id.unwrap_or_else(|| digits.format(number)), label, &prompt, &mut self.built.out);
        self.built.prompts += 1;
        self.built.tokens += prompt.input_ids.len() as u64;
        if self.built.omitted.is_empty() {
            self.built.omitted = prompt.omitted;
        }
        Ok(())
    }
}
