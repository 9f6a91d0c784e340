//! A dialogue that grows: its prompts are those of its messages, it fits, and it can be kept as data.

use std::sync::Arc;

use metatok::conversation::{Content, ContentPart};
use metatok::dialect::ChatTemplate;
use metatok::truncate::Truncation;
use metatok::turns::{DialogueState, PrefixBreak};
use metatok::{
    BuilderOptions, ChatMessage, ContentTrust, ContextBudget, Conversation, Dialogue, Model, PromptBuilder, Tokenizer,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::harness::{Tests, tests};
use crate::laws;

pub(crate) fn tests() -> Tests {
    tests![
        prompts_are_those_of_the_messages,
        prompts_fit,
        reasons,
        a_chat_template_keeps_the_models_own_tokens,
        a_dialogue_that_does_not_fit_stays_as_it_was,
        an_answer_belongs_to_its_prompt,
        an_answer_ends_at_a_stop_string,
        damaged_states
    ]
}

/// What the model answers.
#[derive(Debug, Clone)]
enum Answer {
    Ids(Vec<u32>),
    Text(String),
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        prop::collection::vec(1_u32..1000, 0..12).prop_map(|ids| Answer::Ids([ids, vec![1052]].concat())),
        "[a-zA-Z <|>_]{0,20}".prop_map(Answer::Text),
    ]
}

fn law(law: impl Fn(&PromptBuilder, Vec<(String, Answer)>) -> Result<(), TestCaseError>) {
    let turns = prop::collection::vec(("[a-zA-Z .?<|>_]{0,30}", answer()), 1..8);
    let config = laws::cases(200);
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let demo = PromptBuilder::demo().expect("it is embedded");
    runner.run(&turns, |turns| law(&demo, turns)).unwrap_or_else(|error| panic!("{error}"));
}

fn failed(error: impl ToString) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

fn give(dialogue: &mut Dialogue, answer: &Answer) -> Result<(), TestCaseError> {
    match answer {
        Answer::Ids(ids) => dialogue.answer_ids(ids).map_err(failed),
        Answer::Text(text) => {
            dialogue.answer_text(text);
            Ok(())
        }
    }
}

/// Each prompt is that of the messages so far, and begins with what the engine has seen where answers are its ids. Kept as
/// JSON between any two steps, it is the same dialogue.
fn prompts_are_those_of_the_messages() {
    law(|demo, turns| {
        let mut dialogue = demo.dialogue();
        let (mut seen, mut said) = (Vec::new(), Vec::new());
        for (question, answer) in turns {
            said.push(ChatMessage::new("user", question.as_str()));
            dialogue.push(("user", question.as_str()));
            let json = serde_json::to_string(&dialogue.state()).map_err(failed)?;
            let state: DialogueState = serde_json::from_str(&json).map_err(failed)?;
            let resumed = demo.resume(state).map_err(failed)?.next_prompt().map_err(failed)?;
            let next = dialogue.next_prompt().map_err(failed)?;
            prop_assert_eq!(&next, &resumed);
            let whole = demo.build(&Conversation::Messages(said.clone())).map_err(failed)?;
            prop_assert_eq!(&next.prompt, &whole);
            prop_assert!(next.prompt.input_ids.starts_with(&seen));
            prop_assert!(next.prefix_tokens >= seen.len());
            give(&mut dialogue, &answer)?;
            seen = next.prompt.input_ids;
            said.push(match answer {
                Answer::Text(text) => ChatMessage::new("assistant", text),
                Answer::Ids(ids) => {
                    seen.extend_from_slice(&ids);
                    let said = ids[..ids.len() - 1].to_vec();
                    ChatMessage::new("assistant", Content::Parts(vec![ContentPart::Ids(said)]))
                }
            });
        }
        prop_assert_eq!(dialogue.messages(), said);
        Ok(())
    });
}

