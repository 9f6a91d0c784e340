//! The prompts of a dataset dict's rows, dialogues with the answers that the package's side gave.

use metatok::dataset::{InferencerKind, RowPrompt, RowPrompter};
use metatok::{Dataset, Result, Row};

use super::package::{DatasetLine, Json};

/// The prompts of all rows.
pub(crate) struct Built {
    pub(crate) prompts: Vec<Vec<RowPrompt>>,
    /// Whether messages stand one by one, without rounds.
    pub(crate) each_message: bool,
}

impl Built {
    pub(crate) fn of(line: &DatasetLine) -> Result<Self> {
        let dataset = Dataset::parse("dataset.json", line.dataset.get().as_bytes())?;
        let rows = |rows: &[Json]| rows.iter().map(|row| Row::from_json(row.get())).collect::<Result<Vec<Row>>>();
        let (train, rows) = (rows(&line.train)?, rows(&line.rows)?);
        let mut inference = RowPrompter::new(&dataset, &train[..])?.for_server(true);
        let kind = dataset.inferencer.kind;
        let prompts = rows.iter().zip(&line.ids).map(|(row, ids)| match kind.has_turns() {
            false => inference.prompts(row, ids.clone(), |_| Ok(0)),
            true => turns(&mut inference, row, ids.clone(), &line.answers),
        });
        Ok(Self { prompts: prompts.collect::<Result<_>>()?, each_message: kind == InferencerKind::Chat })
    }
}

/// The prompts of all turns, each after the answers to those before.
fn turns(inference: &mut RowPrompter, row: &Row, ids: Vec<i64>, answers: &[String]) -> Result<Vec<RowPrompt>> {
    let mut plan = inference.plan(row, ids, |_| Ok(0))?;
    let (mut prompts, mut answers) = (Vec::new(), answers.iter().cycle());
    while let Some(prompt) = plan.prompt() {
        prompts.push(RowPrompt { turn: plan.turn(), ..prompt.into() });
        plan.answer(answers.next().expect("there are answers").as_str());
    }
    Ok(prompts)
}
