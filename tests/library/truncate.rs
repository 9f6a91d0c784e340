//! Prompts within a budget: they fit, what must not be cut is whole, and the report says what went.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metatok::compile::CompiledTemplate;
use metatok::conversation::{ContentPart, Media, MediaKind};
use metatok::render::{Element, MetaRenderer, Renderer, Segments, TemplateCut};
use metatok::truncate::{Fitted, Truncation};
use metatok::{
    BuilderOptions, ChatMessage, ContextBudget, Conversation, ErrorKind, Mode, Model, PromptBuilder, Result, TokenId,
    TokenizedPrompt,
};
use proptest::prelude::*;

use crate::harness::{Tests, tests};
use crate::laws;
use crate::loaded;

pub(crate) fn tests() -> Tests {
    tests![
        ids_are_cut_where_they_may_be,
        the_oldest_turns_go_whole,
        as_much_goes_as_if_it_went_one_by_one,
        thousands_of_turns_go_within_seconds,
        turns_that_write_nothing_are_not_tried_one_by_one,
        ids_that_are_no_text_are_cut_too,
        examples_go_from_either_end
    ]
}

const MODEL: &str = r#"
    [meta_template]
    round = [
        { role = "HUMAN", begin = "<|im_start|>user\n", end = "<|im_end|>\n" },
        { role = "BOT", begin = "<|im_start|>assistant\n", end = "<|im_end|>\n", generate = true },
    ]
    reserved_roles = [{ role = "SYSTEM", begin = "<|im_start|>system\n", end = "<|im_end|>\n" }]
    [multimodal]
    image = { placeholder = [1053], repeat = 3 }
"#;

/// Nothing stands between messages, so that what goes lets its neighbours merge.
const BARE: &str = r#"
    [meta_template]
    round = [{ role = "HUMAN" }, { role = "BOT", generate = true }]
"#;

/// Turns without content write nothing.
const SILENT: &str = r#"
    [meta_template]
    round = [
        { role = "HUMAN", begin = "<|im_start|>user\n", end = "<|im_end|>\n", empty = "silent" },
        { role = "BOT", begin = "<|im_start|>assistant\n", end = "<|im_end|>\n", generate = true, empty = "silent" },
    ]
"#;

fn builder() -> PromptBuilder {
    builder_of(MODEL)
}

fn builder_of(model: &str) -> PromptBuilder {
    let model = Model::parse("m.toml", model.as_bytes()).expect("it is one");
    let options = BuilderOptions { spans: true, text: true, allow_empty_prompts: true, ..BuilderOptions::default() };
    PromptBuilder::new(&model, loaded::demo(), &options).expect("they fit")
}

/// The ids of what is said, and of everything else.
fn apart(prompt: &TokenizedPrompt) -> (Vec<TokenId>, Vec<TokenId>) {
    let (mut said, mut else_) = (Vec::new(), Vec::new());
    for span in prompt.spans.iter().flatten() {
        let ids = &prompt.input_ids[span.start..span.end];
        if span.part.element == Element::Content { said.extend(ids) } else { else_.extend(ids) }
    }
    (said, else_)
}

fn chat(texts: &[String], image: bool) -> Conversation {
    let roles = ["system"].into_iter().chain(["user", "assistant"].into_iter().cycle());
    let mut messages: Vec<ChatMessage> =
        roles.zip(texts).map(|(role, text)| ChatMessage::new(role, text.as_str())).collect();
    if let (true, Some(last)) = (image, messages.last_mut()) {
        let text = last.content.as_text().unwrap_or_default().to_owned();
        last.content = vec![Media::new(MediaKind::Image, "a.png").into(), ContentPart::text(text)].into();
    }
    Conversation::Messages(messages)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,30}", Just("東京🙂é <|im_end|>".to_owned()), Just("What goes around the Earth?".to_owned())]
}

