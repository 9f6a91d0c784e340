//! A prompt for inspection: its tokens with their origins, in rows of one origin each.
//!
//! ```
//! use metatok::view::TerminalOptions;
//! use metatok::{Conversation, PromptBuilder, View};
//!
//! let builder = PromptBuilder::demo()?;
//! let view = View::new(&builder, "demo", &Conversation::Text("Once upon a time".into()))?;
//! let shown = view.terminal(TerminalOptions { width: 80, colour: false, ids: false });
//! assert!(shown.starts_with("demo gen"));
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! This is data. [`View::terminal`] and [`View::html`] are two ways to display it, with signs for what cannot be seen, in
//! contents and in names; it serializes to JSON.

mod html;
mod row;
mod short_name;
mod terminal;

use std::ops::Range;

use serde::Serialize;

use crate::assemble::{Detail, TokenizedPrompt};
use crate::builder::PromptBuilder;
use crate::conversation::{Conversation, Mode};
use crate::error::{Result, counted};
use crate::render::Element;
use crate::stop::StopSource;
use crate::tokenizer::{TokenId, drawn};
pub use row::{ViewMedia, ViewRow};
use short_name::short_name;
pub use terminal::TerminalOptions;

/// A prompt exactly as the model gets it, and its stops.
///
/// ```
/// use metatok::{ChatMessage, Conversation, PromptBuilder, View};
///
/// let builder = PromptBuilder::demo()?;
/// let view = View::new(&builder, "demo", &Conversation::Messages(vec![ChatMessage::new("user", "Hi!")]))?;
/// assert_eq!(view.rows[1].label(), "content");
/// assert_eq!(view.rows[1].role.as_deref(), Some("HUMAN"));
/// assert_eq!(view.tokens[0].token, "<|im_start|>");
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct View {
    /// The model's name. For a path that leads out of the folder, its last two components.
    pub model: String,
    /// The tokenizer's name, likewise.
    pub tokenizer: String,
    /// Whether it is a prompt to continue or a text to score.
    pub mode: Mode,
    /// Which of the model's turns it is for, in a dialogue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<ViewTurn>,
    /// The prompt as one string.
    pub text: String,
    /// The tokens.
    pub tokens: Vec<ViewToken>,
    /// The tokens grouped by their origin, in order, covering all.
    pub rows: Vec<ViewRow>,
    /// The stop ids.
    pub stop: Vec<ViewStop>,
    /// The stop strings.
    pub stop_strings: Vec<String>,
    /// The special tokens that the tokenizer itself added.
    pub special_tokens_added: Vec<NamedToken>,
    /// Those that it would have added if the prompt did not have them.
    pub special_tokens_omitted: Vec<NamedToken>,
    /// Those that it would have added after the prompt if it were not to be continued.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub special_tokens_omitted_end: Vec<NamedToken>,
    /// Whether the conversation's last message is an answer, which is left out because the model generates it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answer_omitted: bool,
}

/// The turn of a [`View`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViewTurn {
    /// The turn, from 0.
    pub turn: usize,
    /// How many turns the model has in the dialogue.
    pub turns: usize,
    /// How many of the first tokens the engine saw in the previous turn and its answer.
    pub prefix_tokens: usize,
    /// Why these are not all that it has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_break: Option<String>,
}

impl std::fmt::Display for ViewTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "turn {} of 0–{}", self.turn, self.turns.saturating_sub(1))?;
        match (self.prefix_tokens, &self.prefix_break) {
            (0, None) => Ok(()),
            (tokens, None) => write!(f, " · the engine has seen the first {}", counted(tokens, "token")),
            (tokens, Some(why)) => write!(f, " · the engine has seen the first {}; {why}", counted(tokens, "token")),
        }
    }
}

