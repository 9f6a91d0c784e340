//! `metatok build`: conversations in, token ids out.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "arrays")]
use crate::batch::Padding;
use crate::builder::{BuilderOptions, PromptBuilder};
use crate::cli::answers::Answers;
use crate::cli::args::{BuildArgs, Format, OnError};
use crate::cli::batches::{Batch, batches};
use crate::cli::form::{Form, Ids, Messages, Writer, Written};
use crate::cli::notes::Notes;
use crate::cli::output::{Output, count};
use crate::cli::rejects::{Rejected, Rejects, reject, rejects_path};
use crate::cli::rows::Rows;
use crate::cli::source::Source;
use crate::cli::{REJECTED, pipeline, progress, setup};
use crate::conversation::Mode;
use crate::dataset::{Examples, Inference, RecordReader, Row, RowPrompt};
use crate::dialect::Model;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "arrays")]
use crate::fingerprint::Fingerprint;
use crate::render::ApiTemplate;
#[cfg(feature = "arrays")]
use crate::sink::{ArrayFormat, Arrays};
use crate::sink::{Jsonl, LlamaCpp, MessagesJsonl, Sglang, Sink, Vllm};
#[cfg(feature = "arrow")]
use crate::sink::{Table, TableFormat};
use crate::tokenizer::{TokenId, Tokenizer};
use crate::truncate::Budget;

/// What became of a batch.
#[derive(Default)]
struct Built {
    out: Vec<u8>,
    bytes: u64,
    written: Written,
    /// What is to be said of the first row that is not as it should be.
    warning: Option<String>,
    notes: Notes,
    rejected: Vec<Rejected>,
    error: Option<Error>,
}

