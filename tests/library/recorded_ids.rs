//! Ids that others recorded from a model's own code. Each case says where they are from.

use std::iter;

use libtest_mimic::Completion;
use metatok::{BuilderOptions, ChatMessage, Conversation, Model, PromptBuilder, TokenId};
use serde::Deserialize;

use crate::case_files;
use crate::harness::Tests;
use crate::loaded;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "source")]
    _source: String,
    /// A built-in model.
    model: String,
    tokenizer: String,
    /// Whether the tokenizer's own chat template must give the same ids.
    #[serde(default = "yes")]
    chat_template: bool,
    messages: Vec<ChatMessage>,
    input_ids: Vec<TokenId>,
}

fn yes() -> bool {
    true
}

pub(crate) fn tests() -> Tests {
    case_files::each("tests/cases/recorded_ids", |_, case: &Case| {
        let Some(folder) = loaded::folder(&case.tokenizer) else {
            return Completion::ignored_with(format!("there is no {}", case.tokenizer));
        };
        let tokenizer = loaded::tokenizer(&case.tokenizer).expect("its folder is there");
        let model = Model::load(&case.model).expect("it is built in");
        let by_model = PromptBuilder::new(&model, tokenizer, &BuilderOptions::default());
        let by_chat_template = case.chat_template.then(|| PromptBuilder::load(&folder.to_string_lossy()));
        for builder in iter::once(by_model).chain(by_chat_template) {
            let builder = builder.expect("they fit");
            let prompt = builder.build(&Conversation::Messages(case.messages.clone())).expect("it is plain");
            assert_eq!(prompt.input_ids, case.input_ids);
        }
        Completion::Completed
    })
}
