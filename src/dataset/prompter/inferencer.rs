//! OpenCompass's inferencers: which prompts they build from a dataset's rows.

use serde::Deserialize;

use crate::conversation::Mode;
use crate::dataset::prompter::{InferMode, SamplingParams};
use crate::dataset::rows::Value;

/// What to do with a dataset's prompts, in so far as that affects them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inferencer {
    /// Which kind of prompts.
    pub kind: InferencerKind,
    /// The labels to score, instead of those of the templates.
    pub labels: Option<Vec<Value>>,
    /// The column that lists the labels of each row instead. Each label in turn is put in the output column.
    pub labels_column: Option<String>,
    /// Where answers end, in addition to the model's own stops.
    pub stopping_criteria: Vec<String>,
    /// What replaces the answer when it is masked.
    pub gen_field_replace_token: String,
    /// What replaces the context when answers are scored without it, for comparison.
    pub normalizing_str: Option<String>,
    /// Which turns of a chat are generated.
    pub infer_mode: InferMode,
    /// Whether the file sets `infer_mode`, by the key or by the inferencer's package.
    pub infer_mode_is_explicit: bool,
    /// How many tokens an answer may have if its row has no limit.
    pub max_out_len: Option<u64>,
    /// How answers are sampled.
    pub sampling_params: SamplingParams,
    /// Keys on which answers may depend, and which are not passed on to engines.
    pub unread_keys: Vec<String>,
}

/// The kinds of prompts that OpenCompass's inferencers make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum InferencerKind {
    /// Prompts to continue, the answer masked.
    #[default]
    #[serde(
        rename = "GenInferencer",
        alias = "gen",
        alias = "LMMGenInferencer",
        alias = "ParallelGenInferencer",
        alias = "SCInferencer"
    )]
    Generate,
    /// A text to score for each label.
    #[serde(rename = "PPLInferencer", alias = "ppl")]
    Score,
    /// A text for each label, of which the row's column `cont` is scored.
    #[serde(rename = "LLInferencer", alias = "ll")]
    Continuation,
    /// Texts to score without labels, the answer masked.
    #[serde(rename = "PPLOnlyInferencer", alias = "ppl-only", alias = "InferencePPLOnlyInferencer")]
    ScoreOnly,
    /// Prompts that continue with one of the row's `choices`, whose first tokens are compared.
    #[serde(rename = "CLPInferencer", alias = "clp")]
    Choose,
    /// The model's turns of a chat, see [`TurnPlan`](crate::dataset::prompter::TurnPlan).
    #[serde(rename = "ChatInferencer", alias = "chat", alias = "ParallelChatInferencer")]
    Chat,
    /// The model's turns of a dialogue, see [`TurnPlan`](crate::dataset::prompter::TurnPlan). AISBench's.
    #[serde(rename = "MultiTurnGenInferencer", alias = "turns")]
    Turns,
    /// The first request of a row whose functions the model may call: `question` lists messages turn by turn, `tools`
    /// describes the functions. AISBench's.
    #[serde(rename = "BFCLV3FunctionCallInferencer", alias = "function-calls")]
    FunctionCalls,
}

impl InferencerKind {
    /// How its prompts are rendered.
    pub fn mode(self) -> Mode {
        match self {
            Self::Generate | Self::Choose | Self::Chat | Self::Turns | Self::FunctionCalls => Mode::Generate,
            Self::Score | Self::Continuation | Self::ScoreOnly => Mode::Score,
        }
    }

    /// How many tokens must fit after a prompt: one, the chosen one.
    pub fn room(self) -> usize {
        usize::from(self == Self::Choose)
    }

    /// Whether it generates turn by turn.
    pub fn has_turns(self) -> bool {
        matches!(self, Self::Chat | Self::Turns)
    }

    /// Whether its prompts are messages, whatever the template is.
    pub(crate) fn builds_messages(self) -> bool {
        matches!(self, Self::Chat | Self::FunctionCalls)
    }

    pub(crate) fn has_labels(self) -> bool {
        matches!(self, Self::Score | Self::Continuation)
    }
}
