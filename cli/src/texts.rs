//! What `encode`, `decode` and `count` share: a tokenizer, and texts.

use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::args::{TextArgs, TokenizerArgs};
use metatok::builder::TextEncoder;
use metatok::dialect::{Model, load_tokenizer};
use metatok::error::{At, ErrorKind, Result};
use metatok::tokenizer::Tokenizer;

/// UTF-8's byte order mark.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Encodes texts with the tokenizer and the options from the arguments.
pub(crate) fn encoder(tokenizer: &TokenizerArgs, args: &TextArgs) -> Result<TextEncoder> {
    TextEncoder::new(load(tokenizer)?, args.content, args.special_tokens)
}

/// The given tokenizer, or the model's.
pub(crate) fn load(args: &TokenizerArgs) -> Result<Arc<Tokenizer>> {
    let model = args.model.as_deref().map_or_else(|| Ok(Model::default()), Model::load)?;
    args.tokenizer.as_deref().map_or_else(|| model.load_tokenizer(), load_tokenizer).map(Arc::new)
}

/// Visits each line of standard input as it comes in, blank ones too, with its place. A line of more than `longest` bytes
/// ends it, and is not read further.
pub(crate) fn each_line(longest: usize, mut visit: impl FnMut(&str, &str) -> Result<ControlFlow<()>>) -> Result<()> {
    let mut stdin = io::stdin().lock();
    for number in 1_u64.. {
        let mut line = Vec::new();
        // With what may be before the line and at its end.
        let most = (longest as u64).saturating_add(BOM.len() as u64 + 2);
        if stdin.by_ref().take(most).read_until(b'\n', &mut line).at("stdin")? == 0 {
            break;
        }
        if line.ends_with(b"\n") {
            line.pop();
            if line.ends_with(b"\r") {
                line.pop();
            }
        }
        if number == 1 && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        let place = format!("stdin: line {number}");
        if line.len() > longest {
            return Err(ErrorKind::LineTooLong(longest)).at(place);
        }
        if visit(&text(line).at(&place)?, &place)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// All of standard input as a text.
pub(crate) fn stdin() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    text(bytes)
}

/// Bytes as UTF-8 text.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| ErrorKind::not_utf8(error.as_bytes(), error.utf8_error()).into())
}
