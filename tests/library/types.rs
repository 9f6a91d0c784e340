//! Public types are what a service needs them to be: owned or free to be lent, sent between threads, and printed.

use std::fmt::Debug;
use std::path::Path;

use metatok::answers::*;
use metatok::batch::*;
use metatok::build::*;
use metatok::builder::*;
use metatok::check::*;
use metatok::compare::*;
use metatok::compile::*;
use metatok::conversation::*;
use metatok::dataset::{judge::*, prompter::*, records::*, retriever::*, rows::*, template::*, *};
use metatok::dialect::*;
use metatok::diff::*;
use metatok::engine::*;
use metatok::error::{Fault, Place, Setting, Warning, WayOut, WayOutPart};
use metatok::fingerprint::*;
use metatok::import::*;
use metatok::input::*;
use metatok::lengths::*;
use metatok::prepared::*;
use metatok::render::*;
use metatok::run::*;
use metatok::score::*;
use metatok::server::*;
use metatok::sink::*;
use metatok::stop::*;
use metatok::template::*;
use metatok::tokenizer::*;
use metatok::trim::*;
use metatok::truncate::*;
use metatok::turns::*;
use metatok::view::*;
use metatok::{Error, ErrorKind};

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![
        types_are_shared_or_sent_and_printed,
        all_public_types_are_in_the_list,
        a_builder_lives_as_long_as_what_it_makes
    ]
}

fn is_shared<T: Send + Sync + Debug>() {}

fn is_sent<T: Send + Debug>() {}

macro_rules! all {
    ($is:ident: $($type:ty),* $(,)?) => { $($is::<$type>();)* };
}

