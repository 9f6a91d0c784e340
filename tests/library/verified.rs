//! Every built-in model is the same as the chat templates that its file names, for the contents that it names.
//!
//! Chat templates are not part of this project. METATOK_REPOSITORIES names a folder of them as `OWNER/NAME/`, each with its
//! `tokenizer_config.json`, a `chat_template.jinja` if the former has none, and its `tokenizer.json` if it is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metatok::builder::ContentTrust;
use metatok::dialect::{ChatTemplate, Verification};
use metatok::diff::Diff;
use metatok::import::{ContentKind, generated};
use metatok::tokenizer::TokenizerFiles;
use metatok::{BuilderOptions, Conversation, Mode, Model, PromptBuilder, Tokenizer};

use crate::harness::{Tests, tests};
use crate::models::{check_ids, stand_in};

pub(crate) fn tests() -> Tests {
    tests![models_are_the_same_as_chat_templates, claims_are_well_formed]
}

fn claims_are_well_formed() {
    let codes = ContentKind::ALL.map(ContentKind::code);
    for model in Model::builtin() {
        for claim in &model.verified {
            let mut contents = claim.generate.iter().chain(&claim.score);
            assert!(contents.all(|content| codes.contains(&content.as_str())), "{}: {claim:?}", model.name);
            assert!(claim.template.contains('/') && !claim.copy.is_empty() && claim.date.len() == 10, "{claim:?}");
        }
    }
}

fn models_are_the_same_as_chat_templates() {
    let Some(folder) = std::env::var_os("METATOK_REPOSITORIES").map(PathBuf::from) else {
        println!("skipped: METATOK_REPOSITORIES names no folder of chat templates");
        return;
    };
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for model in Model::builtin() {
        for claim in &model.verified {
            let repository = folder.join(&claim.template);
            if !repository.is_dir() {
                println!("skipped: {} is not here", claim.template);
                continue;
            }
            let tokenizer = Arc::new(tokenizer(&model, &repository));
            if model.tokenizer.as_ref() == Some(&claim.template) && repository.join("tokenizer.json").is_file() {
                check_ids(&model, &tokenizer);
            }
            let found = found(&model, claim, &repository, &tokenizer);
            compared += 1;
            let which = match claim.system {
                None => "all",
                Some(true) => "with system",
                Some(false) => "without system",
            };
            println!("{} beside {} ({which}): {found:?}", model.name, claim.template);
            let holds = |claimed: &[String], found: &[String]| claimed.iter().all(|content| found.contains(content));
            if !holds(&claim.generate, &found[0]) || !holds(&claim.score, &found[1]) {
                wrong.push(format!("{} beside {}: only {found:?}", model.name, claim.template));
            }
        }
    }
    println!("{compared} comparisons");
    assert!(wrong.is_empty(), "claimed too much:\n{}", wrong.join("\n"));
}

/// The contents for which all prompts to continue, and all texts to score, are the same.
fn found(model: &Model, claim: &Verification, repository: &Path, tokenizer: &Arc<Tokenizer>) -> [Vec<String>; 2] {
    let name = repository.to_str().expect("it is UTF-8");
    let template = ChatTemplate::of_tokenizer(name);
    let mut template = template.unwrap_or_else(|error| panic!("{error}")).expect("it has a chat template");
    template.kwargs.clone_from(&claim.kwargs);
    let literals = template.literals();
    let theirs = Model::from(template);
    [Mode::Generate, Mode::Score].map(|mode| {
        // `apply_chat_template` trusts content.
        let options = BuilderOptions { mode, content: ContentTrust::Trusted, ..BuilderOptions::default() };
        let builder = |model: &Model| {
            PromptBuilder::new(model, Arc::clone(tokenizer), &options).unwrap_or_else(|error| panic!("{error}"))
        };
        let mut diff = Diff::new(builder(model), builder(&theirs));
        let kinds = ContentKind::ALL.into_iter().filter(|kind| {
            let conversations = generated(*kind, &literals);
            let mut conversations = conversations.iter().filter(|conversation| is_compared(conversation, claim, mode));
            conversations.all(|conversation| diff.see(conversation, kind.name()))
        });
        kinds.map(|kind| kind.code().to_owned()).collect()
    })
}

fn is_compared(conversation: &Conversation, claim: &Verification, mode: Mode) -> bool {
    let messages = conversation.messages().expect("it has messages");
    let role = |message: Option<&metatok::ChatMessage>| message.map(|message| message.role.clone());
    let has_system = role(messages.first()).as_deref() == Some("system");
    let is_answered = role(messages.last()).as_deref() == Some("assistant");
    claim.system.is_none_or(|system| system == has_system) && is_answered == (mode == Mode::Score)
}

/// The repository's own, or one of bytes with the model's control tokens.
fn tokenizer(model: &Model, repository: &Path) -> Tokenizer {
    let files = match repository.join("tokenizer.json").is_file() {
        true => Tokenizer::files(repository.to_str().expect("it is UTF-8")).unwrap_or_else(|error| panic!("{error}")),
        false => {
            let config = std::fs::read(repository.join("tokenizer_config.json")).expect("it has a configuration");
            TokenizerFiles { tokenizer_config: Some(config), ..stand_in(model) }
        }
    };
    Tokenizer::new(&files).unwrap_or_else(|error| panic!("{error}"))
}
