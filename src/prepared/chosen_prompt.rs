//! One prompt of a row, chosen by its label or its turn.

use std::borrow::Cow;

use crate::answers::ModelAnswers;
use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::dataset::rows::Picks;
use crate::dataset::{Examples, PickedRow, RawRecord, Row, RowPrompt, TurnPlan};
use crate::error::{At, Error, ErrorKind, Place, Result, Setting, Warning, way_out};
use crate::prepared::PreparedDataset;
use crate::turns::TurnPrompt;
use crate::view::ViewTurn;

/// Which prompt of a row is wanted. By default the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromptChoice<'a> {
    /// The number of the row, from 0: its examples may depend on the rows before it.
    pub row: usize,
    /// How many rows the input has. Only needed if the dataset has a `test_range`, which chooses among all rows.
    pub rows: Option<usize>,
    /// The label of the prompt.
    pub label: Option<&'a str>,
    /// The turn of the dialogue.
    pub turn: Option<usize>,
    /// The model's answers to earlier turns.
    pub answers: Option<&'a ModelAnswers>,
}

/// A prompt that was chosen.
#[derive(Debug, Clone)]
pub struct ChosenPrompt {
    /// The prompt.
    pub conversation: Conversation,
    /// Its turn, in a dialogue.
    pub turn: Option<ViewTurn>,
    /// What is doubtful about its row.
    pub warnings: Vec<Warning>,
}

impl PreparedDataset {
    /// One prompt of a row. The prompts of the other rows are not built.
    ///
    /// ```
    /// use metatok::prepared::{DatasetOptions, PreparedDataset, PromptChoice};
    /// use metatok::{Conversation, Dataset, PromptBuilder};
    ///
    /// let file = br#"infer_cfg = { prompt_template = { template = { A = "{q} Yes", B = "{q} No" } }, inferencer = { type = "PPLInferencer" } }"#;
    /// let dataset = PreparedDataset::new(Dataset::parse("d.toml", file)?, &DatasetOptions::default())?;
    /// let choice = PromptChoice { label: Some("B"), ..PromptChoice::default() };
    /// let chosen = dataset.choose_prompt(&PromptBuilder::demo()?, r#"{"q": "1+1=3?"}"#.into(), &choice)?;
    /// assert_eq!(chosen.conversation, Conversation::Text("1+1=3? No".into()));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::prompts`] and [`Dataset::picked_rows`](crate::Dataset::picked_rows); [`ErrorKind::Usage`] if
    /// there is no such prompt, if a judge has no answer to the row, or if a turn needs an answer that is missing.
    pub fn choose_prompt(
        &self,
        builder: &PromptBuilder,
        record: RawRecord<'_>,
        choice: &PromptChoice<'_>,
    ) -> Result<ChosenPrompt> {
        let is_chosen = |pick: &PickedRow| pick.row == choice.row;
        let pick = self.picks(choice)?.find(is_chosen).ok_or_else(|| self.not_asked())?;
        let row = self.chosen_row(record, pick)?;
        let mut retriever = self.retriever()?;
        // Random examples depend on how many were drawn before.
        let mut before = self.picks(choice)?.take_while(|pick| !is_chosen(pick));
        let index = before.try_fold(0, |index, pick| retriever.retrieve_picked(index, pick.row).map(|_| index + 1))?;
        let examples = retriever.retrieve_picked(index, pick.row)?;
        let mut warnings = self.warnings(&row, |_| true);
        if !self.dataset.inferencer.kind.has_turns() {
            let conversation = self.labeled(builder, &row, examples, choice.label)?;
            return Ok(ChosenPrompt { conversation, turn: None, warnings });
        }
        let plan = self.plan(&row, examples, &mut self.prompter(), tokens(builder))?;
        warnings.extend(self.unasked(plan.leaves_question()));
        let (conversation, turn) = self.chosen_turn(builder, &row, pick, plan, choice)?;
        Ok(ChosenPrompt { conversation, turn: Some(turn), warnings })
    }

