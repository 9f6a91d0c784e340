//! A line of the input in progress: its prompts, one after the other.

use std::sync::Arc;
use std::vec;

use crate::assemble::TokenizedPrompt;
use crate::build::{InputRemarks, Notes};
use crate::builder::{PromptBuilder, Session};
use crate::conversation::{Conversation, Mode};
use crate::dataset::{Examples, InputFormat, Line, MaxOutLen, PickedRow, Row, RowKey, RowPrompt, RowPrompter};
use crate::error::{ErrorKind, Result};
use crate::input::{LineBatch, RecordPlace};
use crate::prepared::PreparedDataset;
use crate::run::options::Room;
use crate::stop::Stop;
use crate::tokenizer::TokenId;
use crate::truncate::{Fitted, Truncated};
use crate::turns::Turns;

/// A line of the input, by its number among all.
#[derive(Clone, Copy)]
pub(crate) struct JobLine<'l> {
    pub(crate) number: u64,
    pub(crate) pick: PickedRow,
    pub(crate) batch: &'l LineBatch,
    pub(crate) line: &'l Line,
}

impl<'l> JobLine<'l> {
    /// Where it is.
    pub(crate) fn place(&self) -> RecordPlace<'l> {
        RecordPlace::new(&self.batch.input, self.line)
    }
}

/// A line with its prompts.
pub(crate) struct Job {
    pub(crate) number: u64,
    input: Arc<str>,
    line: Line,
    pub(crate) key: RowKey,
    /// How many prompts it has produced.
    pub(crate) asked: u64,
    /// The turn of the last prompt, also if that could not be built.
    pub(crate) turn: Option<usize>,
    prompts: Prompts,
}

enum Prompts {
    Conversation(Option<Conversation>, Option<u64>),
    Known(vec::IntoIter<RowPrompt>),
    /// Each contains the answers to the earlier ones.
    Turns(Box<Turns>, MaxOutLen),
}

/// A prompt to answer.
pub(crate) struct JobPrompt {
    pub(crate) prompt: TokenizedPrompt,
    pub(crate) turn: Option<usize>,
    pub(crate) max_new_tokens: usize,
    /// What was dropped from the prompt.
    pub(crate) truncated: Option<Truncated>,
}

/// An answer as a run writes it down.
#[derive(serde::Deserialize)]
pub(crate) struct Answered {
    pub(crate) token_ids: Option<Vec<TokenId>>,
    /// The ids from the stop on.
    #[serde(default)]
    pub(crate) tail: Vec<TokenId>,
    pub(crate) text: String,
    pub(crate) stop: Option<Stop>,
}

impl Job {
    /// A conversation.
    pub(crate) fn conversation(
        line: JobLine<'_>,
        text: &str,
        format: InputFormat,
        builder: &PromptBuilder,
        remarks: &mut InputRemarks,
    ) -> Result<Self> {
        let record = builder.record_reader(format).parse(text)?;
        remarks.notes.see_record(&record, builder, line.place());
        let numbered = RowKey::numbered(PickedRow::once(line.number as usize));
        let key = match record.id {
            Some(id) => RowKey { id: id.to_owned(), has_id: true, ..numbered },
            None => numbered,
        };
        let max_out_len = record.max_out_len;
        let (conversation, _) = record.into_conversation(Mode::Generate)?;
        Ok(Self::new(line, key, Prompts::Conversation(Some(conversation), max_out_len)))
    }

    /// A row without prompts.
    pub(crate) fn unasked(line: JobLine<'_>) -> Self {
        Self::new(line, RowKey::numbered(line.pick), Prompts::Known(Vec::new().into_iter()))
    }

    /// A row.
    pub(crate) fn row(
        line: JobLine<'_>,
        row: &Row,
        examples: Examples,
        dataset: &PreparedDataset,
        prompter: &mut RowPrompter,
        session: &mut Session,
        strip_thoughts: bool,
    ) -> Result<Self> {
        let builder = session.builder().clone();
        let tokens = |prompt: &Conversation| Ok(session.build(prompt)?.input_ids.len());
        let prompts = if dataset.needs_model_answers() {
            let turns = builder.turns(dataset.plan(row, examples, prompter, tokens)?).strip_thoughts(strip_thoughts);
            Prompts::Turns(Box::new(turns), dataset.dataset().max_out_len(row)?)
        } else {
            Prompts::Known(dataset.prompts(row, examples, prompter, tokens)?.into_iter())
        };
        Ok(Self::new(line, dataset.kept_columns().key(row, line.pick)?, prompts))
    }

    fn new(JobLine { number, batch, line, .. }: JobLine<'_>, key: RowKey, prompts: Prompts) -> Self {
        Self { number, input: Arc::clone(&batch.input), line: line.clone(), key, asked: 0, turn: None, prompts }
    }

