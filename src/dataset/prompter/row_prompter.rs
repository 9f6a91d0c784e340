//! The prompts of a row: one, one for each label, or one for each turn.

use std::borrow::Cow;
use std::sync::Arc;

use crate::conversation::Conversation;
use crate::dataset::config::Dataset;
use crate::dataset::prompter::shots::{Asked, Shots};
use crate::dataset::prompter::{
    Inferencer, InferencerKind, MaxOutLen, RowPrompt, ScoredText, Task, TurnPlan, first_prompt,
};
use crate::dataset::rows::{Row, Value};
use crate::dataset::template::Room;
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, ErrorKind, Place, Result};

/// Builds the prompts of rows, like a dataset's inferencer. Use one per thread; a clone shares the rows of examples.
#[derive(Debug, Clone)]
pub struct RowPrompter {
    dataset: Arc<Dataset>,
    labels: Arc<[Value]>,
    shots: Shots,
    for_server: bool,
}

impl RowPrompter {
    /// Creates a prompter for a dataset and the rows that its examples come from.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] if the templates do not fit together, and without labels to score.
    pub fn new(dataset: impl Into<Arc<Dataset>>, train: impl Into<Arc<[Row]>>) -> Result<Self> {
        let dataset = dataset.into();
        let Dataset { task, inferencer, .. } = &*dataset;
        if let (Some(template), false) = (&task.prompt_template, task.compat) {
            template.check().at(format_args!("{}.prompt_template", dataset.key_path)).at(Place::file(&dataset.name))?;
        }
        let labels = || -> Result<Vec<Value>> {
            if let Some(template) = &task.prompt_template {
                template.check_use(inferencer.kind, task.retriever.count() > 0)?;
            }
            check_labels_column(inferencer, task)?;
            if !inferencer.kind.builds_messages() {
                task.template()?;
            }
            if !inferencer.kind.has_labels() || inferencer.labels_column.is_some() {
                return Ok(Vec::new());
            }
            let labels = match &inferencer.labels {
                Some(labels) => labels.clone(),
                // Rows are read one by one, so not all of their answers are known in advance.
                None => task.labels(&[])?,
            };
            if labels.is_empty() {
                let what = "there are no labels to score; set inferencer.labels, or use labels as keys of the template";
                return Err(ErrorKind::Dataset(what.into()).into());
            }
            Ok(labels)
        };
        let labels = labels().at(dataset.key_path).at(Place::file(&dataset.name))?;
        Ok(Self { labels: labels.into(), shots: Shots::new(train.into()), for_server: false, dataset })
    }

    /// Accepts the column `tools`, which only servers have a place for, instead of rejecting it.
    ///
    /// ```
    /// use metatok::dataset::RowPrompter;
    /// use metatok::{Dataset, Row};
    ///
    /// let dataset = Dataset::parse("x.toml", br#"
    ///     infer_cfg = { inferencer = { type = "BFCLV3FunctionCallInferencer" } }
    /// "#)?;
    /// let row = r#"{"question": [[{"role": "user", "content": "1+1=?"}]], "tools": [{"name": "add"}]}"#;
    /// let row = Row::from_json(row)?;
    /// assert!(RowPrompter::new(&dataset, [])?.prompts(&row, Vec::new(), |_| Ok(0)).is_err());
    /// let prompts = RowPrompter::new(&dataset, [])?.for_server(true).prompts(&row, Vec::new(), |_| Ok(0))?;
    /// assert_eq!(prompts[0].tools.as_deref(), Some(r#"[{"name":"add"}]"#));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    #[must_use]
    pub fn for_server(mut self, is: bool) -> Self {
        self.for_server = is;
        self
    }

