//! Models' answers from files for a judge, matched to the rows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::answers::{Asker, RecordedAnswer, each_answer, of_no, of_row, string_id, twice};
use crate::dataset::{Dataset, Judge, Prediction, PredictionColumns, Row, RowKey};
use crate::error::{At, ErrorKind, Place, Result, Setting, Warning, counted, way_out};
use crate::input::Input;
use crate::prepared::DatasetOptions;
use crate::turns::{UnfinishedThoughts, without_thoughts};

/// The models' answers to the rows. All are kept in memory.
#[derive(Debug)]
pub(crate) struct Judged {
    columns: PredictionColumns,
    /// Warnings about the judge.
    pub(crate) notes: Vec<Warning>,
    models: Vec<Model>,
    strict: bool,
    tally: Mutex<AnswerCounts>,
}

/// The answers of a model.
#[derive(Debug)]
struct Model {
    /// Its file.
    name: String,
    digest: String,
    rows: HashMap<Asker, RowAnswers>,
    /// The answers whose ids are those of requests, by these ids.
    requests: HashMap<String, (Asker, Option<usize>)>,
    /// The first answer's id.
    first: Option<String>,
    /// How many turns the longest dialogue has.
    turns: usize,
    unfinished: UnfinishedThoughts,
}

/// A model's answers to a row, by turn. An answer without a turn is the only one.
#[derive(Debug, Clone, Default)]
struct RowAnswers {
    line: usize,
    by_turn: BTreeMap<Option<usize>, Option<String>>,
}

/// Which answers to a row the judge sees.
struct JudgedTurns {
    /// The turns that the models are asked for; none if they are not asked turn by turn.
    turns: Vec<usize>,
    /// Whether the judge sees each of them.
    sees_each: bool,
}

/// Why there is nothing to judge.
enum Lack {
    Answer,
    /// The answer is an error.
    Failed,
}

/// How many rows are judged, and why others are not.
#[derive(Debug, Default)]
struct AnswerCounts {
    judged: u64,
    /// The first row that is not judged, by its number, with its id.
    first: Option<(usize, String)>,
    models: Vec<TallyOfModel>,
}

#[derive(Debug, Default)]
struct TallyOfModel {
    unanswered: u64,
    failed: u64,
    /// The answers that were found, by their numbers, and the id of the row that each is of.
    found: HashMap<usize, String>,
}

impl Judged {
    /// Reads each model's file, and replaces the dataset with the judge's; none if no judge is asked.
    pub(crate) fn open(options: &DatasetOptions, dataset: &mut Dataset) -> Result<Option<Self>> {
        let DatasetOptions { judge: files, run_id, strip_thoughts, strict, max_line_bytes: longest, .. } = options;
        if files.is_empty() {
            return Ok(None);
        }
        let Judge { dataset: of_judge, columns, notes } = dataset.judge()?;
        columns.check_models(files.len()).at(Setting::JUDGE).at(Place::file(&dataset.name))?;
        *dataset = of_judge;
        let read = |path: &PathBuf| Model::read(path, run_id.as_deref(), *strip_thoughts, *longest);
        let models = files.iter().map(read).collect::<Result<Vec<_>>>()?;
        let tally = AnswerCounts {
            models: models.iter().map(|_| TallyOfModel::default()).collect(),
            ..AnswerCounts::default()
        };
        Ok(Some(Self { columns, notes, models, strict: *strict, tally: Mutex::new(tally) }))
    }

