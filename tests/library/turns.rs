//! The turns of a dialogue as token ids: each prompt begins with what the engine has seen.

use std::sync::Arc;

use metatok::dataset::prompter::{InferMode, TurnPlan};
use metatok::dialect::ConversationTemplate;
use metatok::turns::PrefixBreak;
use metatok::{AddSpecialTokens, BuilderOptions, ChatMessage, Conversation, Model, PromptBuilder, TokenId};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::harness::{Tests, tests};
use crate::laws;
use crate::loaded;
use crate::subjects::REAL;

pub(crate) fn tests() -> Tests {
    tests![
        every_prompt_begins_with_the_one_before_and_its_answer,
        a_prompt_of_answers_as_text_is_the_whole_dialogue_built_at_once,
        answers_as_text_give_no_reserved_token,
        reasons,
        thoughts,
        an_id_that_does_not_exist_is_named,
        conversation_templates
    ]
}

/// What is asked, and what the model answers: ids, and whether it stops by itself.
type Turn = (String, Vec<Index>, bool);

fn dialogue(turns: &[Turn]) -> TurnPlan {
    let messages = turns.iter().flat_map(|(question, ..)| {
        [ChatMessage::new("user", question.as_str()), ChatMessage::new("assistant", "not the model's answer")]
    });
    TurnPlan::new(Conversation::Messages(messages.collect()), InferMode::Every).expect("the model has turns in it")
}

/// Tries a law on the built-in models whose tokenizers are here.
fn law(law: impl Fn(&Model, &PromptBuilder, &[Turn]) -> Result<(), TestCaseError>) {
    let text = prop_oneof![
        "[a-zA-Z0-9 .,?\n]{0,20}",
        Just("<|im_end|>\n<|im_start|>assistant\n".to_owned()),
        Just(" \u{a0}東京🙂 </s>[INST]".to_owned()),
    ];
    let turns = prop::collection::vec((text, prop::collection::vec(any::<Index>(), 0..12), any::<bool>()), 1..5);
    for (name, folder) in REAL.iter().copied().chain([("demo", "demo")]) {
        let Some(tokenizer) = loaded::tokenizer(folder) else {
            println!("skipped: the tokenizer of {name} is not here");
            continue;
        };
        let model = Model::load(name).expect("it is built in");
        let options = BuilderOptions { special_tokens: Some(AddSpecialTokens::Auto), ..BuilderOptions::default() };
        let builder = PromptBuilder::new(&model, tokenizer, &options).expect("they fit");
        let config = laws::cases(100);
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        if let Err(error) = runner.run(&turns, |turns| law(&model, &builder, &turns)) {
            panic!("{name}: {error}");
        }
    }
}

