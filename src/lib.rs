#![doc = include_str!("../README.md")]

mod error;
mod panics;
mod wording;
mod file_kind;
mod tokenizer;
mod conversation;
mod template;
mod stop;
mod compile;
mod render;
mod dialect;
mod dataset;
mod run_cache;
mod assemble;
mod batch;
mod engine;
mod builder;
mod truncate;
mod fingerprint;
mod turns;
mod check;
mod view;
mod sink;
mod run;
mod lengths;
mod score;
#[doc(hidden)]
pub mod cli;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;

#[cfg(doctest)]
#[doc = include_str!("../docs/turns.md")]
mod turns_page {}

#[cfg(all(doctest, feature = "candle"))]
#[doc = include_str!("../docs/run.md")]
mod run_page {}

pub use assemble::{ContentTrust, IGNORED, MediaSpan, Span, TokenizedPrompt};
pub use batch::{Batch, BatchPlan, BatchSize, Number, Pack, Padding, PaddingSide, Place};
pub use builder::{BuilderOptions, PromptBuilder, Session};
pub use check::{Checker, Finding, LINTS, Level, Lint};
pub use compile::{Atom, CompiledTemplate};
pub use conversation::{
    ChatMessage, Content, ContentPart, Conversation, Item, Marker, Media, MediaKind, Message, Mode, Prompt, Section,
    TextPart,
};
pub use dataset::{
    AnyTemplate, Asked, Dataset, DatasetSource, DerivedColumns, Examples, FindExamples, Fragment, FragmentKind,
    InferMode, Inference, Inferencer, InferencerKind, InputFormat, Judge, KeptColumns, Layout, MaxOutLen,
    MessageTemplate, MissingColumns, MultimodalTemplate, PickedRow, Prediction, PredictionColumns, PromptTemplate,
    QaTemplate, Record, RecordReader, Repeats, Retriever, RetrieverConfig, RetrieverKind, Row, RowKey, RowPrompt,
    SamplingParams, Scored, Shots, SplitRange, Substitution, Task, TemplateField, TurnPlan, TurnTemplate, Value,
    arrow_rows,
};
pub use dialect::{
    ConversationRenderer, ConversationTemplate, Example, Model, SeparatorStyle, StopConfig, StopStrings, System,
};
#[cfg(feature = "candle")]
pub use engine::{CandleDevice, CandleEngine};
pub use engine::{Engine, OnToken, Progress, Request, Sampler, Sampling};
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{Difference, Fingerprint};
pub use lengths::{LengthSummary, Lengths};
pub use render::{
    ApiPrompt, ApiRoles, ApiTemplate, ChatWrapper, EachMessage, Element, MetaRenderer, Opening, Part, Plain, Renderer,
    Segment, Turn,
};
pub use score::{Compare, Pattern, Score, ScoredAnswer, Scorer, Tally, Which};
pub use sink::{
    Accepts, Built, FormOptions, Jsonl, Key, LlamaCpp, Lmdeploy, MessagesJsonl, OUTPUT_FORMS, OutputForm, PromptLength,
    Sglang, Sink, Vllm,
};
#[cfg(feature = "arrays")]
pub use sink::{ArrayFormat, Arrays};
#[cfg(feature = "arrow")]
pub use sink::{Table, TableFormat};
pub use stop::{
    Completion, End, FinishReason, StopCriteria, StopId, StopMatcher, StopSource, StopStream, TokenStream, Trimmer,
};
pub use template::{Affix, AffixItem, MetaTemplate, Multimodal, Placeholder, RoleTemplate, RoundItem, TokenIds};
pub use tokenizer::{AddedToken, SpecialTokenIds, SpecialTokens, TokenId, Tokenizer, TokenizerFiles};
pub use truncate::{Budget, CutTokens, Fitted, Truncated, Truncation};
pub use turns::{PrefixBreak, TurnPrompt, Turns};
pub use view::{Named, TerminalOptions, View, ViewMedia, ViewRow, ViewStop, ViewToken, ViewTurn};