    /// A hash of the files.
    pub(crate) fn digest(&self) -> String {
        self.models.iter().map(|model| model.digest.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Adds the answers to a row. Returns whether there are any to judge.
    ///
    /// # Errors
    /// The same as for [`PredictionColumns::add`]; for a row without an answer, if that is rejected.
    pub(crate) fn add(&self, row: &mut Row, key: &RowKey, number: usize) -> Result<bool> {
        let Some(predictions) = self.predictions(row, key, number)? else { return Ok(false) };
        self.columns.add(row, &predictions)?;
        self.tally().judged += 1;
        Ok(true)
    }

    /// Each model's answer to a row, if all have one.
    fn predictions(&self, row: &Row, key: &RowKey, number: usize) -> Result<Option<Vec<Prediction>>> {
        let asked = JudgedTurns { turns: self.columns.asked_turns(row)?, sees_each: self.columns.sees_turns };
        let mut tally = self.tally();
        let answers = self.models.iter().zip(&mut tally.models);
        let answers =
            answers.map(|(model, tally)| model.prediction(key, &asked, &mut tally.found).at(Place::file(&model.name)));
        // All models are asked before any error, so that every answer to the row counts as found.
        let answers = answers.collect::<Result<Vec<_>>>()?;
        let mut predictions = Vec::with_capacity(answers.len());
        for (i, (model, answers)) in self.models.iter().zip(answers).enumerate() {
            match answers {
                Ok(prediction) => predictions.push(prediction),
                Err(lack) if self.strict => {
                    let what = format!("{} to id {}", lack.text(), key.id);
                    return Err(ErrorKind::Row(what)).at(Place::file(&model.name));
                }
                Err(lack) => {
                    tally.leave_out(i, &lack, number, key.id.get());
                    return Ok(None);
                }
            }
        }
        Ok(Some(predictions))
    }

    /// Warnings at the end about rows without answers, and answers without rows.
    ///
    /// # Errors
    /// If no row has an answer.
    pub(crate) fn check(&self) -> Result<Vec<Warning>> {
        let tally = self.tally();
        let left_out: u64 = tally.models.iter().map(|model| model.unanswered + model.failed).sum();
        let rows = tally.judged + left_out;
        let mut notes = Vec::new();
        for (model, of_model) in self.models.iter().zip(&tally.models) {
            let TallyOfModel { unanswered, failed, found } = of_model;
            if tally.judged == 0 && unanswered + failed > 0 {
                return Err(model.nothing_found(rows, *failed, tally.first.as_ref()));
            }
            for (lacking, lack) in [(*unanswered, Lack::Answer), (*failed, Lack::Failed)] {
                if lacking > 0 {
                    let of = format!("{lacking} of {}", counted(rows, "row"));
                    let way_out = way_out!["such rows have no prompt (", Setting::STRICT, " rejects them)"];
                    let note = Warning::new(lack.code(), format!("{} to {of}", lack.text())).with_way_out(way_out);
                    notes.push(note.at(Place::file(&model.name)));
                }
            }
            notes.extend(model.unused(found));
            notes.extend(model.unfinished.warning().map(|note| note.at(Place::file(&model.name))));
        }
        Ok(notes)
    }

    fn tally(&self) -> MutexGuard<'_, AnswerCounts> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model {
    fn read(path: &Path, run_id: Option<&str>, strip_thoughts: bool, longest: usize) -> Result<Self> {
        let mut model = Self {
            name: path.display().to_string(),
            digest: String::new(),
            rows: HashMap::new(),
            requests: HashMap::new(),
            first: None,
            turns: 0,
            unfinished: UnfinishedThoughts::default(),
        };
        model.digest = each_answer(Input::open(path)?, run_id, longest, |asker, answer| {
            model.first.get_or_insert_with(|| asker.0.clone());
            if let Some(id) = &answer.request_id {
                model.requests.insert(id.clone(), (asker.clone(), answer.turn));
            }
            if strip_thoughts {
                model.unfinished.see(answer.text.as_deref().unwrap_or_default(), &asker.0);
            }
            let line = model.rows.len();
            let answers =
                model.rows.entry(asker.clone()).or_insert_with(|| RowAnswers { line, ..RowAnswers::default() });
            answers.insert(answer, strip_thoughts, &asker)?;
            model.turns = model.turns.max(answers.by_turn.len());
            Ok(())
        })?;
        Ok(model)
    }

    /// The model's answer to a row.
    fn prediction(
        &self,
        key: &RowKey,
        asked: &JudgedTurns,
        found: &mut HashMap<usize, String>,
    ) -> Result<std::result::Result<Prediction, Lack>> {
        let own = if key.repeat.is_none() { self.requests.get(&*string_id(key.id.get())) } else { None };
        let answers = match own {
            Some((asker, turn)) => self.rows.get(asker).map(|answers| Cow::Owned(answers.only(*turn))),
            None => of_row((key.id.get(), key.repeat), |asker| self.rows.get(asker)).map(Cow::Borrowed),
        };
        let Some(answers) = answers else { return Ok(Err(Lack::Answer)) };
        let of_other_row = found.insert(answers.line, key.id.to_string()).filter(|row| row != key.id.get());
        if let Some(other) = of_other_row {
            let what = format!(
                "an answer could be of this row or of the row {other}, because one id is the other and \"-turn-\" or \"-repeat-\""
            );
            return Err(ErrorKind::Row(what).with_way_out("give the rows other ids"));
        }
        asked.check(&answers, key)?;
        let Some(mut texts) = answers.by_turn.values().cloned().collect::<Option<Vec<String>>>() else {
            return Ok(Err(Lack::Failed));
        };
        Ok(match asked.sees_each {
            true if texts.len() < asked.turns.len() => Err(Lack::Answer),
            true => {
                let mut texts: Vec<Option<String>> = texts.into_iter().map(Some).collect();
                texts.resize(self.turns, None);
                Ok(Prediction::Turns(texts))
            }
            false => texts.pop().map(Prediction::Text).ok_or(Lack::Answer),
        })
    }

    /// The error if none of the rows has an answer.
    fn nothing_found(&self, rows: u64, failed: u64, first: Option<&(usize, String)>) -> crate::Error {
        let id = |id: Option<&String>| id.map_or("none", String::as_str).to_owned();
        let rows = counted(rows, "row");
        let what = match failed {
            0 => format!(
                "there is no answer to any of {rows}; the first answer's id is {}, the first row's {}: an answer must have the id (and repeat and turn) of its prompt",
                id(self.first.as_ref()),
                id(first.map(|(_, id)| id))
            ),
            failed => format!("there is no answer to any of {rows}, and an error in place of one to {failed}"),
        };
        crate::Error::from(ErrorKind::Row(what)).at(Place::file(&self.name))
    }

    /// A warning about answers to other rows.
    fn unused(&self, found: &HashMap<usize, String>) -> Option<Warning> {
        let unused = self.rows.iter().filter(|(_, answers)| !found.contains_key(&answers.line));
        let ((id, _), _) = unused.clone().min_by_key(|(_, answers)| answers.line)?;
        let row = format!("row that prompts are built for, first id {id}");
        Some(of_no(&row, unused.count()).at(Place::file(&self.name)))
    }
}

impl JudgedTurns {
    /// Rejects answers to other turns than those that the judge sees.
    fn check(&self, answers: &RowAnswers, key: &RowKey) -> Result<()> {
        let (id, there) = (&key.id, answers.by_turn.len());
        if there > 1 && !self.sees_each {
            let what = format!(
                "there are answers to {there} turns of id {id}, but the judge sees one, because the dataset generates only one"
            );
            let every = Setting::INFER_MODE.set_to("every");
            return Err(ErrorKind::Row(what).with_way_out(way_out!["for a chat, ", every, " generates each turn"]));
        }
        for turn in answers.by_turn.keys() {
            match turn {
                Some(turn) if self.turns.contains(turn) => {}
                Some(turn) => {
                    let there = format!("there is an answer to turn {turn} of id {id}");
                    let what = match &self.turns[..] {
                        [] => format!("{there}, but the dataset does not ask turn by turn"),
                        [only] => format!("{there}, but only turn {only} of this row is asked"),
                        turns => {
                            let turns: Vec<String> = turns.iter().map(usize::to_string).collect();
                            format!("{there}, but turns {} of this row are asked", turns.join(", "))
                        }
                    };
                    let way_out = match &self.turns[..] {
                        [] => "an answer to a row has no \"turn\"",
                        _ => "an answer must have the turn of its prompt",
                    };
                    return Err(ErrorKind::Row(what).with_way_out(way_out));
                }
                None if self.sees_each && self.turns.len() > 1 => {
                    let what = format!("the answer to id {id} has no turn");
                    let way_out = "an answer to a turn must have the turn's number, \"turn\"";
                    return Err(ErrorKind::Row(what).with_way_out(way_out));
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl RowAnswers {
    /// With the answer to this turn alone, as the answer to a row.
    fn only(&self, turn: Option<usize>) -> Self {
        let answer = self.by_turn.get(&turn).cloned();
        Self { line: self.line, by_turn: answer.map(|answer| (None, answer)).into_iter().collect() }
    }

    fn insert(&mut self, answer: RecordedAnswer, strip_thoughts: bool, (id, _): &Asker) -> Result<()> {
        let RecordedAnswer { turn, token_ids, text, .. } = answer;
        if text.is_none() && token_ids.is_some() {
            let what = "a judge reads text, but this answer has only token ids";
            return Err(ErrorKind::Invalid(what.into()).with_way_out("`metatok trim` writes their text too"));
        }
        let text = text.map(|text| if strip_thoughts { without_thoughts(&text).to_owned() } else { text });
        let is_there = self.by_turn.contains_key(&turn);
        match turn {
            Some(turn) if is_there => Err(twice(&format!("turn {turn} of id {id}"))),
            None if is_there => Err(twice(&format!("id {id}"))),
            turn => {
                self.by_turn.insert(turn, text);
                Ok(())
            }
        }
    }
}

impl Lack {
    fn code(&self) -> &'static str {
        match self {
            Self::Answer => "no-answer",
            Self::Failed => "failed-answer",
        }
    }

    fn text(&self) -> &'static str {
        match self {
            Self::Answer => "there is no answer",
            Self::Failed => "there is an error in place of an answer",
        }
    }
}

impl AnswerCounts {
    fn leave_out(&mut self, model: usize, lack: &Lack, number: usize, id: &str) {
        match lack {
            Lack::Answer => self.models[model].unanswered += 1,
            Lack::Failed => self.models[model].failed += 1,
        }
        if self.first.as_ref().is_none_or(|(first, _)| number < *first) {
            self.first = Some((number, id.to_owned()));
        }
    }
}
