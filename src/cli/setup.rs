//! From arguments to a builder and readers.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::assemble::ContentTrust;
use crate::builder::{BuilderOptions, PromptBuilder};
use crate::cli::args::{
    ContentArg, InputArgs, ModeArg, ModelArgs, PromptArgs, SpecialTokensArg, StopArgs, TemplateArgs, WrapperArg,
};
use crate::cli::rows::Rows;
use crate::cli::say::InFlags;
use crate::cli::source::{BUFFER, Source};
use crate::conversation::Mode;
use crate::dataset::{
    Holds, InputFormat, RecordReader, Records, RowPrompt, check_nesting, decompressed, is_compressed, rows_of,
};
use crate::dialect::{ConversationTemplate, Model, demo_conversations};
use crate::error::{At, ErrorKind, Result};
use crate::fingerprint::{Fingerprint, hex};
use crate::render::ChatWrapper;
use crate::tokenizer::{AddSpecialTokens, Tokenizer, dataset_file};
use crate::truncate::Truncation;
use crate::wording;

/// What a command builds with, before its own options.
pub(crate) fn options(args: &PromptArgs, rows: Option<&Rows>) -> BuilderOptions {
    let mut options =
        BuilderOptions { special_tokens: args.special_tokens.map(special_tokens), ..template_options(&args.template) };
    let StopArgs { stop_id, stop } = &args.stop;
    options.stop_token_ids.clone_from(stop_id);
    options.stop_strings.clone_from(stop);
    if let Some(rows) = rows {
        rows.set(&mut options, args);
    }
    options
}

/// What a command builds with that neither adds special tokens nor stops.
pub(crate) fn template_options(args: &TemplateArgs) -> BuilderOptions {
    BuilderOptions {
        mode: args.mode.map_or(Mode::Generate, mode),
        content: args.content.map_or_else(ContentTrust::default, content),
        reserve: args.reserve.clone(),
        unreserve: args.unreserve.clone(),
        round_fallback: args.round_fallback,
        chat_wrapper: args.wrapper.map(wrapper),
        continue_final_message: args.continue_final_message,
        ..BuilderOptions::default()
    }
}

/// What people should know of a model, to be said.
pub(crate) fn notes(model: &Model) -> impl Iterator<Item = String> {
    model.notes().into_iter().map(|note| format!("note: {}", note.in_flags()))
}

/// The same, and what is likely to be wrong with token ids by it, to be said.
pub(crate) fn remarks(
    model: &Model,
    builder: &PromptBuilder,
    rows: Option<&Rows>,
    options: &BuilderOptions,
) -> Vec<String> {
    let strings = rows.and_then(|rows| rows.warn_of_strings(model, options));
    let warnings = builder.warnings().map(InFlags::in_flags).chain(strings);
    notes(model).chain(warnings.map(|warning| format!("warning: {warning}"))).collect()
}

/// What a command trims with.
pub(crate) fn stop_options(args: &StopArgs) -> BuilderOptions {
    BuilderOptions {
        stop_token_ids: args.stop_id.clone(),
        stop_strings: args.stop.clone(),
        ..BuilderOptions::default()
    }
}