proptest! {
    #![proptest_config(laws::cases(400))]

    fn ids_are_cut_where_they_may_be(
        texts in prop::collection::vec(text(), 1..6),
        image in any::<bool>(),
        limit in 1_usize..80,
        truncation in prop::sample::select(vec![Truncation::Left, Truncation::Right, Truncation::Middle]),
    ) {
        let builder = builder();
        let conversation = chat(&texts, image);
        let whole = builder.build(&conversation).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let (said, protected) = apart(&whole);
        let budget = ContextBudget { max_seq_len: limit + 5, max_out_len: 5, truncation };
        match builder.build_within(&conversation, &budget) {
            Err(error) => {
                prop_assert!(matches!(error.kind(), ErrorKind::TooLong { .. }), "{error}");
                prop_assert!(protected.len() > limit, "{} of {} said", protected.len(), said.len());
            }
            Ok(Fitted { prompt, truncated, .. }) => {
                prop_assert!(prompt.input_ids.len() <= limit);
                prop_assert_eq!(prompt.media.len(), whole.media.len());
                let (kept, rest) = apart(&prompt);
                prop_assert_eq!(&rest, &protected);
                let decoded = builder.tokenizer().decode(&prompt.input_ids, false).ok();
                prop_assert_eq!(&prompt.text, &decoded);
                let fits = match truncation {
                    Truncation::Left => said.ends_with(&kept),
                    Truncation::Right => said.starts_with(&kept),
                    _ => (0..=kept.len()).any(|at| said.starts_with(&kept[..at]) && said.ends_with(&kept[at..])),
                };
                prop_assert!(fits, "{said:?} {kept:?}");
                match truncated {
                    None => prop_assert_eq!(prompt, whole),
                    Some(truncated) => {
                        prop_assert_eq!((truncated.from, truncated.to), (whole.input_ids.len(), prompt.input_ids.len()));
                        let tokens: usize = truncated.tokens.iter().map(|cut| cut.tokens).sum();
                        prop_assert_eq!(tokens, said.len() - kept.len());
                        // No more than it must be, but for the rest of a character.
                        prop_assert!(truncated.to + 6 > limit);
                    }
                }
            }
        }
    }

    fn the_oldest_turns_go_whole(texts in prop::collection::vec(text(), 2..9), limit in 1_usize..120) {
        let builder = builder();
        let conversation = chat(&texts, false);
        let Conversation::Messages(messages) = &conversation else { panic!("it is messages") };
        let budget = ContextBudget { max_seq_len: limit, max_out_len: 0, truncation: Truncation::OldestTurns };
        let system_and_question = |kept: &[ChatMessage]| {
            kept[0] == messages[0] && kept[1..].first().is_none_or(|first| first.role == "user")
        };
        if let Ok(Fitted { prompt, truncated: Some(truncated), .. }) = builder.build_within(&conversation, &budget) {
            prop_assert!(prompt.input_ids.len() <= limit);
            let kept: Vec<ChatMessage> = messages.iter().enumerate()
                .filter(|(i, _)| !truncated.messages.contains(i)).map(|(_, message)| message.clone()).collect();
            prop_assert!(system_and_question(&kept));
            let last_question = messages.iter().rposition(|message| message.role == "user");
            prop_assert!(last_question.is_none_or(|last| !truncated.messages.contains(&last)));
            let built = builder.build(&Conversation::Messages(kept)).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(numbered_as_whole(built, messages.len(), &truncated.messages), prompt);
        }
    }
}

proptest! {
    #![proptest_config(laws::cases(100))]

    fn as_much_goes_as_if_it_went_one_by_one(
        texts in prop::collection::vec(prop_oneof!["a{1,40}", " {1,40}", "[a-z ]{0,30}", Just(String::new())], 2..90),
        share in 0_usize..100,
        model in prop::sample::select(vec![MODEL, BARE, SILENT]),
        truncation in prop::sample::select(vec![Truncation::OldestTurns, Truncation::FirstExamples, Truncation::LastExamples]),
    ) {
        let builder = builder_of(model);
        let (conversation, units) = match truncation {
            Truncation::OldestTurns => (dialogue(&texts), (0..(texts.len() - 1) / 2).map(|i| vec![2 * i, 2 * i + 1]).collect()),
            _ => examples(&texts),
        };
        let units: Vec<Vec<usize>> =
            if truncation == Truncation::LastExamples { units.into_iter().rev().collect() } else { units };
        let len = |conversation: &Conversation| builder.build(conversation).map(|prompt| prompt.input_ids.len());
        let whole = len(&conversation).expect("it builds");
        let limit = whole * share / 100;
        // An empty prompt fits.
        let expected = (1..=units.len()).filter(|_| whole > limit).find_map(|count| {
            let mut gone = units[..count].concat();
            gone.sort_unstable();
            (len(&without(&conversation, &gone)).expect("it builds") <= limit).then_some(gone)
        });
        let budget = ContextBudget { max_seq_len: limit, max_out_len: 0, truncation };
        let fitted = builder.build_within(&conversation, &budget).ok();
        // What is left has the ids that it has when nothing is known of the whole.
        if let Some(Fitted { prompt, truncated: Some(truncated), .. }) = &fitted {
            let left = without(&conversation, &truncated.messages);
            let alone = builder_of(model).build(&left).expect("it builds");
            prop_assert_eq!(prompt, &numbered_as_whole(alone, texts.len() * 3 + 3, &truncated.messages));
        }
        prop_assert_eq!(fitted.and_then(|fitted| fitted.truncated).map(|truncated| truncated.messages), expected);
    }
}

