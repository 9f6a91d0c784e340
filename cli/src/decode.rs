//! `metatok decode`: token ids in, text out.

use std::ops::ControlFlow;
use std::process::ExitCode;

use crate::args::DecodeArgs;
use crate::output::{Output, push_json_line};
use crate::texts;
use metatok::error::{At, Error, ErrorKind, Result};
use metatok::tokenizer::{TokenId, Tokenizer};

pub(crate) fn run(args: &DecodeArgs) -> Result<ExitCode> {
    let tokenizer = texts::load(&args.tokenizer)?;
    let mut output = Output::open(None)?;
    if args.ids.is_empty() || args.ids == ["-"] {
        each_list(args, |list, place| output.stream(&decoded(args, &tokenizer, list).at(place)?))?;
    } else {
        // The reader has closed the pipe.
        let _ = output.stream(&decoded(args, &tokenizer, &args.ids.join(" "))?)?;
    }
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a list for each line of standard input, an empty one for a blank line; one that opens a bracket continues until
/// it is closed.
fn each_list(args: &DecodeArgs, mut visit: impl FnMut(&str, &str) -> Result<ControlFlow<()>>) -> Result<()> {
    let (mut open, mut opened_at) = (String::new(), String::new());
    let most = args.read.max_line_bytes;
    texts::each_line(most, |line, place| {
        // A file may begin with a byte-order mark.
        let line = line.strip_prefix('\u{FEFF}').unwrap_or(line);
        if open.is_empty() {
            place.clone_into(&mut opened_at);
        }
        let stays_open = (!open.is_empty() || line.contains('[')) && !line.contains(']');
        open.push_str(line);
        if open.len() > most {
            return Err(ErrorKind::LineTooLong(most)).at(&opened_at);
        }
        if stays_open {
            open.push(' ');
            return Ok(ControlFlow::Continue(()));
        }
        let list = std::mem::take(&mut open);
        visit(&list, &opened_at)
    })?;
    if !open.is_empty() {
        let what = "a list of ids opens with [ and is never closed".to_owned();
        return Err(ErrorKind::Parse(what)).at(opened_at);
    }
    Ok(())
}

/// The text of a list, as a line.
fn decoded(args: &DecodeArgs, tokenizer: &Tokenizer, list: &str) -> Result<Vec<u8>> {
    let text = tokenizer.decode(&ids(list, tokenizer)?, args.skip_special_tokens)?;
    if args.json {
        let mut line = Vec::new();
        push_json_line(&text, &mut line);
        return Ok(line);
    }
    Ok((text + "\n").into_bytes())
}

/// Numbers between white space, commas and brackets.
fn ids(list: &str, tokenizer: &Tokenizer) -> Result<Vec<TokenId>> {
    let list = list.trim();
    let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list);
    let numbers = inner.split(|c: char| c == ',' || c.is_whitespace()).filter(|number| !number.is_empty());
    let id = |(i, number): (usize, &str)| {
        let id = number.parse().map_err(|_| not_an_id(number));
        id.and_then(|id| tokenizer.check_id(id)).at(format_args!("ids[{i}]"))
    };
    numbers.enumerate().map(id).collect()
}

fn not_an_id(found: &str) -> Error {
    let what = format!("{found:?} is not a token id; ids are whole numbers, such as 1 2 3, or a JSON list of them");
    ErrorKind::Parse(what).into()
}