/// It fits, the last question stays, and what went is handed over.
fn prompts_fit() {
    law(|demo, turns| {
        let budget = ContextBudget::new(90, 10).truncation(Truncation::OldestTurns);
        let mut dialogue = demo.dialogue().budget(budget);
        let (mut pushed, mut gone) = (0, 0);
        for (question, answer) in turns {
            dialogue.push(("user", question.as_str()));
            let next = dialogue.next_prompt().map_err(failed)?;
            (pushed, gone) = (pushed + 1, gone + next.dropped.len());
            prop_assert!(next.prompt.input_ids.len() <= 80);
            prop_assert_eq!(next.truncated.is_some(), !next.dropped.is_empty());
            prop_assert_eq!(next.prefix_break == Some(PrefixBreak::Truncated), next.truncated.is_some());
            prop_assert_eq!(dialogue.messages().len() + gone, pushed);
            let last = dialogue.messages().last().map(|last| last.content.clone());
            prop_assert_eq!(last, Some(Content::from(question)));
            give(&mut dialogue, &answer)?;
            pushed += 1;
        }
        Ok(())
    });
}

/// What can happen between two prompts, and what the second one says of it.
fn reasons() {
    let demo = PromptBuilder::demo().expect("it is embedded");
    type Step = fn(&mut Dialogue);
    let cases: [(Step, Option<PrefixBreak>); 5] = [
        (|_| {}, None),
        (|dialogue| dialogue.push(("user", "Well?")), Some(PrefixBreak::Unanswered)),
        (|dialogue| dialogue.answer_text("Mars"), None),
        (|dialogue| dialogue.answer_ids(&[44, 695, 1052]).expect("they exist"), None),
        (
            |dialogue| dialogue.answer_ids(&[44, 695, 1050]).expect("they exist"),
            Some(PrefixBreak::StopToken("<|endoftext|>".into())),
        ),
    ];
    for (i, (step, expected)) in cases.into_iter().enumerate() {
        let mut dialogue = demo.dialogue();
        dialogue.push(("user", "Which planet is red?"));
        dialogue.next_prompt().expect("it builds");
        step(&mut dialogue);
        if dialogue.messages().len() == 2 && dialogue.messages()[1].role == "assistant" {
            dialogue.push(("user", "Why?"));
        }
        assert_eq!(dialogue.next_prompt().expect("it builds").prefix_break, expected, "case {i}");
    }
}