/// Turns of two messages.
fn dialogue(texts: &[String]) -> Conversation {
    let roles = ["user", "assistant"].into_iter().cycle();
    Conversation::Messages(roles.zip(texts).map(|(role, text)| ChatMessage::new(role, text.as_str())).collect())
}

/// An example of each text, and a question; and where they stand.
fn examples(texts: &[String]) -> (Conversation, Vec<Vec<usize>>) {
    let example = |text: &String| serde_json::json!([{"section": "ice", "pos": "begin"}, {"role": "HUMAN", "prompt": text}, {"section": "ice", "pos": "end"}]);
    let mut items: Vec<serde_json::Value> =
        texts.iter().flat_map(|text| example(text).as_array().cloned().unwrap_or_default()).collect();
    let question = serde_json::json!([{"section": "round", "pos": "begin"}, {"role": "HUMAN", "prompt": "?"}, {"section": "round", "pos": "end"}]);
    items.extend(question.as_array().cloned().unwrap_or_default());
    let list = serde_json::from_value(items.into()).expect("it is a prompt list");
    (list, (0..texts.len()).map(|i| vec![3 * i, 3 * i + 1, 3 * i + 2]).collect())
}

fn without(conversation: &Conversation, gone: &[usize]) -> Conversation {
    let is_kept = |i: &usize| !gone.contains(i);
    match conversation {
        Conversation::Messages(all) => {
            Conversation::Messages((0..all.len()).filter(is_kept).map(|i| all[i].clone()).collect())
        }
        Conversation::List(all) => Conversation::List((0..all.len()).filter(is_kept).map(|i| all[i].clone()).collect()),
        other => other.clone(),
    }
}

/// The prompt of what is left, with the numbers of the whole conversation, in which each example has three items.
fn numbered_as_whole(mut prompt: TokenizedPrompt, messages: usize, gone: &[usize]) -> TokenizedPrompt {
    let left: Vec<u32> =
        (0..messages).filter(|message| !gone.contains(message)).map(|message| message as u32).collect();
    for span in prompt.spans.iter_mut().flatten() {
        span.part.message = span.part.message.map(|message| left[message as usize]);
        span.part.example = span.part.example.map(|example| left[3 * example as usize] / 3);
    }
    prompt
}

