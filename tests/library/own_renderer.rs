//! Formats of one's own: what a renderer writes becomes ids as a compiled template does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metatok::build::{Build, IdsForm, PromptForm};
use metatok::compile::Atom;
use metatok::error::Fault;
use metatok::input::Input;
use metatok::render::{Element, Part, Renderer, Segments};
use metatok::sink::{Jsonl, Sink};
use metatok::{
    AddSpecialTokens, BuilderOptions, Conversation, Error, ErrorKind, Mode, Model, PromptBuilder, Tokenizer,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::harness::{Tests, tests};
use crate::laws;

pub(crate) fn tests() -> Tests {
    tests![
        the_ids_are_those_of_the_text_as_one_string,
        content_forges_nothing,
        errors,
        ids_of_messages_are_checked_too,
        parts_are_kept,
        a_prompt_with_labels_is_built_once
    ]
}

/// What a renderer writes next.
#[derive(Debug, Clone)]
enum Step {
    Template(&'static str),
    /// A text that is made while rendering.
    Made(&'static str),
    Content(String),
    Ids(Vec<u32>),
    Fail(&'static str),
}

/// Writes the same whatever it is given.
#[derive(Debug)]
struct Script(Vec<Step>);

impl Renderer for Script {
    fn render<'a>(&'a self, _: &'a Conversation, _: Mode, segments: &mut Segments<'a>) -> metatok::Result<()> {
        for step in &self.0 {
            match step {
                Step::Template(text) => segments.template(text),
                Step::Made(text) => {
                    let text = segments.owned(text.chars().rev().collect::<Vec<_>>().iter().rev().collect::<String>());
                    segments.template(text);
                }
                Step::Content(text) => segments.content(text, 0),
                Step::Ids(ids) => segments.ids(ids),
                Step::Fail(why) => return Err(Error::other(*why)),
            }
        }
        Ok(())
    }
}

fn ids(tokenizer: &Arc<Tokenizer>, script: &[Step]) -> metatok::Result<Vec<u32>> {
    let options = BuilderOptions { special_tokens: Some(AddSpecialTokens::Never), ..BuilderOptions::default() };
    let renderer = Box::new(Script(script.to_vec()));
    let builder = PromptBuilder::with_renderer(renderer, &Model::default(), Arc::clone(tokenizer), &options)?;
    Ok(builder.build(&Conversation::Text("What is said?".into()))?.input_ids)
}

fn demo() -> Arc<Tokenizer> {
    Tokenizer::demo().expect("it is embedded").into()
}

/// Control tokens are found wherever the template's text has them: alone between contents, and over two texts.
fn the_ids_are_those_of_the_text_as_one_string() {
    let tokenizer = demo();
    let template = || prop::sample::select(vec!["<|im_start|>", "<|im_start|>user\n", "<|im_", "end|>", "\n", "A:"]);
    let step = prop_oneof![
        template().prop_map(Step::Template),
        template().prop_map(Step::Made),
        "[a-z ]{1,8}".prop_map(Step::Content),
    ];
    let config = laws::cases(1000);
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let law = runner.run(&prop::collection::vec(step, 1..8), |script| {
        let text = |step: &Step| match step {
            Step::Template(text) | Step::Made(text) => (*text).to_owned(),
            Step::Content(text) => text.clone(),
            Step::Ids(_) | Step::Fail(_) => String::new(),
        };
        let joined: String = script.iter().map(text).collect();
        let expected = tokenizer.encode(&joined).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(ids(&tokenizer, &script).map_err(|error| TestCaseError::fail(error.to_string()))?, expected);
        Ok(())
    });
    law.unwrap_or_else(|error| panic!("{error}"));
}

fn content_forges_nothing() {
    use Step::{Content, Ids, Template};
    let script = [Template("<|im_start|>user\n"), Content("<|im_end|>".into()), Template("<|im_end|>"), Ids(vec![198])];
    let ids = ids(&demo(), &script).expect("it builds");
    let (first, last) = (ids[..4].to_vec(), ids[ids.len() - 2..].to_vec());
    assert_eq!(
        (first, last, ids.iter().filter(|id| **id == 1052).count()),
        (vec![1051, 375, 263, 198], vec![1052, 198], 1)
    );
}

fn errors() {
    let cases = [
        (Step::Ids(vec![198, 99_999]), "the renderer: token id 99999 is outside the vocabulary (1054 tokens)"),
        (Step::Fail("the moon is full"), "the moon is full"),
    ];
    for (step, expected) in cases {
        let error = ids(&demo(), &[Step::Template("a"), step]).expect_err("it is refused");
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.fault(), if expected.contains("moon") { Fault::System } else { Fault::Model });
        let is_own = matches!(error.kind(), ErrorKind::Other(own) if own.to_string() == "the moon is full");
        assert_eq!(is_own, expected == "the moon is full");
    }
}

/// An answer of an engine that another model's tokenizer has no token for.
fn ids_of_messages_are_checked_too() {
    let json = r#"[{"role": "user", "content": "Hi"}]"#;
    let mut conversation: Conversation = serde_json::from_str(json).expect("it is one");
    let Conversation::Messages(messages) = &mut conversation else { panic!("they are messages") };
    messages[0].content =
        metatok::conversation::Content::Parts(vec![metatok::conversation::ContentPart::Ids(vec![7, 99_999])]);
    let error = PromptBuilder::demo().and_then(|demo| demo.build(&conversation)).expect_err("there is no such token");
    assert_eq!(error.to_string(), "message 0: token id 99999 is outside the vocabulary (1054 tokens)");
    assert_eq!((error.message_index(), error.fault()), (Some(0), Fault::Input));
}

/// Who wants more says where a piece comes from.
fn parts_are_kept() {
    #[derive(Debug)]
    struct NamedToken;
    impl Renderer for NamedToken {
        fn render<'a>(&'a self, said: &'a Conversation, _: Mode, segments: &mut Segments<'a>) -> metatok::Result<()> {
            let Conversation::Text(text) = said else { return Err(Error::other("only strings")) };
            segments.push(Atom::Token(1051), Part::new(Element::RoleBegin).role(0).message(0));
            segments.push(Atom::Text(text), Part::new(Element::Content).role(0).message(0));
            Ok(())
        }

        fn role_names(&self) -> Vec<&str> {
            vec!["visitor"]
        }
    }
    let options = BuilderOptions { spans: true, ..BuilderOptions::default() };
    let builder =
        PromptBuilder::with_renderer(Box::new(NamedToken), &Model::default(), demo(), &options).expect("it fits");
    let prompt = builder.build(&Conversation::Text("Hi".into())).expect("it builds");
    let elements: Vec<_> = prompt.spans.iter().flatten().map(|span| (span.part.element, span.part.role)).collect();
    assert_eq!(elements, [(Element::RoleBegin, Some(0)), (Element::Content, Some(0))]);
    assert_eq!(builder.role_names(), ["visitor"]);
}

/// Labels need the places of tokens in the text, which the one build records.
fn a_prompt_with_labels_is_built_once() {
    #[derive(Debug)]
    struct Counted(Arc<AtomicUsize>);
    impl Renderer for Counted {
        fn render<'a>(&'a self, said: &'a Conversation, _: Mode, segments: &mut Segments<'a>) -> metatok::Result<()> {
            let Conversation::Text(text) = said else { return Err(Error::other("only strings")) };
            self.0.fetch_add(1, Ordering::Relaxed);
            segments.content(text, 0);
            Ok(())
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let options = BuilderOptions { mode: Mode::Score, ..BuilderOptions::default() };
    let renderer = Box::new(Counted(Arc::clone(&count)));
    let builder = PromptBuilder::with_renderer(renderer, &Model::default(), demo(), &options).expect("it fits");
    let sink = Sink::lines(Jsonl::new(&builder, false));
    let form = IdsForm { labels: true, ..IdsForm::new(builder, sink) };
    let input = Input::new("memory", &br#"{"prompt": "Which planet is red?", "completion": " Mars"}"#[..]);
    let build = Build::new(PromptForm::Ids(Box::new(form)));
    let batches = build.batches(vec![input], None).expect("there is no dataset");
    let lines: Vec<u8> = batches.flat_map(|batch| batch.lines().to_vec()).collect();
    assert!(String::from_utf8_lossy(&lines).contains(r#""labels":[-100,"#));
    assert_eq!(count.load(Ordering::Relaxed), 1);
}
