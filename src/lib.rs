#![doc = include_str!("../README.md")]

mod assemble;
mod builder;
pub mod cli;
mod compile;
mod conversation;
mod dataset;
mod dialect;
mod error;
mod render;
mod run_cache;
mod sink;
mod stop;
mod template;
mod tokenizer;

pub use assemble::{ContentTrust, Span, TokenizedPrompt};
pub use builder::{BuilderOptions, PromptBuilder, Session};
pub use compile::{Atom, CompiledTemplate};
pub use conversation::{ChatMessage, Conversation, Item, Marker, Message, Mode, Prompt, Section};
pub use dataset::Record;
pub use dialect::{Model, StopConfig};
pub use error::{Error, ErrorKind, Result};
pub use render::{Element, MetaRenderer, Part, Plain, Renderer, Segment};
pub use sink::{Jsonl, Sink};
pub use stop::{StopCriteria, StopId, StopSource};
pub use template::{Affix, AffixItem, MetaTemplate, RoleTemplate, RoundItem, TokenIds};
pub use tokenizer::{AddedToken, SpecialTokenIds, SpecialTokens, TokenId, Tokenizer, TokenizerFiles};
