//! `metatok score --texts`: the label of each row that a server found the likeliest, scored as the row's answer.

use std::ops::ControlFlow;
use std::path::Path;

use crate::args::{ScoreArgs, Shape};
use crate::output::Output;
use crate::source::Source;
use metatok::error::{At, Place, Result};
use metatok::input::{self, Input};
use metatok::score::{LogLikelihoods, PickedLabel, Scorer, Tally, TextsToScore, scored_line};

/// Scores each file of answers with the same texts.
pub(crate) fn by_dataset(
    args: &ScoreArgs,
    path: &Path,
    source: Source,
    scorer: &Scorer,
    details: &mut Option<Output>,
) -> Result<Vec<(String, Tally)>> {
    let (longest, run_id) = (args.read.max_line_bytes, args.run_id.run_id.as_deref());
    let mut texts = TextsToScore::read(Input::open(path)?, longest)?;
    if let Some(length) = args.normalize_by {
        texts = texts.normalized_by(length.into()).at(Place::file(path.display()))?;
    }
    let found =
        input::by_dataset(source.open(Shape::default())?, longest, "answer", |found: &mut LogLikelihoods, line| {
            found.add(&texts, line, run_id).map(ControlFlow::Continue)
        })?;
    let tally = |(dataset, found): (String, LogLikelihoods)| {
        let rows = texts.picked(&found);
        Ok((dataset, tally(rows, scorer, &args.reference, details).at(Place::file(path.display()))?))
    };
    found.into_iter().map(tally).collect()
}

fn tally<'t>(
    rows: impl Iterator<Item = PickedLabel<'t>>,
    scorer: &Scorer,
    column: &str,
    details: &mut Option<Output>,
) -> Result<Tally> {
    let mut tally = Tally::default();
    for row in rows {
        let score = row.score(scorer, column).at(format_args!("id {}", row.id))?;
        tally.add(score.as_ref());
        if let Some(details) = details {
            let line = serde_json::to_string(&row).expect("its keys are strings");
            // The result is of all rows, even if nobody reads all of these lines.
            let _ = details.stream_line(&scored_line(&line, &row.answer(), score.as_ref())?)?;
        }
    }
    Ok(tally)
}
