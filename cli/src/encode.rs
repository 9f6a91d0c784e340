//! `metatok encode`: plain texts in, token ids out.

use std::process::ExitCode;

use crate::args::EncodeArgs;
use crate::output::{self, Output};
use crate::texts::{self, each_line, encoder};
use metatok::builder::TextEncoder;
use metatok::error::{At, Result};
use metatok::sink::write_ids;
use metatok::tokenizer::TokenId;

pub(crate) fn run(args: &EncodeArgs) -> Result<ExitCode> {
    let encoder = encoder(&args.tokenizer, &args.text)?;
    if args.lines {
        return lines(&encoder, args.max_line_bytes);
    }
    let mut out = Vec::new();
    if args.texts.is_empty() || args.texts == ["-"] {
        push(&texts::stdin().and_then(|text| encoder.encode(&text)).at("stdin")?, &mut out);
    } else {
        for text in &args.texts {
            push(&encoder.encode(text)?, &mut out);
        }
    }
    output::to_stdout(out)
}

/// A list for each line, blank ones too, as the lines come in.
fn lines(encoder: &TextEncoder, longest: usize) -> Result<ExitCode> {
    let mut output = Output::open(None)?;
    each_line(longest, |line, place| {
        let mut out = Vec::new();
        push(&encoder.encode(line).at(place)?, &mut out);
        output.stream(&out)
    })?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn push(ids: &[TokenId], out: &mut Vec<u8>) {
    write_ids(ids, out);
    out.push(b'\n');
}