pub(crate) fn run(args: &BuildArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let longest = args.input.read.max_line_bytes;
    let source = Source::find(&args.input.inputs)?;
    let mut rows = Rows::open_for_input(&args.input, &source, longest)?;
    if let Some(rows) = rows.as_mut().filter(|_| args.truncate.is_some()) {
        rows.keep_examples();
    }
    let answers = match &args.answers.answers {
        Some(path) => Some(answers(path, args.answers.strip_thoughts, rows.as_ref(), longest)?),
        None => None,
    };
    let form = Arc::new(form(args, rows.as_ref(), source.is_some())?);
    let mut inputs = source.open_or_demo()?;
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let progress = progress::bar(inputs.iter().map(|input| input.bytes).sum(), args.quiet);
    if let Some(rows) = rows.as_ref().filter(|_| args.input.arrow_compat) {
        inputs = rows.through_arrow(inputs, longest)?;
    }
    let mut output = Output::open(args.output.as_deref())?;
    let mut rejects = match args.on_error {
        OnError::Stop => None,
        OnError::Reject => Some(Rejects::new(rejects_path(args))),
    };

    let (format, stop_at_error) = (args.input.input_format, args.on_error == OnError::Stop);
    let shared = Arc::clone(&form);
    let (rows, answers) = (Arc::new(rows), Arc::new(answers));
    let batches = batches(inputs, longest, rows.as_ref().as_ref())?;
    let results = pipeline::ordered(setup::threads(args.threads), batches, move || {
        let (form, rows, answers) = (Arc::clone(&shared), Arc::clone(&rows), Arc::clone(&answers));
        Box::new(move |batch| {
            let rows = rows.as_ref().as_ref().map(|rows| (rows, rows.inference()));
            let (answers, writer) = (answers.as_ref().as_ref(), form.writer());
            let (reader, mode) = (RecordReader::new(format).for_server(form.is_for_server()), form.mode());
            Work { rows, answers, writer, reader, mode, longest, stop_at_error, built: Built::default() }.batch(batch)
        })
    });

    let (mut written, mut notes, mut has_warned) = (Written::default(), Notes::default(), false);
    // A file that is one only when all is there.
    let mut whole = form.sink().filter(|sink| sink.is_whole()).map(|_| Vec::new());
    for built in results {
        progress.inc(built.bytes);
        match &mut whole {
            Some(whole) => whole.extend_from_slice(&built.out),
            None if output.stream(&built.out)?.is_break() => return Ok(ExitCode::SUCCESS),
            None => {}
        }
        if !built.written.omitted.is_empty() && written.omitted.is_empty() && !args.quiet {
            progress.suspend(|| eprintln!("metatok: note: {}", omitted(&form, &built.written.omitted)));
        }
        written.add(built.written);
        notes.append(built.notes);
        progress.set_message(format!("{} prompts", written.prompts));
        if let Some(warning) = built.warning.filter(|_| !has_warned && !args.quiet) {
            has_warned = true;
            progress.suspend(|| eprintln!("metatok: warning: {warning}"));
        }
        for rejected in built.rejected {
            match &mut rejects {
                Some(rejects) => rejects.add(rejected, &progress)?,
                None => {
                    progress.finish_and_clear();
                    eprintln!("metatok: {}", rejected.error);
                    eprintln!(
                        "metatok: stopped there, after {} good ones; --on-error reject goes on without such rows",
                        written.prompts
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
    if written.prompts + rejected == 0 {
        let kind = if args.input.dataset.is_some() { ErrorKind::NoRows } else { ErrorKind::EmptyInput };
        return Err(Error::from(kind).at(names.join(", ")));
    }
    if let (Some(whole), Some(sink)) = (whole, form.sink()) {
        output.write(&sink.finish(&whole)?).map_err(|error| output.failed(error))?;
    }
    output.finish()?;
    if !args.quiet {
        notes.print();
        let tokens = matches!(*form, Form::Ids(_)).then_some(written.tokens);
        if written.truncated > 0 {
            let prompts = if written.truncated == 1 { "prompt was" } else { "prompts were" };
            eprintln!("metatok: note: {} {prompts} too long, and lost something", written.truncated);
        }
        if written.waiting > 0 {
            let dialogues = if written.waiting == 1 { "dialogue waits" } else { "dialogues wait" };
            eprintln!("metatok: note: {} {dialogues} for an answer that --answers does not have", written.waiting);
        }
        eprintln!("metatok: {}", summary(written.prompts, tokens, started.elapsed().as_secs_f64()));
    }
    match rejects.filter(|rejects| rejects.count > 0) {
        None => Ok(ExitCode::SUCCESS),
        Some(rejects) => {
            rejects.finish()?;
            Ok(ExitCode::from(REJECTED))
        }
    }
}

/// The answers of a file, where the turns of rows need any.
fn answers(path: &Path, strip_thoughts: bool, rows: Option<&Rows>, longest: usize) -> Result<Answers> {
    if !rows.is_some_and(Rows::goes_on_from_answers) {
        let what = "--answers is for turns that are asked for with the model's own answers in those before: ChatInferencer or MultiTurnGenInferencer, and --infer-mode every";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    Answers::read(path, strip_thoughts, longest)
}

/// What prompts are written as, and what makes them.
fn form(args: &BuildArgs, rows: Option<&Rows>, has_input: bool) -> Result<Form> {
    let mut options = setup::options(&args.prompts, rows);
    if args.format != Format::Ids {
        for (flag, is_given) in [
            ("--text", args.text),
            ("--spans", args.spans),
            ("--labels", args.labels),
            ("--attention-mask", args.attention_mask),
        ] {
            if is_given {
                let what = format!("{flag} goes with --format ids: no other form has a place for it");
                return Err(ErrorKind::Usage(what).into());
            }
        }
    }
    if args.served_model.is_some() && !matches!(args.format, Format::Vllm | Format::VllmBatch) {
        let what = "--served-model goes with --format vllm and vllm-batch: other engines have one model";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    if args.format == Format::Messages {
        for (flag, is_given) in [("--truncate", args.truncate.is_some()), ("--fingerprint", args.fingerprint)] {
            if is_given {
                let what =
                    format!("{flag} is for token ids, and messages have none; leave it out, or build in another form");
                return Err(ErrorKind::Usage(what).into());
            }
        }
        // Without a model, roles are as OpenAI has them.
        let model = args.model.model.as_deref().map_or_else(|| Ok(Model::default()), Model::load)?;
        let stop = model.stop.strings.iter().chain(&options.stop_strings).cloned().collect();
        let sink = MessagesJsonl::new(stop);
        let BuilderOptions { each_message, mode, .. } = options;
        let mut template = model.to_api()?;
        if let ApiTemplate::Roles(roles) = &mut template {
            roles.compat = options.compat;
        }
        return Ok(Form::Messages(Messages { template, each_message, mode, sink, check_files: args.check_files }));
    }
    if args.labels && options.mode == Mode::Generate {
        let what = "--labels is for texts to score, and these are prompts to continue; add --mode ppl";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    options.spans = args.spans;
    let has_context = args.labels && rows.is_some_and(|rows| rows.dataset.inferencer.has_context());
    options.text = args.text || has_context;
    options.offsets = has_context;
    let (model, tokenizer) = setup::load(&args.model, has_input)?;
    let fingerprint =
        |tokenizer: &Tokenizer| setup::fingerprint(&args.input, args.truncate, &model, tokenizer, &options);
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    if !args.quiet {
        for warning in builder.warnings() {
            eprintln!("metatok: warning: {warning}");
        }
    }
    let served = args.served_model.as_deref();
    let sink: Box<dyn Sink> = match args.format {
        Format::Vllm => Box::new(Vllm::new(&builder, served)),
        Format::VllmBatch => Box::new(Vllm::batch(&builder, served)),
        Format::Sglang => Box::new(Sglang::new(&builder)),
        Format::LlamaCpp => Box::new(LlamaCpp::new(&builder)),
        #[cfg(feature = "arrays")]
        Format::Npz | Format::Npy | Format::Safetensors => {
            Box::new(arrays(args, &builder, fingerprint(builder.tokenizer())?)?)
        }
        #[cfg(feature = "arrow")]
        Format::Arrow | Format::Parquet => {
            let format = if args.format == Format::Arrow { TableFormat::Arrow } else { TableFormat::Parquet };
            Box::new(Table::new(&builder, format, fingerprint(builder.tokenizer())?))
        }
        Format::Ids | Format::Messages => Box::new(Jsonl::new(&builder, args.attention_mask)),
    };
    if sink.is_whole() && args.output.is_none() && io::stdout().is_terminal() {
        let what = "this form is no text for a terminal; name a file with --output";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let BuildArgs { text, labels, check_files, .. } = *args;
    let max_out_len = (args.input.max_out_len > 0).then_some(args.input.max_out_len as u64);
    let budget = budget(args, options.mode)?;
    let fingerprint = match args.fingerprint && !sink.is_whole() {
        true => Some(fingerprint(builder.tokenizer())?.to_json()),
        false => None,
    };
    Ok(Form::Ids(Box::new(Ids { builder, sink, max_out_len, budget, text, labels, check_files, fingerprint })))
}

/// A file of arrays.
#[cfg(feature = "arrays")]
fn arrays(args: &BuildArgs, builder: &PromptBuilder, fingerprint: Fingerprint) -> Result<Arrays> {
    let format = match args.format {
        Format::Npz => ArrayFormat::Npz,
        Format::Npy => ArrayFormat::Npy,
        _ => ArrayFormat::Safetensors,
    };
    let padding =
        Padding { padding_side: args.padding_side, pad_to_multiple_of: args.pad_to_multiple_of, ..builder.padding()? };
    Ok(Arrays::new(builder, format, padding, fingerprint))
}

/// How long prompts may be. Where nothing says what goes, rows lose examples and may still be too long, as in
/// OpenCompass, and conversations are refused.
fn budget(args: &BuildArgs, mode: Mode) -> Result<Option<Budget>> {
    let Some(max_seq_len) = args.input.max_seq_len else { return Ok(None) };
    if args.truncate.is_none() && args.input.dataset.is_some() {
        return Ok(None);
    }
    if args.truncate.is_some() && (mode == Mode::Score || args.answers.answers.is_some()) {
        let what = "--truncate is for prompts to continue that stand by themselves: a text to score would lose what is scored, and an answered dialogue its prefix";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    Ok(Some(Budget { max_seq_len, max_out_len: args.input.max_out_len, truncation: args.truncate.unwrap_or_default() }))
}

/// A rate is worth saying only of so many prompts that loading the tokenizer does not decide it.
fn summary(prompts: u64, tokens: Option<u64>, seconds: f64) -> String {
    let rate = match prompts {
        10_000.. => format!(" ({:.0} prompts/s)", prompts as f64 / seconds),
        _ => String::new(),
    };
    let tokens = tokens.map_or_else(String::new, |tokens| format!("{tokens} tokens, "));
    format!("{}, {tokens}{seconds:.2} s{rate}", count(prompts, "prompt"))
}

/// Says which special tokens the prompts have already.
fn omitted(form: &Form, ids: &[TokenId]) -> String {
    let token = |id: TokenId| match form {
        Form::Ids(ids) => ids.builder.tokenizer().id_to_token(id).unwrap_or_default(),
        Form::Messages(_) => String::new(),
    };
    let names: Vec<String> = ids.iter().map(|&id| format!("{:?} (id {id})", token(id))).collect();
    format!(
        "the template already writes {}, so it is not added again; --special-tokens always would double it",
        names.join(" ")
    )
}

/// Builds a batch.
struct Work<'a> {
    /// How lines become prompts, if they are rows.
    rows: Option<(&'a Rows, Inference<'a>)>,
    answers: Option<&'a Answers>,
    writer: Writer<'a>,
    reader: RecordReader,
    mode: Mode,
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
            let place = || format!("{}: {line}", batch.input);
            let before = (self.built.out.len(), self.built.written.clone());
            let number = batch.first + i as u64;
            let written = line.text(bytes, self.longest).and_then(|text| match self.rows {
                None => self.conversation(text, number, place),
                Some(_) => self.row(text, number, examples.next().unwrap_or_default(), place),
            });
            if let Err(error) = written {
                // Of a row with several prompts, all or none.
                self.built.out.truncate(before.0);
                self.built.written = before.1;
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

    fn conversation(&mut self, text: &str, number: u64, place: impl Fn() -> String) -> Result<()> {
        let record = self.reader.parse(text)?;
        let id = record.id;
        let mut notes = std::mem::take(&mut self.built.notes);
        notes.see(&record.conversation, &place);
        if self.mode == Mode::Generate {
            notes.see_completion(&record, &place);
        }
        self.built.notes = notes;
        self.write(id, number, &record.into_prompt(self.mode)?)
    }

    fn row(&mut self, text: &str, number: u64, examples: Examples, place: impl Fn() -> String) -> Result<()> {
        let row = Row::from_json(text)?;
        let Some((rows, inference)) = &mut self.rows else { return Ok(()) };
        self.built.notes.see_row(&row, &place);
        if self.built.warning.is_none() {
            self.built.warning = rows.warning(&row).map(|warning| format!("{}: {warning}", place()));
        }
        let writer = &mut self.writer;
        if let Some(answers) = self.answers {
            let plan = rows.plan(&row, examples.of(&row), inference, |prompt| writer.tokens(prompt))?;
            let max_out_len = rows.dataset.task.max_out_len(&row)?;
            let written = writer.write_turns(number, plan, &max_out_len, answers, &mut self.built.out)?;
            self.built.written.add(written);
            return Ok(());
        }
        for prompt in rows.prompts(&row, examples.of(&row), inference, |prompt| writer.tokens(prompt))? {
            self.built.notes.see(&prompt.conversation, &place);
            self.write(None, number, &prompt)?;
        }
        Ok(())
    }

    fn write(&mut self, id: Option<&str>, number: u64, prompt: &RowPrompt) -> Result<()> {
        let mut digits = itoa::Buffer::new();
        let id = id.unwrap_or_else(|| digits.format(number));
        let written = self.writer.write(id, prompt, &mut self.built.out)?;
        self.built.written.add(written);
        Ok(())
    }
}
