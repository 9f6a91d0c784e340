//! Where the answers of `metatok run` go, and what there is of an earlier run.

use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::Path;

use crate::args::RunArgs;
use crate::output::{Output, becomes_a_file};
use crate::say::say;
use metatok::error::{At, ErrorKind, Result, Setting, counted};
use metatok::fingerprint::Fingerprint;
use metatok::input::{Input, RecordPlace, each_line};
use metatok::run::{ResumeOptions, RunAnswers, journal_path};
use metatok::score::ScoredAnswer;

/// Where answers go: to this file when all are complete, or to standard output as they come. None if there is nothing
/// to resume because all answers exist, which is said.
pub(crate) fn open(
    args: &RunArgs,
    fingerprint: impl FnOnce() -> Result<Fingerprint>,
) -> Result<Option<(RunAnswers, Option<Output>)>> {
    let file = args.output.as_deref().filter(|path| becomes_a_file(path));
    let Some(file) = file else {
        if args.resume {
            let what = "--resume needs answers in a file; choose it with --output";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        return Ok(Some((RunAnswers::streamed(), Some(Output::open(args.output.as_deref())?))));
    };
    let journal = journal_path(file);
    if args.resume && !journal.exists() && file.exists() {
        let errors = errors_in(file, args.input.read.max_line_bytes)?;
        if args.server.retry_errors && errors > 0 {
            let what = format!(
                "it has {}, but without {} nothing can be asked again; remove it to start over",
                counted(errors, "error"),
                journal.display()
            );
            return Err(ErrorKind::Usage(what)).at(file.display());
        }
        if !args.quiet {
            let what = if errors == 0 { "the answers are complete" } else { "each line has its answer or its error" };
            say!(
                "nothing to resume: {what}; they are not compared with the input, and without --resume all are made again"
            );
        }
        return Ok(None);
    }
    let resume = ResumeOptions { resume: args.resume, retry_errors: args.server.retry_errors };
    // Only a journal needs the fingerprint, for which all of the tokenizer and the input is read.
    Ok(Some((RunAnswers::journaled(&journal, resume, &fingerprint()?)?, None)))
}

/// How many errors are in place of answers in a file. Rejects one that some other program wrote.
fn errors_in(file: &Path, max_line_bytes: usize) -> Result<u64> {
    #[derive(serde::Deserialize)]
    struct Line {
        error: Option<serde::de::IgnoredAny>,
    }

    let input = Input::new(file.display().to_string(), BufReader::new(File::open(file).at(file.display())?));
    let mut errors = 0;
    let mut lines = 0;
    let each = |place: RecordPlace<'_>, line: Result<&str>| {
        let line = line.map_err(|error| place.of_error(error))?;
        if lines == 0 {
            ScoredAnswer::read(line).map_err(|error| place.of_error(error))?;
        }
        lines += 1;
        errors += u64::from(serde_json::from_str(line).is_ok_and(|Line { error }| error.is_some()));
        Ok(ControlFlow::Continue(()))
    };
    each_line(vec![input], max_line_bytes, each).at(Setting::RESUME)?;
    Ok(errors)
}

/// Prints what an earlier run has done.
pub(crate) fn say_answered(answers: &RunAnswers) {
    match (answers.rows(), answers.refused()) {
        (0, _) => {}
        (rows, 0) => say!("note: {} already answered", counted(rows, "line")),
        (rows, refused) => say!("note: {} already done, with {}", counted(rows, "line"), counted(refused, "error")),
    }
}