fn thousands_of_turns_go_within_seconds() {
    let texts: Vec<String> = (0..16_001).map(|i| format!("What is {i} and 1?")).collect();
    let started = std::time::Instant::now();
    let budget = ContextBudget { max_seq_len: 200, max_out_len: 0, truncation: Truncation::OldestTurns };
    let fitted = builder().build_within(&dialogue(&texts), &budget).expect("the last turns fit");
    assert!((150..=200).contains(&fitted.prompt.input_ids.len()));
    // A prompt built for every turn that goes takes minutes.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

fn turns_that_write_nothing_are_not_tried_one_by_one() {
    let model = Model::parse("m.toml", SILENT.as_bytes()).expect("it is one");
    let template = CompiledTemplate::new(model.meta_template.as_ref().expect("it has one"), &loaded::demo());
    let rendered = Arc::new(AtomicUsize::new(0));
    let renderer = Counting {
        own: MetaRenderer { template: template.expect("they fit"), round_fallback: false },
        rendered: rendered.clone(),
    };
    let options = BuilderOptions::default();
    let builder = PromptBuilder::with_renderer(Box::new(renderer), &model, loaded::demo(), &options).expect("they fit");
    let mut texts = vec![String::new(); 16_001];
    // Near the beginning and near the end, something is said.
    for at in [2, 3, 15_000, 15_001, 16_000] {
        texts[at] = "Which planet is red?".into();
    }
    let last = builder.build(&dialogue(&texts[15_002..])).expect("it builds").input_ids.len();
    for (limit, gone) in [(last + 30, Some(4)), (last + 7, Some(15_002)), (last, Some(15_002)), (last - 1, None)] {
        rendered.store(0, Ordering::Relaxed);
        let budget = ContextBudget { max_seq_len: limit, max_out_len: 0, truncation: Truncation::OldestTurns };
        let fitted = builder.build_within(&dialogue(&texts), &budget).ok();
        let truncated = fitted.and_then(|fitted| fitted.truncated);
        assert_eq!(truncated.map(|truncated| truncated.messages.len()), gone, "limit {limit}");
        let rendered = rendered.load(Ordering::Relaxed);
        assert!(rendered < 100, "{rendered} prompts for limit {limit}");
    }
}

fn ids_that_are_no_text_are_cut_too() {
    let octopus = loaded::demo().encode("🐙").expect("it encodes");
    let begun = ChatMessage {
        content: vec![ContentPart::Ids(octopus[..1].to_vec())].into(),
        ..ChatMessage::new("assistant", "")
    };
    let messages = vec![ChatMessage::new("user", "The Sun and the Moon"), begun, ChatMessage::new("user", "?")];
    let conversation = Conversation::Messages(messages);
    let whole = builder().build(&conversation).expect("it builds").input_ids.len();
    let budget = ContextBudget { max_seq_len: whole - 2, max_out_len: 0, truncation: Truncation::Left };
    let prompt = builder().build_within(&conversation, &budget).expect("it fits").prompt;
    let decoded = loaded::demo().decode(&prompt.input_ids, false).expect("they are ids");
    assert!(decoded.contains("assistant\n\u{fffd}<|im_end|>"), "{decoded}");
    assert_eq!(prompt.text, Some(decoded));
}

/// Counts the prompts that it writes.
struct Counting {
    own: MetaRenderer,
    rendered: Arc<AtomicUsize>,
}

impl Renderer for Counting {
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
        self.rendered.fetch_add(1, Ordering::Relaxed);
        self.own.render(conversation, mode, segments)
    }

    fn speaks_for_model(&self, role: &str) -> bool {
        self.own.speaks_for_model(role)
    }

    fn omits_final_answer(&self) -> bool {
        self.own.omits_final_answer()
    }

    fn template_cut(&self) -> TemplateCut {
        self.own.template_cut()
    }
}

fn examples_go_from_either_end() {
    let list: Conversation = serde_json::from_str(
        r#"[
            {"section": "ice", "pos": "begin"}, {"role": "HUMAN", "prompt": "one"}, {"role": "BOT", "prompt": "1"}, {"section": "ice", "pos": "end"},
            {"section": "ice", "pos": "begin"}, {"role": "HUMAN", "prompt": "two"}, {"role": "BOT", "prompt": "2"}, {"section": "ice", "pos": "end"},
            {"section": "round", "pos": "begin"}, {"role": "HUMAN", "prompt": "three"}, {"section": "round", "pos": "end"}
        ]"#,
    )
    .expect("it is a prompt list");
    let builder = builder();
    let whole = builder.build(&list).expect("it builds").input_ids.len();
    for (truncation, gone) in [(Truncation::LastExamples, [4, 5, 6, 7]), (Truncation::FirstExamples, [0, 1, 2, 3])] {
        let budget = ContextBudget { max_seq_len: whole - 1, max_out_len: 0, truncation };
        let truncated = builder.build_within(&list, &budget).expect("it fits").truncated.expect("something went");
        assert_eq!(truncated.messages, gone);
        let budget = ContextBudget { max_seq_len: 5, ..budget };
        let error = builder.build_within(&list, &budget).expect_err("it cannot fit");
        assert_eq!(
            error.to_string(),
            "the prompt has 13 tokens, but only 5 fit (context 5); `truncate` cannot drop more of it: shorten it, or allow more tokens"
        );
    }
}
