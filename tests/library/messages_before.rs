//! What messages have in common with those of the prompt before does not show, whatever a template does with them.

use std::sync::{Arc, LazyLock};

use metatok::truncate::{Truncated, Truncation};
use metatok::{
    AddSpecialTokens, BuilderOptions, ChatMessage, ContextBudget, Conversation, MetaTemplate, Mode, Model,
    PromptBuilder, TokenizedPrompt, Tokenizer,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use regex::Regex;
use serde_json::Value;

use crate::harness::{Tests, tests};
use crate::laws;

pub(crate) fn tests() -> Tests {
    tests![
        builders_that_remember_build_what_new_ones_build,
        a_message_that_ends_with_the_last_known_run,
        what_others_build_in_between
    ]
}

static DEMO: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| Arc::new(Tokenizer::demo().expect("the demo loads")));

const CONTENTS: &[&str] =
    &["", " ", "\n", "Hi", "Hi!", "Hi!\n", "What is red?", "<think>\nx\n</think>\n\ny", "</think>", "<|im_end|>", "é "];
const ROLES: &[&str] = &["user", "user", "assistant", "assistant", "system", "tool"];

/// What a conversation is changed to before the next prompt is built.
#[derive(Debug, Clone)]
enum Change {
    Nothing,
    Content(Index, &'static str),
    Role(Index, &'static str),
    Key(Index),
    More(&'static str, &'static str),
    Fewer(Index),
    /// Back to one that was built before.
    Back(Index),
}

/// How a prompt is built, always with the same buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Build {
    Usual,
    Spans,
    Continued,
    /// With room for this many percent of its tokens.
    Within(Truncation, usize),
}

/// Changes, how prompts are then built, and how often: what comes for the second time is kept, and found the third time.
fn changes() -> impl Strategy<Value = Vec<(Change, Build, usize)>> {
    let (content, role) = (|| select(CONTENTS), || select(ROLES));
    let change = prop_oneof![
        1 => Just(Change::Nothing),
        4 => (any::<Index>(), content()).prop_map(|(at, content)| Change::Content(at, content)),
        1 => (any::<Index>(), role()).prop_map(|(at, role)| Change::Role(at, role)),
        1 => any::<Index>().prop_map(Change::Key),
        4 => (role(), content()).prop_map(|(role, content)| Change::More(role, content)),
        1 => any::<Index>().prop_map(Change::Fewer),
        3 => any::<Index>().prop_map(Change::Back),
    ];
    let truncations = [Truncation::OldestTurns, Truncation::OldestTurns, Truncation::Left, Truncation::Middle];
    let build = prop_oneof![
        12 => Just(Build::Usual),
        1 => Just(Build::Spans),
        1 => Just(Build::Continued),
        4 => (select(truncations.to_vec()), select(&[60, 80, 100][..])).prop_map(|(how, left)| Build::Within(how, left)),
    ];
    prop::collection::vec((change, build, select(&[1, 1, 3][..])), 10..60)
}

impl Change {
    fn apply(&self, messages: &mut Vec<ChatMessage>, built: &[Vec<ChatMessage>]) {
        let count = messages.len();
        let at = |index: &Index| index.index(count);
        match self {
            Self::Nothing => {}
            Self::Content(index, content) => messages[at(index)].content = (*content).into(),
            Self::Role(index, role) => messages[at(index)].role = (*role).into(),
            Self::Key(index) => {
                // The first changes no prompt, the second is refused.
                let others = &mut messages[at(index)].others;
                let key = if others.is_empty() { "name" } else { "tool_calls" };
                others.insert(key.into(), Value::from(vec![1]));
            }
            Self::More(role, content) => messages.push(ChatMessage::new(*role, *content)),
            Self::Fewer(index) => messages.truncate(at(index) + 1),
            Self::Back(index) => messages.clone_from(index.get(built)),
        }
    }
}

/// The same template with the demo's control tokens in place of all others, so that prompts have many runs.
fn with_demo_tokens(template: &MetaTemplate) -> MetaTemplate {
    static CONTROL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"<[^<>\s/]{2,}>|</?s>|\[/?[A-Z_]+\]").expect("it is a pattern"));
    fn replace(value: &mut Value) {
        match value {
            Value::String(text) if text.contains("think>") => {}
            Value::String(text) => *text = CONTROL.replace_all(text, "<|im_end|>").into_owned(),
            Value::Number(id) => *id = 1051.into(),
            Value::Array(items) => items.iter_mut().for_each(replace),
            Value::Object(entries) => entries.iter_mut().for_each(|(key, value)| match key.as_str() {
                "token" => *value = "<|im_end|>".into(),
                _ => replace(value),
            }),
            Value::Null | Value::Bool(_) => {}
        }
    }
    let mut value = serde_json::to_value(template).expect("a template is written");
    replace(&mut value);
    serde_json::from_value(value).expect("and read")
}

type Said = Result<(TokenizedPrompt, Option<Truncated>, Option<Conversation>), String>;