/// A token of a [`View`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViewToken {
    /// The id.
    pub id: TokenId,
    /// In the vocabulary's spelling.
    pub token: String,
    /// Its bytes, see [`crate::Tokenizer::token_bytes`].
    pub bytes: Vec<u8>,
    /// The bytes of the prompt's text that it comes from.
    pub range: Range<usize>,
    /// Whether it is a control token: an added token that is not white space, or one that the template has by id.
    pub control: bool,
}

/// A stop id and its sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViewStop {
    /// The id with its string; the string is empty for an id that only the engine knows.
    #[serde(flatten)]
    pub named: NamedToken,
    /// Its sources.
    pub sources: Vec<StopSource>,
}

/// An id and its string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedToken {
    /// The id.
    pub id: TokenId,
    /// In the vocabulary's spelling.
    pub token: String,
}

impl View {
    /// Builds a prompt for inspection. `model` is the name to show. The builder's options for spans and text do not
    /// matter.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`].
    pub fn new(builder: &PromptBuilder, model: &str, conversation: &Conversation) -> Result<Self> {
        let conversation = &*builder.prepared(conversation)?;
        let prompt = builder.of_prepared().build_with(conversation, Detail::ALL)?;
        let roles = builder.role_names();
        let tokenizer = builder.tokenizer();
        let named = |id| NamedToken { id, token: tokenizer.id_to_token(id).unwrap_or_default() };
        let TokenizedPrompt { input_ids, spans, offsets, text, omitted, omitted_end, answer_omitted, .. } = prompt;
        let spans = spans.unwrap_or_default();
        let tokens = input_ids.iter().zip(offsets.unwrap_or_default()).map(|(&id, range)| ViewToken {
            id,
            token: named(id).token,
            bytes: tokenizer.token_bytes(id).unwrap_or_default(),
            range,
            control: builder.is_control(id),
        });
        let added = spans.iter().filter(|span| span.part.element == Element::SpecialToken);
        let added = added.flat_map(|span| &input_ids[span.start..span.end]).map(|&id| named(id)).collect();
        let stop = builder.stop().ids().iter();
        Ok(Self {
            model: short_name(model),
            tokenizer: short_name(tokenizer.name()),
            mode: builder.mode(),
            turn: None,
            text: text.unwrap_or_default(),
            tokens: tokens.collect(),
            rows: spans.iter().map(|span| ViewRow::new(span, &roles, conversation)).collect(),
            stop: stop.map(|stop| ViewStop { named: named(stop.id), sources: stop.sources.clone() }).collect(),
            stop_strings: builder.stop().strings().to_vec(),
            special_tokens_added: added,
            special_tokens_omitted: omitted.into_iter().map(named).collect(),
            special_tokens_omitted_end: omitted_end.into_iter().map(named).collect(),
            answer_omitted,
        })
    }

    /// What happened to the tokenizer's own special tokens, as a sentence.
    fn special_tokens(&self) -> String {
        let list = |named: &[NamedToken]| {
            named.iter().map(|named| format!("{} ({})", drawn(&named.token), named.id)).collect::<Vec<_>>().join(" ")
        };
        let added = match &self.special_tokens_added[..] {
            [] => "the tokenizer added none".to_owned(),
            added => format!("the tokenizer added {}", list(added)),
        };
        let mut said = added;
        if !self.special_tokens_omitted.is_empty() {
            said += &format!("; {} was already there and not added again", list(&self.special_tokens_omitted));
        }
        if !self.special_tokens_omitted_end.is_empty() {
            said += &format!("; {} has no place after a prompt to continue", list(&self.special_tokens_omitted_end));
        }
        said
    }

    /// The stop ids, each with its token and sources, as lines.
    fn stops(&self) -> Vec<(String, String)> {
        let ids = self.stop.iter().map(|stop| {
            let sources: Vec<String> = stop.sources.iter().map(ToString::to_string).collect();
            (format!("{} {}", stop.named.id, drawn(&stop.named.token)), sources.join(", "))
        });
        let strings = self.stop_strings.iter().map(|text| (format!("{text:?}"), "stop string".to_owned()));
        ids.chain(strings).collect()
    }
}