    /// The prompts of a row: one, one for each label, or one for each turn, up to the first turn whose answer the next ones
    /// need (see [`RowPrompt::needs_answer`]). Examples are dropped from the end of `ids`
    /// until `excess`, which tells by how many tokens a prompt is too long, returns 0, or until no example is left. For
    /// later labels they stay dropped, as in the reference.
    ///
    /// ```
    /// use metatok::dataset::RowPrompter;
    /// use metatok::{Dataset, Row};
    ///
    /// let dataset = Dataset::parse("x.toml", br#"
    ///     [infer_cfg]
    ///     prompt_template = { template = { yes = "{q} Yes", no = "{q} No" } }
    ///     inferencer = { type = "PPLInferencer" }
    /// "#)?;
    /// let row = Row::from_json(r#"{"q": "Is Mars red?"}"#)?;
    /// let prompts = RowPrompter::new(&dataset, [])?.prompts(&row, Vec::new(), |_| Ok(0))?;
    /// assert_eq!(prompts.len(), 2);
    /// assert_eq!(prompts[1].conversation, metatok::Conversation::Text("Is Mars red? No".into()));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Row`] and [`ErrorKind::MissingColumn`] if the row does not fit the templates or lacks a column that
    /// the inferencer needs.
    pub fn prompts(
        &mut self,
        row: &Row,
        mut ids: Vec<i64>,
        mut excess: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<Vec<RowPrompt>> {
        let dataset = Arc::clone(&self.dataset);
        let Inferencer { kind, normalizing_str, .. } = &dataset.inferencer;
        let wanted = ids.len();
        match kind {
            InferencerKind::Chat | InferencerKind::Turns => {
                let plan = self.plan_with(row, &mut ids, excess)?;
                let prompts = turns(plan, &self.dataset.max_out_len(row)?, &self.room())?;
                let examples_left_out = wanted - ids.len();
                Ok(prompts.into_iter().map(|prompt| RowPrompt { examples_left_out, ..prompt }).collect())
            }
            InferencerKind::Generate | InferencerKind::ScoreOnly => {
                let conversation = self.shots.prompt(&dataset.task, row, &mut ids, Asked::Answer, excess)?;
                let examples = self.shots.messages(&dataset.task, row, &ids)?;
                let max_out_len = self.dataset.max_out_len(row)?.of_turn(0)?;
                let examples_left_out = wanted - ids.len();
                Ok(vec![RowPrompt { max_out_len, examples, examples_left_out, ..conversation.into() }])
            }
            InferencerKind::FunctionCalls => {
                let max_out_len = self.dataset.max_out_len(row)?.of_turn(0)?;
                Ok(vec![RowPrompt { max_out_len, ..first_prompt(row, self.for_server)? }])
            }
            InferencerKind::Choose => {
                let conversation = self.shots.prompt(&dataset.task, row, &mut ids, Asked::Answer, excess)?;
                let examples = self.shots.messages(&dataset.task, row, &ids)?;
                let examples_left_out = wanted - ids.len();
                Ok(vec![RowPrompt { choices: choices(row)?, examples, examples_left_out, ..conversation.into() }])
            }
            InferencerKind::Continuation => self.each_label(row, ids, excess, |row, conversation| {
                let continuation = row.get("cont").ok_or_else(|| row.no_column("cont"))?.text().into_owned();
                Ok(vec![RowPrompt { scored: ScoredText::Last(continuation), ..conversation.into() }])
            }),
            InferencerKind::Score => match normalizing_str {
                None => self.each_label(row, ids, &mut excess, |_, conversation| Ok(vec![conversation.into()])),
                Some(normalizing) => {
                    let separator = dataset.task.sep_token().ok_or_else(|| {
                        dataset_error("normalizing_str needs a sep_token in the template, between context and answer")
                    })?;
                    self.each_label(row, ids, excess, |_, conversation| {
                        normalized(conversation, separator, normalizing)
                    })
                }
            },
        }
    }

    /// The turns of a row's dialogue, for callers that have the model's answers.
    ///
    /// # Errors
    /// The same as for [`Self::prompts`]; [`ErrorKind::Dataset`] if the inferencer does not generate turn by turn.
    pub fn plan(
        &mut self,
        row: &Row,
        mut ids: Vec<i64>,
        excess: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<TurnPlan> {
        self.plan_with(row, &mut ids, excess)
    }

    /// Plans the turns of a row's dialogue, and removes examples that do not fit from `ids`.
    fn plan_with(
        &mut self,
        row: &Row,
        ids: &mut Vec<i64>,
        excess: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<TurnPlan> {
        let dataset = Arc::clone(&self.dataset);
        let Inferencer { kind, infer_mode, .. } = dataset.inferencer;
        match kind {
            InferencerKind::Chat => TurnPlan::new(Conversation::Messages(dataset.task.chat(row)?), infer_mode),
            InferencerKind::Turns => {
                let dialogue = self.shots.prompt(&dataset.task, row, ids, Asked::Answer, excess)?;
                TurnPlan::with_examples(dialogue, infer_mode, self.shots.messages(&dataset.task, row, ids)?)
            }
            _ => Err(dataset_error("only ChatInferencer and MultiTurnGenInferencer generate turn by turn")),
        }
    }

    /// The rows that examples come from.
    pub(crate) fn train(&self) -> &[Row] {
        self.shots.train()
    }

    /// The limit for the texts of all prompts of a row.
    fn room(&self) -> Room {
        Room::new(self.dataset.task.max_row_bytes)
    }

    fn each_label(
        &mut self,
        row: &Row,
        mut ids: Vec<i64>,
        mut excess: impl FnMut(&Conversation) -> Result<usize>,
        texts: impl Fn(&Row, Conversation) -> Result<Vec<RowPrompt>>,
    ) -> Result<Vec<RowPrompt>> {
        let (dataset, labels) = (Arc::clone(&self.dataset), Arc::clone(&self.labels));
        let keep_sep_token = dataset.inferencer.normalizing_str.is_some();
        let (column, output_column) = (&dataset.inferencer.labels_column, &dataset.task.output_column);
        let (labels, room) = (column.as_deref().map_or(Ok(&labels[..]), |column| list(row, column))?, self.room());
        let (mut prompts, mut row) = (Vec::with_capacity(labels.len()), Cow::Borrowed(row));
        let wanted = ids.len();
        for (label_index, label) in labels.iter().enumerate() {
            if let (Some(_), Some(output_column)) = (column, output_column) {
                row.to_mut().set(output_column, label.clone());
            }
            let asked = Asked::Label { label, keep_sep_token };
            let conversation = self.shots.prompt(&dataset.task, &row, &mut ids, asked, &mut excess)?;
            room.take_of(conversation.bytes(), "the texts of all labels")?;
            let texts = texts(&row, conversation)?.into_iter();
            let continuation = self.dataset.task.continuation(label);
            prompts.extend(texts.map(|prompt| RowPrompt {
                label: Some(label.clone()),
                label_index: Some(label_index),
                examples_left_out: wanted - ids.len(),
                scored: continuation.as_ref().map_or(prompt.scored, |text| ScoredText::Continuation(text.len())),
                ..prompt
            }));
        }
        Ok(prompts)
    }
}

/// Two texts to score: one of which the part after the separator is scored, and only that part after `normalizing`.
fn normalized(conversation: Conversation, separator: &str, normalizing: &str) -> Result<Vec<RowPrompt>> {
    let Conversation::Text(text) = conversation else {
        return Err(dataset_error("normalizing_str needs a template that is a string, not a dialogue"));
    };
    let at = text.find(separator).ok_or_else(|| row_error(&format!("the text has no sep_token {separator:?}")))?;
    let (context, answer) = (&text[..at], text[at..].replace(separator, ""));
    let scored = |context: &str| RowPrompt {
        scored: ScoredText::After(context.len()),
        ..Conversation::Text(format!("{context}{answer}")).into()
    };
    Ok(vec![scored(context), RowPrompt { is_normalizing: true, ..scored(normalizing) }])
}

/// The prompts of the turns, up to the first one whose answer the next turns depend on.
fn turns(mut plan: TurnPlan, max_out_len: &MaxOutLen, room: &Room) -> Result<Vec<RowPrompt>> {
    let (mut prompts, leaves_question) = (Vec::new(), plan.leaves_question());
    while let (Some(prompt), Some(turn)) = (plan.prompt(), plan.turn()) {
        room.take_of(prompt.bytes(), "the prompts of all turns")?;
        let (max_out_len, needs_answer) = (plan.max_out_len(max_out_len)?, plan.needs_answers());
        let examples = plan.examples().to_vec();
        prompts.push(RowPrompt {
            turn: Some(turn),
            max_out_len,
            examples,
            needs_answer,
            leaves_question,
            ..prompt.into()
        });
        if needs_answer {
            break;
        }
        plan.answer("");
    }
    Ok(prompts)
}

/// The column `choices`.
fn choices(row: &Row) -> Result<Vec<String>> {
    Ok(list(row, "choices")?.iter().map(|choice| choice.text().into_owned()).collect())
}

/// What a column lists.
fn list<'r>(row: &'r Row, column: &str) -> Result<&'r [Value]> {
    match row.get(column) {
        None => Err(row.no_column(column)),
        Some(Value::List(items)) if items.is_empty() => {
            Err(row_error(&format!("column {column:?} is an empty list; it must have at least one item")))
        }
        Some(Value::List(items)) => Ok(items),
        Some(other) => Err(row_error(&format!("column {column:?} must be a list, not {}", other.shown()))),
    }
}

/// Rejects a column of labels that would have no effect.
fn check_labels_column(inferencer: &Inferencer, task: &Task) -> Result<()> {
    let Inferencer { kind, labels, labels_column: Some(column), .. } = inferencer else { return Ok(()) };
    let what = if !kind.has_labels() {
        "is for PPLInferencer and LLInferencer, which score a text for each label; remove it"
    } else if labels.is_some() {
        "sets the labels of each row, but labels sets them for all rows; remove one"
    } else if task.output_column.is_none() && !task.has_layouts() {
        "puts each label in turn in the output column; name that column in reader_cfg.output_column"
    } else {
        return Ok(());
    };
    Err(dataset_error(&format!("inferencer.labels_column = {column:?} {what}")))
}
