//! From arguments to a builder and readers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::assemble::ContentTrust;
use crate::builder::BuilderOptions;
use crate::cli::args::{ContentArg, ModeArg, ModelArgs, SpecialTokensArg};
use crate::conversation::{Conversation, Mode};
use crate::dataset::{Lines, Record};
use crate::dialect::{Model, demo_conversations};
use crate::error::{At, Result};
use crate::tokenizer::{SpecialTokens, Tokenizer};

/// What a command builds with, before its own options.
pub(crate) fn options(args: &ModelArgs) -> BuilderOptions {
    BuilderOptions {
        mode: args.mode.map_or(Mode::Generate, mode),
        special_tokens: args.special_tokens.map(|when| match when {
            SpecialTokensArg::Auto => SpecialTokens::Auto,
            SpecialTokensArg::Always => SpecialTokens::Always,
            SpecialTokensArg::Never => SpecialTokens::Never,
        }),
        content: match args.content {
            ContentArg::Data => ContentTrust::Data,
            ContentArg::Trusted => ContentTrust::Trusted,
        },
        reserve: args.reserve.clone(),
        stop_token_ids: args.stop_id.clone(),
        stop_strings: args.stop.clone(),
        round_fallback: args.round_fallback,
        ..BuilderOptions::default()
    }
}

pub(crate) fn mode(mode: ModeArg) -> Mode {
    match mode {
        ModeArg::Gen => Mode::Generate,
        ModeArg::Ppl => Mode::Score,
    }
}

/// Loads the model and its tokenizer.
pub(crate) fn load(args: &ModelArgs) -> Result<(Model, Arc<Tokenizer>)> {
    let model = Model::load(&args.model)?;
    let tokenizer = match args.tokenizer.as_deref() {
        None => model.load_tokenizer()?,
        // A built-in model stands for its tokenizer, unless a file or directory has that name.
        Some(name) if !Path::new(name).exists() && Model::builtin_file(name).is_some() => {
            Model::load(name)?.load_tokenizer()?
        }
        Some(name) => Tokenizer::load(name)?,
    };
    Ok((model, Arc::new(tokenizer)))
}

/// The threads that build.
pub(crate) fn threads(args: &ModelArgs) -> usize {
    args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// An input with its name, and its length where that is known.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) reader: Box<dyn BufRead + Send>,
    pub(crate) bytes: Option<u64>,
}

/// Opens every input before anything is read; without any, the demo's conversations.
pub(crate) fn inputs(paths: &[PathBuf]) -> Result<Vec<Input>> {
    if paths.is_empty() {
        let text = demo_conversations();
        return Ok(vec![Input {
            name: "demo".into(),
            reader: Box::new(Cursor::new(text)),
            bytes: Some(text.len() as u64),
        }]);
    }
    paths.iter().map(|path| open(path).at(path.display())).collect()
}

/// Reads every conversation of every input, in order, until `visit` breaks off. A line that holds none
/// is an error, which `visit` gets with its place.
pub(crate) fn each_conversation(
    inputs: Vec<Input>,
    longest: usize,
    mut visit: impl FnMut(&str, Result<Conversation>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    each_line(inputs, longest, |place, line| {
        let record = line.and_then(Record::parse).map(|record| record.conversation);
        visit(place, record.at(place))
    })
}

/// Reads every line of every input, in order, until `visit` breaks off.
pub(crate) fn each_line(
    inputs: Vec<Input>,
    longest: usize,
    mut visit: impl FnMut(&str, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    for input in inputs {
        let mut lines = Lines::new(input.reader, longest);
        let mut bytes = Vec::new();
        while let Some(line) = lines.next_into(&mut bytes).at(&input.name)? {
            let place = format!("{}: line {}", input.name, line.number);
            if visit(&place, line.text(&bytes, longest))?.is_break() {
                return Ok(());
            }
            bytes.clear();
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<Input> {
    if path == Path::new("-") {
        return Ok(Input { name: "stdin".into(), reader: Box::new(BufReader::new(io::stdin())), bytes: None });
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    Ok(Input {
        name: path.display().to_string(),
        reader: Box::new(BufReader::with_capacity(1 << 18, file)),
        bytes: metadata.is_file().then_some(metadata.len()),
    })
}
