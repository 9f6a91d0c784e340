//! Chat templates: Jinja, as models on the Hugging Face Hub bring it, run as it is.
//!
//! ```
//! use metatok::dialect::ChatTemplate;
//! use metatok::{BuilderOptions, Model, PromptBuilder, Tokenizer};
//!
//! let source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
//! let model = Model::from(ChatTemplate::new("mine", source));
//! let options = BuilderOptions { text: true, ..BuilderOptions::default() };
//! let builder = PromptBuilder::new(&model, Tokenizer::demo()?.into(), &options)?;
//! let prompt = builder.build_messages(&[("user", "<|im_end|>")])?;
//! assert_eq!(prompt.text.as_deref(), Some("<|im_start|>user\n<|im_end|><|im_end|>\n"));
//! // Only the template's <|im_end|> is the token.
//! assert_eq!(prompt.input_ids.iter().filter(|id| **id == 1052).count(), 1);
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! The text is that of Jinja2, set up as transformers does it. A prompt is rendered once as it is, and once more with marks
//! around what the conversation brings. Where the second text is the first one with marks, these say whose each character
//! is, so that content gives no reserved token.

mod arguments;
mod attributes;
mod beside;
mod blocks;
mod code;
mod compiled;
mod contents;
mod context;
mod edits;
mod environment;
mod escapes;
mod expressions;
mod filters;
mod final_message;
mod find;
mod float;
mod flow;
mod for_minijinja;
mod forgery;
mod format_width;
mod forms;
mod generators;
mod kinds;
mod limits;
mod lists;
mod marks;
mod methods;
mod omitted;
mod order;
mod padding;
mod parameters;
mod printf;
mod python_repr;
mod python_str;
mod renderer;
mod source;
mod unset;
mod uses;
mod values;
mod with_values;
mod written_time;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use renderer::ChatTemplateRenderer;
pub(crate) use written_time::Day;

use crate::error::Result;
use crate::tokenizer::Tokenizer;

/// A chat template, before a tokenizer is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ChatTemplate {
    /// Where it comes from, for messages.
    pub name: String,
    /// Its Jinja.
    pub source: String,
    /// The Jinja for conversations with tools, if there is one of their own: `tool_use`.
    pub tool_use: Option<String>,
    /// The variables that name special tokens, such as `bos_token`.
    pub special_tokens: BTreeMap<String, String>,
    /// Further variables, such as `enable_thinking`.
    pub kwargs: Map<String, Value>,
    /// Whether the tokenizer brings it, so that what it names need not be tokens: some models have learned it as text.
    pub is_own: bool,
    /// Whether the keys in tools are sorted before it is rendered, as by Kimi's own tokenizer (`TikTokenTokenizer`).
    pub sorts_tools: bool,
    /// The time that it writes, such as `2026-01-31T12:00:00`, if not the local time when it is rendered.
    pub now: Option<String>,
}

impl ChatTemplate {
    /// A template with this text.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        Self { name: name.into(), source: source.into(), ..Self::default() }
    }

    /// Whether it can write the time of its use, as with `strftime_now`, so that its prompts of another day can differ.
    pub fn tells_time(&self) -> bool {
        self.now.is_none() && self.mentions(environment::TELLS_TIME)
    }

    /// Whether it can write more of the time than the day.
    pub(crate) fn tells_more_than_the_day(&self) -> bool {
        self.tells_time() && !self.sources().all(|source| written_time::tells_days_alone(source))
    }

    /// The names in `kwargs` that stand nowhere in its code.
    pub(crate) fn unread_variables(&self) -> impl Iterator<Item = &str> {
        self.kwargs.keys().map(String::as_str).filter(|name| !self.mentions(name))
    }

    /// What looks like a control token in it, such as `<|im_end|>`, and is none of this tokenizer; nothing if it
    /// [`is_own`](Self::is_own).
    pub(crate) fn unknown_tokens(&self, tokenizer: &Tokenizer) -> Result<BTreeSet<&str>> {
        if self.is_own {
            return Ok(BTreeSet::new());
        }
        // Tags without bars are often plain text, and `<|' + role + '|>` is not all of a token.
        let is_one = |look: &&str| {
            let name = look.trim_matches(['<', '|', '｜', '>']);
            (look.starts_with("<|") || look.starts_with("<｜"))
                && name.chars().all(|c| c.is_alphanumeric() || "_-.▁|｜".contains(c))
        };
        let unknown =
            self.sources().map(|source| tokenizer.unknown_control_tokens(source)).collect::<Result<Vec<_>>>()?;
        Ok(unknown.into_iter().flatten().filter(is_one).collect())
    }

    /// Whether a name stands in its code.
    fn mentions(&self, name: &str) -> bool {
        self.sources().any(|source| contents::names(source).any(|known| known == name))
    }

    fn sources(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.source).chain(&self.tool_use)
    }

    /// The whole numbers in its code, each once. Those that are too high, or written as `2e4`, are the highest.
    pub(crate) fn numbers(&self) -> BTreeSet<usize> {
        let words = self.sources().flat_map(|source| contents::names(source));
        let numbers = words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        numbers.map(|word| word.replace('_', "").parse().unwrap_or(usize::MAX)).collect()
    }

    /// Whether a text has characters that are used to find content in a rendered prompt.
    pub(crate) fn has_marks(text: &str) -> bool {
        marks::has_marks(text)
    }

    /// What stands in quotes in it, sorted, each once.
    pub fn literals(&self) -> Vec<String> {
        contents::literals(&self.source).collect::<BTreeSet<_>>().into_iter().collect()
    }
}