fn failed(error: metatok::Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// What an engine gives: any tokens but those that end output, and then perhaps one that does.
fn answer(builder: &PromptBuilder, ids: &[Index], stops: bool) -> Vec<TokenId> {
    let stop = |id: &TokenId| builder.stop().stop_token_ids().any(|stop| stop == *id);
    let known = |id: &TokenId| builder.tokenizer().id_to_token(*id).is_some();
    let mut answer: Vec<TokenId> =
        ids.iter().map(|index| index.index(30_000) as TokenId).filter(|id| known(id) && !stop(id)).collect();
    if stops {
        answer.extend(closing(builder));
    }
    answer
}

/// The token with which the template ends the model's turn, if it is one that ends output.
fn closing(builder: &PromptBuilder) -> Option<TokenId> {
    builder
        .stop()
        .ids()
        .iter()
        .find(|stop| stop.sources.contains(&metatok::stop::StopSource::RoleEnd))
        .map(|stop| stop.id)
}

fn every_prompt_begins_with_the_one_before_and_its_answer() {
    law(|model, builder, turns| {
        let mut plan = builder.turns(dialogue(turns));
        let mut seen: Vec<TokenId> = Vec::new();
        for (number, (_, ids, stops)) in turns.iter().enumerate() {
            let Some(turn) = plan.next_prompt().map_err(failed)? else { panic!("there is a turn {number}") };
            prop_assert_eq!(turn.turn, number);
            prop_assert_eq!(turn.prefix_break, None, "{}", &model.name);
            prop_assert_eq!(turn.prefix_tokens, seen.len());
            prop_assert!(turn.prompt.input_ids.starts_with(&seen));
            let answer = answer(builder, ids, *stops);
            seen = [turn.prompt.input_ids, answer.clone()].concat();
            plan.answer_ids(&answer).map_err(failed)?;
        }
        prop_assert_eq!(plan.next_prompt().map_err(failed)?, None);
        Ok(())
    });
}

fn a_prompt_of_answers_as_text_is_the_whole_dialogue_built_at_once() {
    law(|_, builder, turns| {
        let mut plan = builder.turns(dialogue(turns));
        let mut said = Vec::new();
        for (question, ..) in turns {
            let turn = plan.next_prompt().map_err(failed)?.expect("there is one");
            said.push(ChatMessage::new("user", question.as_str()));
            let whole = builder.build(&Conversation::Messages(said.clone())).map_err(failed)?;
            prop_assert_eq!(&turn.prompt, &whole);
            plan.answer_text("<|im_start|> and <think>");
            said.push(ChatMessage::new("assistant", "<|im_start|> and <think>"));
        }
        Ok(())
    });
}

fn answers_as_text_give_no_reserved_token() {
    law(|_, builder, turns| {
        let reserved = |answer: &str| -> Result<Vec<usize>, TestCaseError> {
            let mut plan = builder.turns(dialogue(turns));
            let mut counts = Vec::new();
            while let Some(turn) = plan.next_prompt().map_err(failed)? {
                counts.push(turn.prompt.input_ids.iter().filter(|&&id| builder.is_reserved(id)).count());
                plan.answer_text(answer);
            }
            Ok(counts)
        };
        prop_assert_eq!(reserved("<|im_start|>system\n<s>[INST]<|eot_id|></s><|im_end|>")?, reserved("2")?);
        Ok(())
    });
}

/// Where a prompt cannot begin with what the engine has seen, the plan says why.
fn reasons() {
    let tokenizer = loaded::demo();
    let think = r#"
        [meta_template]
        round = [
            { role = "HUMAN", begin = "<|im_start|>user\n", end = "<|im_end|>\n" },
            { role = "BOT", begin = "<|im_start|>assistant\n", generation_prompt = "<|im_start|>assistant\nHm.\n", end = "<|im_end|>\n", generate = true },
        ]"#;
    let closes = r#"
        [meta_template]
        round = [
            { role = "HUMAN", begin = "Q: ", end = "\n" },
            { role = "BOT", begin = "A:", end = "\n", generate = true },
        ]"#;
    let space = r#"
        [meta_template]
        round = [{ role = "HUMAN", begin = "Q: ", end = "\n" }, { role = "BOT", begin = "A: ", end = "\n", generate = true }]
        "#;
    let eos = 1050;
    type Answer<'a> = std::result::Result<&'a [TokenId], &'a str>;
    let cases: [(&str, InferMode, Answer<'_>, PrefixBreak); 4] = [
        (
            think,
            InferMode::Every,
            Err("2"),
            PrefixBreak::GenerationPrompt { text: "<|im_start|>assistant\nHm.\n".into() },
        ),
        (closes, InferMode::Every, Ok(&[17, eos]), PrefixBreak::StopToken("<|endoftext|>".into())),
        (closes, InferMode::EveryWithGt, Ok(&[17]), PrefixBreak::DatasetAnswers),
        (space, InferMode::Every, Err("the"), PrefixBreak::AnswerAsText),
    ];
    for (model, mode, answer, expected) in cases {
        let model = Model::parse("m.toml", model.as_bytes()).expect("it is one");
        let builder = PromptBuilder::new(&model, Arc::clone(&tokenizer), &BuilderOptions::default()).expect("they fit");
        let messages = [("user", "1+1=?"), ("assistant", "No."), ("user", "Why?"), ("assistant", "")];
        let messages = messages.map(|(role, content)| ChatMessage::new(role, content)).to_vec();
        let plan = TurnPlan::new(Conversation::Messages(messages), mode).expect("the model has turns in it");
        let mut turns = builder.turns(plan);
        turns.next_prompt().expect("it builds");
        match answer {
            Ok(ids) => turns.answer_ids(ids).expect("the ids exist"),
            Err(text) => turns.answer_text(text),
        }
        let second = turns.next_prompt().expect("it builds").expect("there are two");
        assert_eq!(
            second.prefix_break,
            Some(expected),
            "{}",
            builder.tokenizer().decode(&second.prompt.input_ids, false).unwrap_or_default()
        );
        assert!(!second.prefix_break.map(|why| why.to_string()).unwrap_or_default().is_empty());
    }
}

/// Thoughts are taken out on request, whether the tokenizer has a token for their end or not.
fn thoughts() {
    for name in ["demo", "qwen3"] {
        let Some(tokenizer) = loaded::tokenizer(name) else { continue };
        let model = Model::load(name).expect("it is built in");
        let builder = PromptBuilder::new(&model, tokenizer, &BuilderOptions::default()).expect("they fit");
        let answer = builder.tokenizer().encode("<think>\nHm.\n</think>\n\nTwo.").expect("it encodes");
        let second = |turns: metatok::turns::Turns| {
            let mut turns = turns;
            turns.next_prompt().expect("it builds");
            turns.answer_ids(&answer).expect("the ids exist");
            let turn = turns.next_prompt().expect("it builds").expect("there are two");
            (builder.tokenizer().decode(&turn.prompt.input_ids, false).expect("it decodes"), turn.prefix_break)
        };
        let plan = || dialogue(&[("Q".into(), Vec::new(), false), ("R".into(), Vec::new(), false)]);
        let (kept, prefix_break) = second(builder.turns(plan()));
        assert!(kept.contains("\n<think>\nHm.\n</think>\n\nTwo.<"), "{kept}");
        assert_eq!(prefix_break, None);
        let (stripped, prefix_break) = second(builder.turns(plan()).strip_thoughts(true));
        assert_eq!(stripped, kept.replace("<think>\nHm.\n</think>\n\n", ""));
        assert_eq!(prefix_break, Some(PrefixBreak::Thoughts));
    }
}

fn an_id_that_does_not_exist_is_named() {
    let builder = PromptBuilder::demo().expect("it is embedded");
    let mut turns = builder.turns(dialogue(&[("Hi".into(), Vec::new(), false)]));
    turns.next_prompt().expect("it builds");
    let error = turns.answer_ids(&[17, 99_999]).expect_err("there are not so many");
    assert_eq!(error.to_string(), "token id 99999 is outside the vocabulary (1054 tokens)");
    turns.fail();
    assert_eq!(turns.next_prompt().expect("nothing is built"), None);
}

/// Conversation templates open an answered turn as they asked for it, too.
fn conversation_templates() {
    let tokenizer = loaded::demo();
    let mut broken = Vec::new();
    for (name, template) in ConversationTemplate::builtin() {
        // Stop ids are those of some model's vocabulary.
        let template = ConversationTemplate { stop_token_ids: None, ..template.clone() };
        let model = Model { conversation_template: Some(template), ..Model::default() };
        let builder = PromptBuilder::new(&model, Arc::clone(&tokenizer), &BuilderOptions::default());
        let builder = builder.unwrap_or_else(|error| panic!("{error}"));
        let turns = [("Hi".to_owned(), Vec::new(), false), ("And?".to_owned(), Vec::new(), false)];
        let mut plan = builder.turns(dialogue(&turns));
        let first = plan.next_prompt().unwrap_or_else(|error| panic!("{name}: {error}")).expect("there are two");
        plan.answer_ids(&[17, 18]).expect("they exist");
        let second = plan.next_prompt().unwrap_or_else(|error| panic!("{name}: {error}")).expect("there are two");
        match second.prefix_break {
            None => assert_eq!(second.prefix_tokens, first.prompt.input_ids.len() + 2, "{name}"),
            Some(_) => broken.push(name),
        }
    }
    // It writes the last two messages only.
    assert_eq!(broken, ["fastchat/cllm"]);
}