/// The ids of an answer are in the next prompt, reserved ones too, whether content is trusted or not. As text they give none.
fn a_chat_template_keeps_the_models_own_tokens() {
    let source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
        {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let model = Model::from(ChatTemplate::new("mine", source));
    let tokenizer = Arc::new(Tokenizer::demo().expect("it is embedded"));
    let forged = tokenizer.display_token(1051);
    for content in [ContentTrust::Data, ContentTrust::Trusted] {
        let options = BuilderOptions { content, ..BuilderOptions::default() };
        let builder = PromptBuilder::new(&model, Arc::clone(&tokenizer), &options).expect("it is a template");
        for answer in [&[44, 695, 1052][..], &[1051, 44, 695, 1051, 1051, 263, 1052], &[44, 1051, 1052], &[1051, 1052]]
        {
            let mut dialogue = builder.dialogue();
            dialogue.push(("user", "Which planet is red?"));
            let first = dialogue.next_prompt().expect("it builds").prompt.input_ids;
            dialogue.answer_ids(answer).expect("they exist");
            dialogue.push(("user", "Why?"));
            let second = dialogue.next_prompt().expect("it builds");
            assert!(second.prompt.input_ids.starts_with(&[&first[..], answer].concat()), "{answer:?}");
            assert_eq!(second.prefix_break, None, "{answer:?}");
        }
    }
    let builder = PromptBuilder::new(&model, tokenizer, &BuilderOptions::default()).expect("it is a template");
    let mut dialogue = builder.dialogue();
    dialogue.push(("user", "Which planet is red?"));
    dialogue.answer_text(format!("Mars{forged}"));
    let prompt = dialogue.next_prompt().expect("it builds").prompt.input_ids;
    assert_eq!(prompt.iter().filter(|id| **id == 1051).count(), 3);
}

fn a_dialogue_that_does_not_fit_stays_as_it_was() {
    let mut dialogue = PromptBuilder::demo().expect("it is embedded").dialogue().budget(ContextBudget::new(12, 0));
    dialogue.push(("user", "Which planet is red?"));
    let error = dialogue.next_prompt().expect_err("it is too long");
    assert!(error.to_string().contains("12"), "{error}");
    assert_eq!(dialogue.messages().len(), 1);
}

/// Wherever it arrives, and however often.
fn an_answer_belongs_to_its_prompt() {
    type Step = fn(&mut Dialogue);
    let mars: Step = |dialogue| dialogue.answer_ids(&[44, 695, 1052]).expect("they exist");
    let venus: Step = |dialogue| dialogue.answer_text("Venus");
    let why: Step = |dialogue| dialogue.push(("user", "Why?"));
    let pop: Step = |dialogue| assert!(dialogue.pop().is_some());
    let demo = PromptBuilder::demo().expect("it is embedded");
    let next = |steps: &[Step]| {
        let mut dialogue = demo.dialogue();
        dialogue.push(("user", "Which planet is red?"));
        dialogue.next_prompt().expect("it builds");
        steps.iter().for_each(|step| step(&mut dialogue));
        dialogue.next_prompt()
    };
    let expected = next(&[mars, why]).expect("it builds");
    for steps in [&[why, mars][..], &[venus, mars, why], &[venus, why, mars], &[venus, pop, mars, why]] {
        assert_eq!(next(steps).expect("it builds"), expected);
    }
    assert_eq!(next(&[mars, pop]).expect("it builds"), next(&[]).expect("it builds"));
    let error = next(&[mars]).expect_err("nothing was asked").to_string();
    assert_eq!(error, "the last message is the model's answer, so there is nothing to answer; push a message first");
}

fn an_answer_ends_at_a_stop_string() {
    let options = BuilderOptions { stop_strings: vec!["rs".into()], ..BuilderOptions::default() };
    let builder = PromptBuilder::new(
        &Model::load("demo").expect("it is built in"),
        Tokenizer::demo().expect("it is embedded").into(),
        &options,
    );
    let builder = builder.expect("it fits");
    // "M", "ars", and what came before the engine stopped.
    let prompt = |answer: &dyn Fn(&mut Dialogue)| {
        let mut dialogue = builder.dialogue();
        dialogue.push(("user", "Which planet is red?"));
        dialogue.next_prompt().expect("it builds");
        answer(&mut dialogue);
        dialogue.push(("user", "Why?"));
        dialogue.next_prompt().expect("it builds")
    };
    let cut = prompt(&|dialogue| dialogue.answer_ids(&[44, 695, 44]).expect("they exist"));
    let text = builder.tokenizer().decode(&cut.prompt.input_ids, true).expect("it decodes");
    assert!(text.contains("Ma\n"), "{text}");
    // 17 of the prompt, and "M".
    assert_eq!((cut.prefix_tokens, cut.prefix_break), (18, Some(PrefixBreak::Answer)));
    let said = prompt(&|dialogue| dialogue.answer_text("Ma")).prompt;
    for text in ["Mars", "Ma<|im_end|>zz", "Mars<|im_end|>"] {
        assert_eq!(prompt(&|dialogue| dialogue.answer_text(text)).prompt, said, "{text}");
    }
}

/// States that nobody wrote so.
fn damaged_states() {
    let demo = PromptBuilder::demo().expect("it is embedded");
    let messages = r#""messages":[{"role":"user","content":"Hi"}]"#;
    let cases = [
        (
            r#""answers":[{"message":0,"content_part":0,"token_ids":[1]}]"#,
            "answers[0]: the content of message 0 has no part 0; is the state complete?",
        ),
        (
            r#""answers":[{"message":0,"content_part":0,"token_ids":[99999]}]"#,
            "answers[0]: token id 99999 is outside the vocabulary (1054 tokens)",
        ),
        (
            r#""answers":[],"seen":{"messages":2,"is_cut":false,"ids":[],"prompt_tokens":0,"answer":"none","strips_thoughts":false}"#,
            "seen: it counts more messages or tokens than there are; remove it, and the next prompt is a first one",
        ),
        (
            r#""answers":[],"seen":{"messages":1,"is_cut":false,"ids":[],"prompt_tokens":0,"answer":"text","strips_thoughts":false}"#,
            "seen: it counts more messages or tokens than there are; remove it, and the next prompt is a first one",
        ),
    ];
    for (state, expected) in cases {
        let state: DialogueState = serde_json::from_str(&format!("{{{messages},{state}}}")).expect("it is JSON");
        assert_eq!(demo.resume(state).expect_err("it is damaged").to_string(), expected);
    }
}
