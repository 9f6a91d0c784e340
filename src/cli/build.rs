//! `metatok build`: conversations in, token ids out.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crate::builder::{BuilderOptions, PromptBuilder};
use crate::cli::answers::Answers;
use crate::cli::args::{BuildArgs, OnError};
use crate::cli::batches::{Batch, batches};
use crate::cli::flags;
use crate::cli::form::{self, Form, Messages, Writer, Written};
use crate::cli::ids::{Id, Ids};
use crate::cli::loaded::Loaded;
use crate::cli::notes::Notes;
use crate::cli::output::{Output, count};
use crate::cli::outputs::Outputs;
use crate::cli::rejects::{Rejected, Rejects, reject, rejects_path};
use crate::cli::rows::Rows;
use crate::cli::say::{InFlags, say};
use crate::cli::source::Source;
use crate::cli::{REJECTED, pipeline, progress, setup, several};
use crate::conversation::Mode;
use crate::dataset::{Dataset, Examples, Line, MissingColumns, PickedRow, RecordReader, RowPrompt, RowPrompter};
use crate::dialect::Model;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::render::ApiTemplate;
use crate::sink::{FormOptions, MessagesJsonl, PromptKey};
use crate::tokenizer::{TokenId, Tokenizer};
use crate::truncate::ContextBudget;

/// What became of a batch.
#[derive(Default)]
struct Built {
    out: Vec<u8>,
    bytes: u64,
    written: Written,
    /// Where the lines stand, and the ids that they give themselves.
    input: Option<Arc<str>>,
    ids: Vec<Id>,
    missing: MissingColumns,
    /// What is to be said of the first row that is not as it should be.
    warning: Option<String>,
    notes: Notes,
    rejected: Vec<Rejected>,
    error: Option<Error>,
}

/// What became of a dataset, or of conversations.
pub(crate) struct Done {
    /// The exit code.
    pub(crate) code: u8,
    pub(crate) prompts: u64,
    /// None of messages.
    pub(crate) tokens: Option<u64>,
}

pub(crate) fn run(args: &BuildArgs) -> Result<ExitCode> {
    flags::check_build(args)?;
    match args.input.dataset.as_deref().map(Dataset::sources).transpose()?.flatten() {
        Some(sources) => several::run(args, &sources),
        None => Ok(ExitCode::from(one(args, &Loaded::default(), None)?.code)),
    }
}

