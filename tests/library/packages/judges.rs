//! Judges of the package's configurations: what they are asked here is what the package's evaluators ask them.

use std::collections::{BTreeMap, BTreeSet};

use metatok::dataset::judge::Prediction;
use metatok::dataset::{RowPrompt, RowPrompter};
use metatok::{Dataset, Result, Row};
use serde::Deserialize;
use serde_json::Value;

use super::counts::Counts;
use super::datasets::Known;
use super::package::{Json, Outcome};
use super::templates::Templates;

/// A dataset with rows, what models answered to them, and what the package makes of that.
#[derive(Deserialize)]
pub(crate) struct JudgeLine {
    file: String,
    dataset: Json,
    rows: Vec<Json>,
    /// Of each model, to each row.
    predictions: Vec<Vec<Said>>,
    max_out_len: Option<u64>,
    /// Of each row, as each template gives it.
    prompts: Outcome<Vec<BTreeMap<String, Outcome<Value>>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Text(String),
    Turns(Vec<String>),
}

/// The judges of all files.
pub(crate) struct Judges<'k> {
    known: &'k Known,
    counts: Counts<'k>,
    judges: usize,
    files: BTreeSet<String>,
    refused: BTreeMap<String, usize>,
    unknown_reasons: Vec<String>,
}

impl<'k> Judges<'k> {
    pub(crate) fn new(known: &'k Known) -> Self {
        Self {
            known,
            counts: Counts::new(known),
            judges: 0,
            files: BTreeSet::new(),
            refused: BTreeMap::new(),
            unknown_reasons: Vec::new(),
        }
    }

    pub(crate) fn see(&mut self, line: &JudgeLine, templates: &Templates) {
        // Where models are compared, the line of one comes first.
        let again = usize::from(line.predictions.len() > 1);
        self.judges += 1 - again;
        self.files.insert(line.file.clone());
        match build(line) {
            Ok((max_out_len, prompts)) => {
                if max_out_len != line.max_out_len {
                    let what =
                        format!("{}: max_out_len: there {:?}, here {max_out_len:?}", line.file, line.max_out_len);
                    self.counts.wrong.push(what);
                }
                compare(line, &prompts, templates, &mut self.counts);
            }
            Err(error) => {
                let message = error.to_string();
                match self.known.judge.iter().find(|reason| message.contains(&reason.message)) {
                    Some(reason) => *self.refused.entry(reason.message.clone()).or_default() += 1 - again,
                    None => self.unknown_reasons.push(format!("{}: {message}", line.file)),
                }
            }
        }
    }

    /// Says how many there were.
    pub(crate) fn report(&self, name: &str) {
        let Self { judges, files, refused, counts, .. } = self;
        println!("{name}: judges: {judges} of {} files, refused {refused:?}; {counts}", files.len());
    }

    /// Whether all are as they should be; with all files, whether each reason is one.
    pub(crate) fn check(&self, is_every: bool) {
        self.counts.check();
        assert!(self.unknown_reasons.is_empty(), "refused for reasons not listed: {}", self.unknown_reasons.join("\n"));
        for reason in self.known.judge.iter().filter(|_| is_every) {
            assert!(self.refused.contains_key(&reason.message), "no judge is refused for {:?}", reason.message);
        }
    }
}

/// The limit of the judge's answers, and its prompt of each row.
fn build(line: &JudgeLine) -> Result<(Option<u64>, Vec<RowPrompt>)> {
    let judge = Dataset::parse("dataset.json", line.dataset.get().as_bytes())?.judge()?;
    let mut inference = RowPrompter::new(&judge.dataset, [])?;
    let mut prompts = Vec::new();
    for (i, row) in line.rows.iter().enumerate() {
        let mut row = Row::from_json(row.get())?;
        let predictions: Vec<Prediction> = line.predictions.iter().map(|said| prediction(said, i)).collect();
        judge.columns.add(&mut row, &predictions)?;
        prompts.extend(inference.prompts(&row, Vec::new(), |_| Ok(0))?);
    }
    Ok((judge.dataset.inferencer.max_out_len, prompts))
}

/// What a model answered to a row. The longest dialogue of all rows says how many turns there are.
fn prediction(said: &[Said], row: usize) -> Prediction {
    let turns = said.iter().map(|said| if let Said::Turns(turns) = said { turns.len() } else { 0 }).max();
    match &said[row] {
        Said::Text(text) => Prediction::Text(text.clone()),
        Said::Turns(texts) => {
            let mut texts: Vec<_> = texts.iter().cloned().map(Some).collect();
            texts.resize(turns.unwrap_or_default(), None);
            Prediction::Turns(texts)
        }
    }
}

fn compare(line: &JudgeLine, prompts: &[RowPrompt], templates: &Templates, counts: &mut Counts<'_>) {
    let there = match &line.prompts {
        Outcome::Ok(there) => there,
        Outcome::Error(error) => return counts.wrong.push(format!("{}: there {error}", line.file)),
    };
    assert_eq!(prompts.len(), there.len(), "{}", line.file);
    for (number, (prompt, there)) in prompts.iter().zip(there).enumerate() {
        counts.prompts += 1;
        let place = format!("{} row {number}", line.file);
        for (name, there) in there {
            let here = templates.make(name, &prompt.conversation, metatok::Mode::Generate, false);
            counts.compare(name, &place, there, here);
        }
    }
}