/// Refuses an answer that takes all of the context.
pub(crate) fn check_room(max_seq_len: Option<usize>, max_out_len: Option<usize>) -> Result<()> {
    match (max_seq_len, max_out_len) {
        (Some(max_seq_len), Some(max_out_len)) if max_out_len >= max_seq_len => {
            let what = format!("`--max-out-len {max_out_len}` leaves no room in `--max-seq-len {max_seq_len}`");
            Err(ErrorKind::Usage(what).into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn special_tokens(when: SpecialTokensArg) -> AddSpecialTokens {
    match when {
        SpecialTokensArg::Auto => AddSpecialTokens::Auto,
        SpecialTokensArg::Always => AddSpecialTokens::Always,
        SpecialTokensArg::Never => AddSpecialTokens::Never,
    }
}

pub(crate) fn content(content: ContentArg) -> ContentTrust {
    match content {
        ContentArg::Data => ContentTrust::Data,
        ContentArg::Trusted => ContentTrust::Trusted,
    }
}

pub(crate) fn mode(mode: ModeArg) -> Mode {
    match mode {
        ModeArg::Gen => Mode::Generate,
        ModeArg::Ppl => Mode::Score,
    }
}

fn wrapper(wrapper: WrapperArg) -> ChatWrapper {
    match wrapper {
        WrapperArg::OpencompassChat => ChatWrapper::OpenCompass,
        WrapperArg::AisbenchChat => ChatWrapper::AisBench,
    }
}

/// Where the weights are, if nothing else is said: where the tokenizer is.
pub(crate) fn weights_name(args: &ModelArgs, has_input: bool) -> Result<String> {
    of_tokenizer(args.tokenizer.as_deref(), &model(args, has_input)?, Model::tokenizer_name, |name| Ok(name.to_owned()))
}

/// Loads the model and its tokenizer. The demo stands in for them only where nothing at all is named.
pub(crate) fn load(args: &ModelArgs, has_input: bool) -> Result<(Model, Arc<Tokenizer>)> {
    let model = model(args, has_input)?;
    if args.conversation.is_none() {
        // Before a tokenizer is fetched for nothing.
        model.check_gives_ids()?;
    }
    let tokenizer = of_tokenizer(args.tokenizer.as_deref(), &model, Model::load_tokenizer, Tokenizer::load)?;
    Ok((with_conversation(args, model)?, Arc::new(tokenizer)))
}

fn model(args: &ModelArgs, has_input: bool) -> Result<Model> {
    match (&args.model, &args.conversation, &args.tokenizer) {
        (Some(name), _, _) => Model::load(name),
        (None, Some(_), Some(_)) => Ok(Model::default()),
        (None, Some(_), None) => {
            let what = "--conversation is a template and has no tokenizer; name one with --tokenizer, such as a folder or a repository of the hub";
            Err(ErrorKind::Usage(what.into()).into())
        }
        (None, None, None) if !has_input => Model::load("demo"),
        (None, None, _) => {
            let what = "name the model whose template is used: --model NAME (`metatok models` lists what is built in), --model FILE, or --model demo to try things";
            Err(ErrorKind::Usage(what.into()).into())
        }
    }
}

/// Something of the tokenizer: a model's own, or one that --tokenizer names.
pub(crate) fn of_tokenizer<T>(
    name: Option<&str>,
    model: &Model,
    of_model: impl Fn(&Model) -> Result<T>,
    named: impl Fn(&str) -> Result<T>,
) -> Result<T> {
    match name {
        None => of_model(model),
        // A built-in model stands for its tokenizer, unless a file or directory has that name.
        Some(name) if !Path::new(name).exists() && Model::builtin_file(name).is_some() => of_model(&Model::load(name)?),
        Some(name) => named(name),
    }
}

/// What the ids of prompts depend on, their rows apart.
pub(crate) fn fingerprint(
    args: &InputArgs,
    rows: Option<&Rows>,
    truncate: Option<Truncation>,
    model: &Model,
    tokenizer: &Tokenizer,
    options: &BuilderOptions,
) -> Result<Fingerprint> {
    let mut fingerprint = Fingerprint::new(model, tokenizer, options);
    if let Some(rows) = rows {
        fingerprint = rows.fingerprint(fingerprint)?;
    }
    if let Some(count) = args.num_fewshot {
        fingerprint = fingerprint.with("num_fewshot", count);
    }
    if let Some(layout) = args.layout {
        fingerprint = fingerprint.with("layout", layout.name());
    }
    if let Some(mode) = args.infer_mode.and_then(|mode| mode.to_possible_value()) {
        fingerprint = fingerprint.with("infer_mode", mode.get_name());
    }
    // A conversation that is too long is refused unless something may go.
    let truncate = truncate.filter(|what| args.dataset.is_some() || *what != Truncation::Refuse);
    if let Some(truncate) = truncate {
        fingerprint = fingerprint.with("truncate", serde_json::json!(truncate));
    }
    if let Some(max_seq_len) = args.max_seq_len.filter(|_| args.dataset.is_some() || truncate.is_some()) {
        fingerprint = fingerprint.with("max_seq_len", max_seq_len);
        if let Some(max_out_len) = args.max_out_len {
            fingerprint = fingerprint.with("max_out_len", max_out_len);
        }
    }
    if args.input_format != InputFormat::Auto {
        fingerprint = fingerprint.with("input_format", args.input_format.to_string());
    }
    if args.strip_thoughts && !args.judge.is_empty() {
        fingerprint = fingerprint.with("strip_thoughts", true);
    }
    if args.arrow_compat {
        fingerprint = fingerprint.with("arrow_compat", true);
    }
    Ok(fingerprint)
}

/// What is in a file, in few bytes.
pub(crate) fn digest_of_file(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hash));
    copied.at(path.display())?;
    Ok(hex(hash))
}

/// The model, or the conversation template in its place.
fn with_conversation(args: &ModelArgs, model: Model) -> Result<Model> {
    let Some(name) = &args.conversation else { return Ok(model) };
    let template = ConversationTemplate::load(name)?;
    Ok(Model { name: name.clone(), conversation_template: Some(template), ..Model::default() })
}

/// The threads that build.
pub(crate) fn threads(threads: Option<u16>) -> usize {
    threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// An input with its name, and its length where that is known.
pub(crate) struct Input {
    pub(crate) name: String,
    /// What errors count: lines, or the rows of a file that has none.
    pub(crate) unit: &'static str,
    pub(crate) reader: Box<dyn BufRead + Send>,
    pub(crate) bytes: Option<u64>,
}

impl Input {
    /// Whether its lines come when somebody writes them.
    pub(crate) fn may_wait(&self) -> bool {
        self.unit == "line" && self.bytes.is_none()
    }

    pub(crate) fn stdin(reader: BufReader<io::Stdin>) -> Self {
        Self { name: "stdin".into(), unit: "line", reader: decompressed(reader), bytes: None }
    }
}

/// The demo's conversations.
pub(crate) fn demo_input() -> Input {
    let text = demo_conversations();
    let reader = Box::new(Cursor::new(text));
    Input { name: "demo".into(), unit: "line", reader, bytes: Some(text.len() as u64) }
}

/// A file that is named.
pub(crate) fn file(path: &Path) -> Result<Vec<Input>> {
    Source::Files(vec![path.to_owned()]).open(None)
}

/// Reads every conversation of every input, in order, until `visit` breaks off. A record that holds none
/// is an error, which `visit` gets with its place.
pub(crate) fn each_conversation(
    inputs: Vec<Input>,
    format: InputFormat,
    longest: usize,
    mode: Mode,
    mut visit: impl FnMut(&str, Result<RowPrompt>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let reader = RecordReader::new(format);
    each_record(inputs, Holds::Conversations, longest, |place, line| {
        let prompt = line.and_then(|line| reader.parse(line)).and_then(|record| record.into_prompt(mode));
        visit(place, prompt.at(place))
    })
}

/// A line of JSON.
pub(crate) fn from_json<'l, T: Deserialize<'l>>(line: &'l str) -> Result<T> {
    check_nesting(line)?;
    Ok(serde_json::from_str(line).map_err(|error| wording::in_line(&error))?)
}

/// Tells line by line whether it is the last of so many.
pub(crate) fn limit(limit: Option<usize>) -> impl FnMut() -> ControlFlow<()> {
    let mut left = limit.unwrap_or(usize::MAX);
    move || {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Reads every line of every input, in order, until `visit` breaks off.
pub(crate) fn each_line(
    inputs: Vec<Input>,
    longest: usize,
    visit: impl FnMut(&str, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    each_record(inputs, Holds::Lines, longest, visit)
}

/// Reads every record of every input, in order, until `visit` breaks off.
pub(crate) fn each_record(
    inputs: Vec<Input>,
    holds: Holds,
    longest: usize,
    mut visit: impl FnMut(&str, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    for input in inputs {
        let mut records = Records::new(input.reader, input.unit, longest, holds);
        let mut bytes = Vec::new();
        while let Some(line) = records.next_into(&mut bytes).at(&input.name)? {
            let place = format!("{}: {line}", input.name);
            if visit(&place, line.text(&bytes, longest))?.is_break() {
                return Ok(());
            }
            bytes.clear();
        }
    }
    Ok(())
}

/// What the input's files hold.
pub(crate) fn holds(has_rows: bool) -> Holds {
    if has_rows { Holds::Rows } else { Holds::Conversations }
}

/// A file, of the hub as it is in the cache.
pub(crate) fn local(path: &Path) -> Result<Cow<'_, Path>> {
    match path.to_str().filter(|name| name.starts_with("hf://")) {
        Some(url) => dataset_file(url).map(Cow::Owned),
        None => Ok(Cow::Borrowed(path)),
    }
}

pub(crate) fn open(path: &Path, columns: Option<&[String]>) -> Result<Input> {
    if path == Path::new("-") {
        return Ok(Input::stdin(BufReader::with_capacity(BUFFER, io::stdin())));
    }
    let name = path.display().to_string();
    let local = local(path)?;
    let file = File::open(&local)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    let (reader, has_no_lines) = rows_of(&local, file, columns)?;
    let unit = if has_no_lines { "row" } else { "line" };
    let bytes = (metadata.is_file() && !has_no_lines && !is_compressed(&local)).then_some(metadata.len());
    Ok(Input { name, unit, reader, bytes })
}
