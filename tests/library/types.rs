//! Public types are what a service needs them to be: owned or free to be lent, sent between threads, and printed.

use std::fmt::Debug;

use metatok::*;

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
        Accepts, FormOptions, Lmdeploy, OutputForm, ChatWrapper, Compare, Judge, Layout, LengthSummary, Lengths, Pattern, Prediction, PredictionColumns, PromptLength,
        QaTemplate, Score, ScoredAnswer, Scorer, Tally, Which,
        AddedToken, Affix, AffixItem, AnyTemplate, ApiPrompt, ApiRoles, ApiTemplate, Asked<'static>, Atom, Batch,
        BatchPlan, BatchSize, Budget, BuilderOptions, Built<'static>, ChatMessage, CompiledTemplate, Completion,
        Content, ContentPart, ContentTrust, Conversation, ConversationRenderer, ConversationTemplate, CutTokens,
        Dataset, DatasetSource, DerivedColumns, Difference<'static>, EachMessage, Element, End, Error, ErrorKind,
        Example, Examples, Finding, Fingerprint, FinishReason, Fitted, Fragment, FragmentKind, InferMode, Inference,
        Inferencer, InferencerKind, InputFormat, Item, Jsonl, KeptColumns, Key<'static>, Level, Lint, LlamaCpp,
        Marker, MaxOutLen, Media, MediaKind, MediaSpan, Message, MessageTemplate, MessagesJsonl, MetaRenderer,
        MetaTemplate, MissingColumns, Mode, Model, Multimodal, MultimodalTemplate, Named, Opening, Pack, Padding,
        PaddingSide, Part, PickedRow, Place, Placeholder, Plain, PrefixBreak, Progress<'static>, Prompt,
        PromptBuilder, PromptTemplate, RecordReader, Repeats, Request<'static>, RetrieverConfig, RetrieverKind,
        RoleTemplate, RoundItem, Row, RowKey, RowPrompt, Sampler, Sampling, SamplingParams, Scored, Section,
        Segment<'static>, SeparatorStyle, Sglang, Shots, Span, SpecialTokenIds, SpecialTokens, SplitRange,
        StopConfig, StopCriteria, StopId, StopMatcher, StopSource, StopStream, StopStrings, Substitution, System,
        Task, TemplateField, TerminalOptions, TextPart, TokenIds, TokenStream, TokenizedPrompt, Tokenizer,
        TokenizerFiles, Trimmer, Truncated, Truncation, Turn, TurnPlan, TurnPrompt, TurnTemplate, Value, View,
        ViewMedia, ViewRow, ViewStop, ViewToken, ViewTurn, Vllm
    );
    #[cfg(feature = "arrays")]
    all!(is_shared: ArrayFormat, Arrays);
    #[cfg(feature = "arrow")]
    all!(is_shared: Table, TableFormat);
    #[cfg(feature = "candle")]
    all!(is_shared: CandleDevice, CandleEngine);
    // One for each thread.
    all!(is_sent: Checker, Record<'static>, Session, Turns);
}

/// None is forgotten.
fn all_public_types_are_in_the_list() {
    let (library, list) = (include_str!("../../src/lib.rs"), include_str!("types.rs"));
    let exported = library.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()).flat_map(|rest| {
        let names = rest.rsplit("::").next().unwrap_or_default();
        names.split([',', '{', '}']).map(str::trim).filter(|name| name.starts_with(char::is_uppercase))
    });
    // Traits, and names of other types.
    let others = [
        "Engine",
        "FindExamples",
        "IGNORED",
        "LINTS",
        "Number",
        "OUTPUT_FORMS",
        "OnToken",
        "Renderer",
        "Result",
        "Retriever",
        "Sink",
        "TokenId",
    ];
    let is_listed = |name: &str| list.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    let forgotten: Vec<&str> = exported.filter(|name| !others.contains(name) && !is_listed(name)).collect();
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