/// Builds conversations, or the rows of one dataset; of several, that of this short name.
pub(crate) fn one(args: &BuildArgs, loaded: &Loaded, abbr: Option<&str>) -> Result<Done> {
    let started = Instant::now();
    let longest = args.input.read.max_line_bytes;
    let source = Source::find_for(&args.input, &args.model)?;
    let mut rows = Rows::open_for_input(&args.input, &source, longest)?;
    if let Some(rows) = rows.as_mut().filter(|_| args.truncate.is_some()) {
        rows.keep_examples();
    }
    outputs(args, &source, rows.as_ref())?;
    flags::check_thoughts(&args.input, args.answers.answers.is_some())?;
    let answers = match &args.answers.answers {
        Some(path) => Some(answers(path, args.input.strip_thoughts, rows.as_ref(), longest)?),
        None => None,
    };
    let form = Arc::new(form(args, loaded, rows.as_ref(), source.is_some())?);
    if !args.quiet {
        rows.iter().for_each(Rows::say_notes);
    }
    let has_input = source.is_some();
    let mut inputs = source.open_or_demo(args.input.columns.as_deref())?;
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
    let batches = batches(inputs, longest, rows.as_ref().as_ref(), args.input.limit)?;
    let of_rows = Arc::clone(&rows);
    let results = pipeline::ordered(setup::threads(args.threads), batches, move || {
        let (form, rows, answers) = (Arc::clone(&shared), Arc::clone(&rows), Arc::clone(&answers));
        let inference = |rows: &Rows| rows.inference().for_server(form.is_for_server());
        let mut inference = rows.as_ref().as_ref().map(inference);
        let mut session = form.session();
        Box::new(move |batch| {
            let rows = rows.as_ref().as_ref().zip(inference.as_mut());
            let missing = rows.as_ref().map(|(rows, _)| rows.missing()).unwrap_or_default();
            let (answers, writer) = (answers.as_ref().as_ref(), form.writer(&mut session));
            let built = Built { missing, ..Built::default() };
            let (reader, mode) = (RecordReader::new(format).for_server(form.is_for_server()), form.mode());
            Work { rows, answers, writer, reader, mode, longest, stop_at_error, built }.batch(batch)
        })
    });

    let (mut written, mut notes, mut has_warned) = (Written::default(), Notes::default(), false);
    let (mut ids, mut missing) = (Ids::default(), MissingColumns::default());
    // A file that is one only when all is there.
    let mut whole = form.sink().filter(|sink| sink.is_whole()).map(|_| Vec::new());
    for built in results {
        progress.inc(built.bytes);
        match &mut whole {
            Some(whole) => whole.extend_from_slice(&built.out),
            None if output.stream(&built.out)?.is_break() => return Ok(done(0, &form, &written)),
            None => {}
        }
        if !args.quiet {
            let notes = omitted(&form, &written, &built.written);
            progress.suspend(|| notes.iter().filter(|note| loaded.is_new(note)).for_each(|note| say!("note: {note}")));
        }
        written.add(built.written);
        notes.append(built.notes);
        missing.add(built.missing);
        if let Some(input) = &built.input {
            ids.see(input, built.ids);
        }
        progress.set_message(count(written.prompts, "prompt"));
        if let Some(warning) = built.warning.filter(|_| !has_warned && !args.quiet) {
            has_warned = true;
            progress.suspend(|| say!("warning: {warning}"));
        }
        for rejected in built.rejected {
            match &mut rejects {
                Some(rejects) => rejects.add(rejected, &progress)?,
                None => {
                    progress.finish_and_clear();
                    say!("{}", rejected.error.in_flags());
                    say!(
                        "stopped there, after {}; --on-error reject goes on without such rows",
                        count(written.prompts, "good one")
                    );
                    return Ok(done(REJECTED, &form, &written));
                }
            }
        }
        if let Some(error) = built.error {
            return Err(error);
        }
    }
    progress.finish_and_clear();
    let rejected = rejects.as_ref().map_or(0, |rejects| rejects.count);
    let unjudged = of_rows.as_ref().as_ref().map(Rows::check_judged).transpose()?.unwrap_or_default();
    if written.prompts + rejected == 0 {
        let kind = if args.input.dataset.is_some() { ErrorKind::NoRows } else { ErrorKind::EmptyInput };
        return Err(Error::from(kind).at(names.join(", ")));
    }
    let lacking = of_rows.as_ref().as_ref().map(|rows| rows.check_missing(&missing)).transpose()?.unwrap_or_default();
    let lacking: Vec<String> = lacking.iter().map(InFlags::in_flags).collect();
    if let (Some(whole), Some(sink)) = (whole, form.sink()) {
        output.write(&sink.finish(&whole)?).map_err(|error| output.failed(error))?;
    }
    output.finish()?;
    if !args.quiet {
        notes.print();
        if written.truncated > 0 {
            let prompts = if written.truncated == 1 { "prompt was" } else { "prompts were" };
            say!("note: {} {prompts} too long and shortened", written.truncated);
        }
        // The demo's answers are known to whoever looks at it.
        if written.answers_omitted > 0 && has_input {
            say!("note: {}", answers_omitted(written.answers_omitted));
        }
        if written.waiting > 0 {
            let dialogues = if written.waiting == 1 { "dialogue waits" } else { "dialogues wait" };
            say!("note: {} {dialogues} for an answer that --answers does not have", written.waiting);
        }
        unjudged.iter().chain(&lacking).chain(&ids.note()).for_each(|note| say!("note: {note}"));
        let Done { prompts, tokens, .. } = done(0, &form, &written);
        let name = abbr.map_or_else(String::new, |abbr| format!("{abbr}: "));
        say!("{name}{}", summary(prompts, tokens, started.elapsed().as_secs_f64()));
    }
    match rejects.filter(|rejects| rejects.count > 0) {
        None => Ok(done(0, &form, &written)),
        Some(rejects) => {
            rejects.finish()?;
            Ok(done(REJECTED, &form, &written))
        }
    }
}

fn done(code: u8, form: &Form, written: &Written) -> Done {
    let tokens = matches!(form, Form::Ids(_)).then_some(written.tokens);
    Done { code, prompts: written.prompts, tokens }
}

/// Looks whether what is written is anything that is read.
fn outputs(args: &BuildArgs, source: &Source, rows: Option<&Rows>) -> Result<()> {
    let mut outputs = Outputs::to("--output", args.output.as_deref());
    if args.on_error == OnError::Reject {
        outputs = outputs.and("--rejects", &rejects_path(args))?;
    }
    outputs.check_inputs(&args.input, source, rows)?;
    outputs.check("--answers", args.answers.answers.as_deref())?;
    outputs.check_model(&args.model, source.is_some())
}

/// The answers of a file, where the turns of rows need any.
fn answers(path: &Path, strip_thoughts: bool, rows: Option<&Rows>, longest: usize) -> Result<Answers> {
    if !rows.is_some_and(Rows::goes_on_from_answers) {
        return Err(ErrorKind::Usage(format!("--answers {}", flags::ANSWERS)).into());
    }
    Answers::read(path, strip_thoughts, longest)
}

