//! `metatok count`: how many tokens text files have.

use std::path::Path;
use std::process::ExitCode;

use crate::args::CountArgs;
use crate::output;
use crate::source::is_dash;
use crate::texts::{encoder, stdin, text};
use metatok::error::{At, Result};
use metatok::input::local;

pub(crate) fn run(args: &CountArgs) -> Result<ExitCode> {
    let encoder = encoder(&args.tokenizer, &args.text)?;
    let count = |text: String| encoder.encode(&text).map(|ids| ids.len());
    if args.files.is_empty() {
        return output::to_stdout(format!("{}\n", stdin().and_then(count).at("stdin")?).into_bytes());
    }
    let mut rows = Vec::new();
    for path in &args.files {
        let tokens = read(path).and_then(count).at(path.display())?;
        rows.push((tokens, path.display().to_string()));
    }
    if rows.len() > 1 {
        rows.push((rows.iter().map(|(tokens, _)| tokens).sum(), "total".to_owned()));
    }
    let widest = rows.iter().map(|(tokens, _)| tokens.to_string().len()).max().unwrap_or(0);
    let lines = rows.iter().map(|(tokens, name)| format!("{tokens:widest$} {name}\n"));
    output::to_stdout(lines.collect::<String>().into_bytes())
}

fn read(path: &Path) -> Result<String> {
    if is_dash(path) { stdin() } else { text(std::fs::read(local(path)?)?) }
}
