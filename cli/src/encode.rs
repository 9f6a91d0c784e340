//! `metatok encode`: plain texts in, token ids out.

use std::io::{self, BufRead, Read};
use std::process::ExitCode;

use crate::args::EncodeArgs;
use crate::output::{self, Output};
use crate::texts::{encoder, text};
use metatok::builder::TextEncoder;
use metatok::error::{At, Result};
use metatok::sink::write_ids;
use metatok::tokenizer::TokenId;

pub(crate) fn run(args: &EncodeArgs) -> Result<ExitCode> {
    let encoder = encoder(&args.tokenizer, &args.text)?;
    if args.lines {
        return lines(&encoder);
    }
    let mut out = Vec::new();
    if args.texts.is_empty() || args.texts == ["-"] {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).at("stdin")?;
        push(&text(bytes).and_then(|text| encoder.encode(&text)).at("stdin")?, &mut out);
    } else {
        for text in &args.texts {
            push(&encoder.encode(text)?, &mut out);
        }
    }
    output::to_stdout(out)
}

/// A list for each line, blank ones too, as the lines come in.
fn lines(encoder: &TextEncoder) -> Result<ExitCode> {
    let (mut stdin, mut output) = (io::stdin().lock(), Output::open(None)?);
    for number in 1_u64.. {
        let (mut line, mut out) = (Vec::new(), Vec::new());
        if stdin.read_until(b'\n', &mut line).at("stdin")? == 0 {
            break;
        }
        if line.ends_with(b"\n") {
            line.pop();
        }
        if line.ends_with(b"\r") {
            line.pop();
        }
        let ids = text(line).and_then(|line| encoder.encode(&line));
        push(&ids.at(format_args!("stdin: line {number}"))?, &mut out);
        if output.stream(&out)?.is_break() {
            return Ok(ExitCode::SUCCESS);
        }
    }
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn push(ids: &[TokenId], out: &mut Vec<u8>) {
    write_ids(ids, out);
    out.push(b'\n');
}