fn said(builder: &PromptBuilder, build: Build, conversation: &Conversation, tokens: usize) -> Said {
    let whole = |prompt| (prompt, None, None);
    let built = match build {
        Build::Usual => builder.build(conversation).map(whole),
        Build::Spans => builder.clone().spans(true).build(conversation).map(whole),
        Build::Continued => builder.clone().continue_final_message(true).build(conversation).map(whole),
        Build::Within(truncation, percent) => {
            let budget = ContextBudget::new((tokens * percent / 100).max(1), 0).truncation(truncation);
            let fitted = builder.build_within(conversation, &budget);
            fitted.map(|fitted| (fitted.prompt, fitted.truncated, fitted.conversation))
        }
    };
    built.map_err(|error| error.to_string())
}

fn models() -> Vec<Model> {
    let with_demo_tokens = |model: Model| {
        let meta_template = Some(with_demo_tokens(model.meta_template.as_ref()?));
        Some(Model { name: model.name, meta_template, ..Model::default() })
    };
    Model::builtin().filter_map(with_demo_tokens).collect()
}

/// What is asked for beside ids.
#[derive(Debug, Clone, Copy, Default)]
struct Extras {
    spans: bool,
    offsets: bool,
    text: bool,
}

fn builder(model: &Model, mode: Mode, Extras { spans, offsets, text }: Extras) -> PromptBuilder {
    let special_tokens = Some(AddSpecialTokens::Never);
    let options = BuilderOptions { mode, special_tokens, spans, offsets, text, ..BuilderOptions::default() };
    PromptBuilder::new(model, Arc::clone(&DEMO), &options).expect("the template fits")
}

fn builders_that_remember_build_what_new_ones_build() {
    let extras = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let extras = extras.prop_map(|(is_plain, spans, offsets, text)| match is_plain {
        true => Extras::default(),
        false => Extras { spans, offsets, text },
    });
    let strategy = (select(models()), select(&[Mode::Generate, Mode::Score][..]), extras, changes());
    let config = Config { max_shrink_iters: 2000, ..laws::cases(200) };
    let law = |(model, mode, extras, changes): (Model, Mode, Extras, Vec<_>)| {
        let new = || builder(&model, mode, extras);
        let builder = new();
        let mut messages = vec![ChatMessage::new("user", "What is red?")];
        let mut all_built = vec![messages.clone()];
        for (change, build, times) in changes {
            let change: Change = change;
            change.apply(&mut messages, &all_built);
            all_built.push(messages.clone());
            let conversation = Conversation::Messages(messages.clone());
            let tokens = new().build(&conversation).map_or(0, |prompt| prompt.input_ids.len());
            let alone = said(&new(), build, &conversation, tokens);
            for _ in 0..times {
                let built = said(&builder, build, &conversation, tokens);
                prop_assert_eq!(&built, &alone, "{} {:?} {:?}", model.name, build, conversation);
            }
        }
        Ok(())
    };
    if let Err(error) = TestRunner::new(config).run(&strategy, law) {
        panic!("{error}");
    }
}

/// Found by the law above.
fn a_message_that_ends_with_the_last_known_run() {
    const QUESTION: &str = "What is red?";
    let steps: [(&[&str], Build); 9] = [
        (&[QUESTION, ""], Build::Usual),
        (&[QUESTION, ""], Build::Usual),
        (&[QUESTION, "</think>"], Build::Within(Truncation::OldestTurns, 60)),
        (&[QUESTION, "</think>"], Build::Usual),
        (&[QUESTION, ""], Build::Usual),
        (&[QUESTION, ""], Build::Usual),
        (&[QUESTION, "", "</think>"], Build::Usual),
        (&[QUESTION, "</think>", "</think>"], Build::Usual),
        (&[QUESTION, "</think>", "</think>"], Build::Usual),
    ];
    for model in models() {
        let new = || builder(&model, Mode::Generate, Extras { spans: true, ..Extras::default() });
        let builder = new();
        for (contents, build) in steps {
            let messages = contents.iter().map(|content| ChatMessage::new("user", *content)).collect();
            let conversation = Conversation::Messages(messages);
            let tokens = new().build(&conversation).map_or(0, |prompt| prompt.input_ids.len());
            let alone = said(&new(), build, &conversation, tokens);
            assert_eq!(said(&builder, build, &conversation, tokens), alone, "{} {contents:?}", model.name);
        }
    }
}

fn what_others_build_in_between() {
    let chat = |contents: [&str; 4]| {
        let roles = ["user", "assistant"].into_iter().cycle();
        Conversation::Messages(roles.zip(contents).map(|(role, content)| ChatMessage::new(role, content)).collect())
    };
    let [one, other] = [chat(["Hi", "Hi!", "Bye", "Bye!"]), chat(["What", "is", "red?", "Mars."])];
    for model in models() {
        let new = || builder(&model, Mode::Generate, Extras::default());
        for between in [Build::Spans, Build::Continued, Build::Within(Truncation::OldestTurns, 50)] {
            let builder = new();
            for (build, conversation) in [(Build::Usual, &one), (between, &other), (Build::Usual, &one)] {
                // What comes for the second time is kept, and found the third time.
                for _ in 0..3 {
                    let alone = said(&new(), build, conversation, 40);
                    assert_eq!(said(&builder, build, conversation, 40), alone, "{} {between:?}", model.name);
                }
            }
        }
    }
}