/// What prompts are written as, and what makes them.
fn form(args: &BuildArgs, loaded: &Loaded, rows: Option<&Rows>, has_input: bool) -> Result<Form> {
    let mut options = setup::options(&args.prompts, rows);
    if !args.format.has_ids() {
        // Without a model, roles are as OpenAI has them.
        let model = args.model.model.as_deref().map_or_else(|| Ok(Model::default()), Model::load)?;
        let stop = model.stop.strings.iter().chain(&options.stop_strings).cloned().collect();
        let sink = MessagesJsonl::new(stop);
        if !args.quiet {
            setup::notes(&model).filter(|note| loaded.is_new(note)).for_each(|note| say!("{note}"));
        }
        let BuilderOptions { each_message, continue_final_message, mode, .. } = options;
        let is_chat_wrapper = options.chat_wrapper.or(model.chat_wrapper).is_some();
        // A wrapper knows nothing of another model's roles.
        let mut template = match options.chat_wrapper.filter(|_| model.chat_wrapper.is_none()) {
            Some(wrapper) => wrapper.template(),
            None => model.to_api()?,
        };
        if let ApiTemplate::Roles(roles) = &mut template {
            roles.compat = options.compat;
        }
        let check_files = args.check_files;
        return Ok(Form::Messages(Messages {
            template,
            each_message,
            is_chat_wrapper,
            continue_final_message,
            mode,
            sink,
            check_files,
        }));
    }
    flags::check_mode(args, options.mode)?;
    options.spans = args.spans;
    let has_context = args.labels && rows.is_some_and(|rows| rows.dataset.inferencer.has_context());
    options.text = args.text || has_context;
    options.offsets = has_context;
    let (model, tokenizer) = loaded.model(&args.model, has_input)?;
    let fingerprint =
        |tokenizer: &Tokenizer| setup::fingerprint(&args.input, rows, args.truncate, &model, tokenizer, &options);
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;
    if !args.quiet {
        let remarks = setup::remarks(&model, &builder, rows, &options);
        remarks.iter().filter(|remark| loaded.is_new(remark)).for_each(|remark| say!("{remark}"));
    }
    let sink = args.format.open(&builder, form_options(args, || fingerprint(builder.tokenizer()))?)?;
    if sink.is_whole() && args.output.is_none() && io::stdout().is_terminal() {
        let what = "this form is no text for a terminal; name a file with --output";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let BuildArgs { text, labels, check_files, .. } = *args;
    let max_out_len = args.input.max_out_len.map(|max_out_len| max_out_len as u64);
    let budget = budget(args);
    let fingerprint = match args.fingerprint && !sink.is_whole() {
        true => Some(fingerprint(builder.tokenizer())?.to_json()),
        false => None,
    };
    let sampling_params = rows.map(|rows| rows.dataset.inferencer.sampling_params).unwrap_or_default();
    let ids = form::Ids { builder, sink, max_out_len, sampling_params, budget, text, labels, check_files, fingerprint };
    Ok(Form::Ids(Box::new(ids)))
}

/// What a form is told.
fn form_options(args: &BuildArgs, fingerprint: impl FnOnce() -> Result<Fingerprint>) -> Result<FormOptions> {
    #[cfg(feature = "arrays")]
    let (padding_side, pad_to_multiple_of) = (args.padding_side, args.pad_to_multiple_of);
    #[cfg(not(feature = "arrays"))]
    let (padding_side, pad_to_multiple_of) = (None, None);
    Ok(FormOptions {
        attention_mask: args.attention_mask,
        served_model_name: args.served_model_name.clone(),
        padding_side,
        pad_to_multiple_of,
        // Lines have one each, where it is asked for.
        fingerprint: if args.format.accepts.columns { None } else { Some(fingerprint()?) },
    })
}

/// How long prompts may be. Where nothing says what goes, rows lose examples and may still be too long, as in
/// OpenCompass, and conversations are refused.
fn budget(args: &BuildArgs) -> Option<ContextBudget> {
    let max_seq_len = args.input.max_seq_len?;
    if args.truncate.is_none() && args.input.dataset.is_some() {
        return None;
    }
    let (max_out_len, truncation) = (args.input.max_out_len.unwrap_or_default(), args.truncate.unwrap_or_default());
    Some(ContextBudget { max_seq_len, max_out_len, truncation })
}

/// A rate is worth saying only of so many prompts that loading the tokenizer does not decide it.
pub(crate) fn summary(prompts: u64, tokens: Option<u64>, seconds: f64) -> String {
    let rate = match prompts {
        10_000.. => format!(" ({:.0} prompts/s)", prompts as f64 / seconds),
        _ => String::new(),
    };
    let tokens = tokens.map_or_else(String::new, |tokens| format!("{}, ", count(tokens, "token")));
    format!("{}, {tokens}{seconds:.2} s{rate}", count(prompts, "prompt"))
}

/// Says of how many conversations the last message was left out.
pub(crate) fn answers_omitted(conversations: u64) -> String {
    let (end, one) = if conversations == 1 { ("ends", "which is") } else { ("end", "each of which is") };
    format!(
        "{} {end} with an answer, {one} left out for the model to give; --continue-final-message lets the model continue it, --mode ppl scores it",
        count(conversations, "conversation")
    )
}

/// Says which special tokens were left out of the prompts, once each.
fn omitted(form: &Form, before: &Written, now: &Written) -> Vec<String> {
    let names = |ids: &[TokenId]| -> String {
        let name = |id: TokenId| match form {
            Form::Ids(ids) => ids.builder.tokenizer().quoted_token(id),
            Form::Messages(_) => String::new(),
        };
        let names: Vec<String> = ids.iter().map(|&id| format!("{} (id {id})", name(id))).collect();
        names.join(" ")
    };
    let mut notes = Vec::new();
    if before.omitted.is_empty() && !now.omitted.is_empty() {
        notes.push(format!(
            "the template already writes {}, so it is not added again; --special-tokens always would double it",
            names(&now.omitted)
        ));
    }
    if before.omitted_end.is_empty() && !now.omitted_end.is_empty() {
        notes.push(format!(
            "the tokenizer would put {} behind every prompt, and a prompt to continue ends where the model goes on; --special-tokens always would add it",
            names(&now.omitted_end)
        ));
    }
    notes
}

/// Builds a batch.
struct Work<'a> {
    /// How lines become prompts, if they are rows.
    rows: Option<(&'a Rows, &'a mut RowPrompter)>,
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
        self.built.input = Some(Arc::clone(&batch.input));
        let mut examples = std::mem::take(&mut batch.examples).into_iter();
        for (i, (line, range)) in batch.lines.iter().enumerate() {
            let bytes = &batch.bytes[range.clone()];
            let place = || format!("{}: {line}", batch.input);
            let before = (self.built.out.len(), self.built.written.clone());
            let number = batch.first + i as u64;
            let written = line.text(bytes, self.longest).and_then(|text| match self.rows {
                None => self.conversation(text, number, line, place),
                Some(_) => self.row(text, batch.pick(i), examples.next().unwrap_or_default(), line, place),
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

    fn conversation(&mut self, text: &str, number: u64, line: &Line, place: impl Fn() -> String) -> Result<()> {
        let record = self.reader.parse(text)?;
        let id = record.id;
        let own = id.map(|id| Id::new(id, line));
        let mut notes = std::mem::take(&mut self.built.notes);
        notes.see(&record.conversation, &place);
        if self.mode == Mode::Generate {
            notes.see_completion(&record, &place);
        }
        self.built.notes = notes;
        let mut digits = itoa::Buffer::new();
        let key = PromptKey::of(id.unwrap_or_else(|| digits.format(number)));
        self.write(key, &record.into_prompt(self.mode)?)?;
        self.built.ids.extend(own);
        Ok(())
    }

    fn row(
        &mut self,
        text: &str,
        pick: PickedRow,
        examples: Examples,
        line: &Line,
        place: impl Fn() -> String,
    ) -> Result<()> {
        let Some((rows, inference)) = &mut self.rows else { return Ok(()) };
        let Some(row) = rows.row(text, pick)? else { return Ok(()) };
        let key = rows.kept.key(&row, pick)?;
        self.built.missing.see(&row);
        self.built.notes.see_row(&row, &place);
        if self.built.warning.is_none() {
            self.built.warning = rows.warning(&row).map(|warning| format!("{}: {}", place(), warning.in_flags()));
        }
        let writer = &mut self.writer;
        if let Some(answers) = self.answers {
            let plan = rows.plan(&row, examples.of(&row, rows.train())?, inference, |prompt| writer.tokens(prompt))?;
            let max_out_len = rows.dataset.max_out_len(&row)?;
            let written = writer.write_turns(&key, plan, &max_out_len, answers, &mut self.built.out)?;
            self.built.written.add(written);
        } else {
            for prompt in
                rows.prompts(&row, examples.of(&row, rows.train())?, inference, |prompt| writer.tokens(prompt))?
            {
                self.built.notes.see(&prompt.conversation, &place);
                self.write(PromptKey::from(&key), &prompt)?;
            }
        }
        self.built.ids.extend(Id::of_row(&key, line));
        Ok(())
    }

    fn write(&mut self, key: PromptKey<'_>, prompt: &RowPrompt) -> Result<()> {
        let written = self.writer.write(key, prompt, &mut self.built.out)?;
        self.built.written.add(written);
        Ok(())
    }
}