    /// The rows that are asked, in order: without an end where the dataset does not pick among them.
    fn picks(&self, choice: &PromptChoice<'_>) -> Result<Picks> {
        match self.dataset.picks_rows() {
            // A row is asked for the first time before any row after it.
            true if self.dataset.test_range.is_none() => self.dataset.picked_rows(choice.row + 1),
            true => self.dataset.picked_rows(choice.rows.ok_or_else(rows_unknown)?),
            false => Ok(Box::new((0..).map(PickedRow::once))),
        }
    }

    fn not_asked(&self) -> Error {
        let way_out = way_out!["choose another row with ", Setting::PROMPT, ", or change the range"];
        let error = ErrorKind::Usage("the row is not asked".into()).with_way_out(way_out);
        error.at("reader_cfg.test_range").at(Place::file(&self.dataset.name))
    }

    fn chosen_row<'r>(&self, record: RawRecord<'r>, pick: PickedRow) -> Result<Cow<'r, Row>> {
        let no_answer = || {
            let what = "there is no answer to this row, or an error in its place";
            let way_out = way_out!["choose another row with ", Setting::PROMPT];
            ErrorKind::Usage(what.into()).with_way_out(way_out).at(Setting::JUDGE)
        };
        self.row(record, pick)?.ok_or_else(no_answer)
    }

    fn chosen_turn(
        &self,
        builder: &PromptBuilder,
        row: &Row,
        pick: PickedRow,
        plan: TurnPlan,
        choice: &PromptChoice<'_>,
    ) -> Result<(Conversation, ViewTurn)> {
        let key = self.kept.key(row, pick)?;
        let needs_answers = plan.needs_answers();
        let strip_thoughts = choice.answers.is_some_and(ModelAnswers::strips_thoughts);
        let mut turns = builder.turns(plan).strip_thoughts(strip_thoughts);
        let mut last = 0;
        while let Some(TurnPrompt { turn, conversation, prefix_tokens, prefix_break, .. }) = turns.next_prompt()? {
            if choice.turn.is_none_or(|wanted| wanted == turn) {
                let prefix_break = prefix_break.map(|why| why.to_string());
                let turn = ViewTurn { turn, turns: turns.plan().turns(), prefix_tokens, prefix_break };
                return Ok((conversation, turn));
            }
            last = turn;
            match choice.answers {
                Some(answers) if answers.answer(&key, &mut turns)? => {}
                _ if needs_answers => return Err(no_answer_to(turn)),
                _ => turns.answer_text(""),
            }
        }
        let what = format!("there is no such turn; the last is {last}");
        Err(ErrorKind::Usage(what)).at(Setting::TURN)
    }

    fn labeled(
        &self,
        builder: &PromptBuilder,
        row: &Row,
        examples: Examples,
        label: Option<&str>,
    ) -> Result<Conversation> {
        let prompts = self.prompts(row, examples, &mut self.prompter(), tokens(builder))?;
        let labels: Vec<String> = prompts.iter().filter_map(|prompt| Some(prompt.label.as_ref()?.repr())).collect();
        let is_wanted = |prompt: &RowPrompt| match (label, &prompt.label) {
            (None, _) => true,
            (Some(wanted), Some(label)) => label.text() == *wanted,
            (Some(_), None) => false,
        };
        let chosen = prompts.into_iter().find(is_wanted).map(|prompt| prompt.conversation);
        chosen.ok_or_else(|| no_such_label(&labels)).at(Setting::LABEL)
    }
}

fn tokens(builder: &PromptBuilder) -> impl FnMut(&Conversation) -> Result<usize> {
    |prompt| Ok(builder.build(prompt)?.input_ids.len())
}

fn rows_unknown() -> Error {
    let what = "test_range chooses among all rows, and PromptChoice::rows does not say how many they are";
    ErrorKind::Usage(what.into()).into()
}

fn no_answer_to(turn: usize) -> Error {
    let what = format!("turn {} needs the model's answer to turn {turn}", turn + 1);
    ErrorKind::Usage(what).with_way_out(way_out!["supply it with ", Setting::ANSWERS]).at(Setting::TURN)
}

fn no_such_label(labels: &[String]) -> Error {
    let known = match labels {
        [] => "the dataset has none".to_owned(),
        labels => format!("there are {}", labels.join(", ")),
    };
    ErrorKind::Usage(format!("there is no such label; {known}")).into()
}