    /// Notes what the template leaves out of the prompts of a row, or of the first turn of a dialogue.
    pub(crate) fn note_omissions(&self, builder: &PromptBuilder, notes: &mut Notes) {
        let mut see = |prompt: &Conversation| notes.see_conversation(prompt, builder, self.place());
        match &self.prompts {
            // Noted with its record.
            Prompts::Conversation(..) => {}
            Prompts::Known(prompts) => prompts.as_slice().iter().for_each(|prompt| see(&prompt.conversation)),
            Prompts::Turns(turns, _) => turns.plan().prompt().iter().for_each(see),
        }
    }

    /// Whether its dialogue ends with a question that is not asked.
    pub(crate) fn leaves_question(&self) -> bool {
        match &self.prompts {
            Prompts::Conversation(..) => false,
            Prompts::Known(prompts) => prompts.as_slice().iter().any(|prompt| prompt.leaves_question),
            Prompts::Turns(turns, _) => turns.plan().leaves_question(),
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> RecordPlace<'_> {
        RecordPlace::new(&self.input, &self.line)
    }

    /// How many prompts it has yet to produce.
    pub(crate) fn prompts_left(&self) -> usize {
        match &self.prompts {
            Prompts::Conversation(conversation, _) => usize::from(conversation.is_some()),
            Prompts::Known(prompts) => prompts.len(),
            Prompts::Turns(turns, _) => turns.plan().turns_left(),
        }
    }

    /// The turns of the prompts after the last one.
    pub(crate) fn later_turns(&self) -> Vec<Option<usize>> {
        match &self.prompts {
            Prompts::Conversation(..) => Vec::new(),
            Prompts::Known(prompts) => prompts.as_slice().iter().map(|prompt| prompt.turn).collect(),
            Prompts::Turns(turns, _) => turns.plan().later_turns().into_iter().map(Some).collect(),
        }
    }

    /// The next prompt; none when all are answered.
    pub(crate) fn next(&mut self, builder: &PromptBuilder, room: &Room) -> Result<Option<JobPrompt>> {
        // A limit that nobody asked for is lowered to what the prompt leaves of the context.
        let limit = |said: Option<u64>, prompt: &TokenizedPrompt| match said {
            Some(said) => usize::try_from(said).unwrap_or(usize::MAX),
            None => room.usual.min(room.max_seq_len().saturating_sub(prompt.input_ids.len())).max(1),
        };
        let ask = match &mut self.prompts {
            Prompts::Conversation(conversation, max_out_len) => {
                let Some(conversation) = conversation.take() else { return Ok(None) };
                let budget = room.of_prompt(*max_out_len);
                let Fitted { prompt, truncated, .. } = builder.build_within(&conversation, &budget)?;
                let max_new_tokens = limit(*max_out_len, &prompt);
                JobPrompt { turn: None, max_new_tokens, truncated, prompt }
            }
            Prompts::Known(prompts) => {
                let Some(RowPrompt { turn, max_out_len, choices, examples, conversation, .. }) = prompts.next() else {
                    return Ok(None);
                };
                self.turn = turn;
                if !choices.is_empty() {
                    let what = "this dataset compares next-token logits, which `run` does not compute; use `build`";
                    return Err(ErrorKind::Usage(what.into()).into());
                }
                let of_turn = turn.map(|_| builder.before_turn());
                let builder = of_turn.as_ref().unwrap_or(builder);
                let (prepared, budget) = (builder.prepared(&conversation)?, room.of_prompt(max_out_len));
                let Fitted { prompt, truncated, .. } = builder.fit(&conversation, &prepared, &examples, &budget)?;
                let max_new_tokens = limit(max_out_len, &prompt);
                JobPrompt { turn, max_new_tokens, truncated, prompt }
            }
            Prompts::Turns(turns, max_out_len) => {
                self.turn = turns.plan().turn().or(self.turn);
                let max_out_len = turns.plan().max_out_len(max_out_len)?;
                let Some(next) = turns.next_prompt()? else { return Ok(None) };
                room.of_turn(max_out_len).check(next.prompt.input_ids.len())?;
                let max_new_tokens = limit(max_out_len, &next.prompt);
                JobPrompt { turn: Some(next.turn), max_new_tokens, truncated: None, prompt: next.prompt }
            }
        };
        if ask.prompt.has_media {
            let what = "the engine only reads text, but the prompt has an image, audio or video";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        self.asked += 1;
        Ok(Some(ask))
    }

    /// Takes the answer to the last prompt, for the prompts after it: its ids with those from the stop on, since that may
    /// begin within one of them, or its text if there are no ids.
    pub(crate) fn answer(&mut self, answer: Answered) -> Result<()> {
        let Prompts::Turns(turns, _) = &mut self.prompts else { return Ok(()) };
        let Answered { token_ids, tail, text, stop } = answer;
        match token_ids {
            Some(mut ids) => {
                ids.extend(tail);
                turns.answer_generated(&ids, stop.as_ref())
            }
            None => {
                turns.answer_text(text);
                Ok(())
            }
        }
    }

    /// Takes an answer that an earlier run recorded.
    pub(crate) fn answer_again(&mut self, line: &str) -> Result<()> {
        self.answer(crate::input::from_json(line)?)
    }
}