fn types_are_shared_or_sent_and_printed() {
    #[rustfmt::skip]
    all!(is_shared:
        PlacedDifference, ModelChoice<'static>, RunCounts, MessageEnd, Progress, TokenizerCache, ModelAnswers, LabelScore<'static>, LogLikelihood, LogLikelihoods, PickedLabel<'static>, ScoreRule, TextsToScore, TokenLogprobs, BatchRemarks, Build, BuildTotals, BuiltBatch, IdsForm, InputOptions<'static>, InputRemarks, RecordedFingerprint, MessagesForm, Notes, PromptForm, Rejected, Written,
        OutputFiles, RecordPlace<'static>, PromptRecord, PromptSpool, Sink, Holds, CsvOptions, Quotes, RawRecord<'static>, DatasetOptions, NamedDataset, PreparedDataset, ChosenPrompt, PromptChoice<'static>, ResumeOptions, AnsweredBy<'static>, RunAnswers, RunOptions, RunOutcome, RunTotals, AnswerFormat, AnswerTrimmer, EngineAnswer<'static>, Problem, Protocol, Reported, Served, StopReason, TrimOptions, TrimTotals, TrimmedBatch, TrimmedAnswer<'static>,
        AnswerComparer, AnswerSet, CompareTotals, Comparison<'static>, DifferingAnswer, FirstDifference,
        Accepts, FormOptions, OutputForm, RequestOptions, ChatWrapper, Compare, Judge, Layout, LengthSummary, Lengths, Pattern, Prediction, PredictionColumns, PromptLength,
        QaTemplate, NormalizeBy, Score, AnswersSeen, ScoredAnswer, Scorer, Tally, Votes, Which,
        Cause, Diff, PromptDifference, Chat, ContentKind, Imported, PromptTally, Verified, ChatTemplate, ChatTemplateRenderer, Verification,
        Box<dyn RowTemplate>, ExampleSupport, TemplateInput<'static>, TemplateText,
        AddedToken, Affix, AffixItem, ApiPrompt, ApiRoles, ApiTemplate, Atom, Batch,
        BatchPlan, BatchSize, ContextBudget, BuilderOptions, BuiltPrompt<'static>, ChatMessage, CompiledTemplate, Completion,
        Content, ContentPart, ContentTrust, Conversation, ConversationRenderer, ConversationTemplate, CutTokens,
        Dataset, DatasetSource, DerivedColumns, Difference<'static>, EachMessage, Element, CompletionEnd, Error, ErrorKind,
        Fault, Place, Setting, Warning, WayOut, WayOutPart,
        Example, Examples, Finding, Fingerprint, FinishReason, Fitted, Fragment, FragmentKind, InferMode, RowPrompter,
        Inferencer, InferencerKind, InputFormat, Item, Jsonl, KeptColumns, PromptKey<'static>, Level, Lint,
        Marker, MaxOutLen, Media, MediaKind, MediaSpan, Message, MessageTemplate, MessagesJsonl, MetaRenderer,
        MetaTemplate, MissingColumns, Mode, Model, Multimodal, MultimodalTemplate, NamedToken, Opening, Pack, Padding,
        PaddingSide, Part, PickedRow, PackPosition, Placeholder, Plain, PrefixBreak, GenerationEvent<'static>, Prompt,
        PromptBuilder, PromptTemplate, ReadsFor, RecordReader, Repeats, Request<'static>, RetrieverConfig, RetrieverKind,
        RoleTemplate, RoundItem, Trim, EmptyContent, MergeAt, Omissions<'static>, Row, RowKey, RowPrompt, Sampler, Sampling, SamplingParams, ScoredText, Section,
        Segment<'static>, Segments<'static>, TemplateCut, TextArena, SeparatorStyle, Span, SpecialTokenIds, AddSpecialTokens, SplitRange,
        StopConfig, StopCriteria, StopId, StopMatcher, StopSource, StopStream, Stop, StopStrings, Substitution, SystemPrompt,
        Task, TemplateField, TerminalOptions, TextEncoder, TextPart, TokenIds, TokenStream, TokenizedPrompt, Tokenizer,
        TokenizerFiles, Trimmer, Truncated, Truncation, ApiTurn, TurnPlan, TurnPrompt, TurnTemplate, Value, View,
        ViewMedia, ViewRow, ViewStop, ViewToken, ViewTurn, DialoguePrompt, DialogueState,
        Dialogue, JoinSession<'static>, Session, Turns
    );
    #[cfg(feature = "arrays")]
    all!(is_shared: ArrayFormat, Arrays);
    #[cfg(feature = "arrow")]
    all!(is_shared: Table, TableFormat);
    #[cfg(feature = "http")]
    all!(is_shared: metatok::client::Client, metatok::client::ClientOptions, metatok::client::Notice, metatok::client::ServerNotes, metatok::run::ServerTotals);
    #[cfg(feature = "candle")]
    all!(is_shared: CandleDevice, CandleEngine);
    // One for each thread.
    all!(is_sent: Checker, DatasetPrompter, Record<'static>, Input, RunEvent<'static>, Runner);
}

/// None is forgotten.
fn all_public_types_are_in_the_list() {
    let list = include_str!("types.rs");
    let is_listed = |name: &str| list.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut forgotten = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("the sources can be listed").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source can be read");
            // What is `pub` can be reached: a lint of the compiler's sees to it.
            let types = text.lines().filter_map(|line| {
                let name = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))?;
                Some(name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned())
            });
            forgotten.extend(types.filter(|name| !is_listed(name)));
        }
    }
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

/// Builders are kept where their prompts are made: clones share what they have loaded and built.
fn a_builder_lives_as_long_as_what_it_makes() {
    let dialogue = || {
        let builder = PromptBuilder::demo().expect("it is embedded");
        let plan = TurnPlan::new(Conversation::Text("Once".into()), InferMode::Last);
        (builder.session(), builder.trimmer().map(|trimmer| trimmer.stream()), plan.map(|plan| builder.turns(plan)))
    };
    let (mut session, stream, _) = std::thread::spawn(dialogue).join().expect("it does not panic");
    let prompt = session.build(&Conversation::Text("Once upon a time".into())).expect("it is a text");
    let (mut stream, mut text) = (stream.expect("the demo's stops are few"), String::new());
    for &id in &prompt.input_ids {
        stream.push(id, &mut text).expect("they are the demo's ids");
    }
    assert_eq!((stream.finish(&mut text), &*text), (FinishReason::Length, "Once upon a time"));
    assert_eq!(stream.token_ids(), prompt.input_ids);
}
