//! Building with the meta template of a chat template, where that gives the same ids.

use std::sync::Arc;

use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::dialect::{ChatTemplate, Model};
use crate::import::imported::import_by;
use crate::import::unusual::unusual;
use crate::import::verify::{Theirs, Verifier};
use crate::import::{ContentKind, Imported};

/// After this many prompts, a chat template has taken as long as making a meta template of it takes.
pub const WORTH_ACCELERATING: usize = 1000;

/// Makes a meta template of the chat template of a builder, and lets the builder and all its clones use that from now
/// on, if it gave the same ids for all generated conversations that it would be used for. Returns whether it does. Among
/// these are chats and contents around each number in the template's code, such as that of `messages[-20:]`.
///
/// The meta template is used for plain chats: perhaps a system message, then questions and answers by turns, of text
/// in which the template looks for nothing, such as `</think>`. One in 256 such prompts is built both ways and
/// compared; a difference is an error, after which the chat template renders all prompts. All others are rendered by
/// the chat template, as are those whose spans are recorded.
/// [`BuilderOptions::always_render`](crate::BuilderOptions::always_render) prevents it.
///
/// ```
/// use metatok::dialect::ChatTemplate;
/// use metatok::import::accelerate;
/// use metatok::{Model, PromptBuilder, Tokenizer};
///
/// let template = ChatTemplate::of_tokenizer("demo")?.expect("the demo has one");
/// let builder = PromptBuilder::new(&Model::from(template), Tokenizer::demo()?.into(), &Default::default())?;
/// let before = builder.build_messages(&[("user", "Hi!")])?;
/// assert!(accelerate(&builder));
/// assert_eq!(builder.build_messages(&[("user", "Hi!")])?, before);
/// # Ok::<(), metatok::Error>(())
/// ```
pub fn accelerate(builder: &PromptBuilder) -> bool {
    let (Some(source), Some(is_for_shortcut)) = (builder.shortcut_source(), builder.is_for_shortcut()) else {
        return false;
    };
    let theirs = Theirs::new(builder.clone(), source.options.clone());
    let verifier = Verifier::new(&source.template, builder.tokenizer(), vec![theirs], &is_for_shortcut);
    let Ok(Imported { model, verified, .. }) = import_by(&verifier) else { return false };
    if !verified.is_exact() || verified.tally(ContentKind::Ordinary, builder.mode()).all == 0 {
        return false;
    }
    let Model { special_tokens, meta_template, .. } = model;
    let model = Model { special_tokens, meta_template, ..Model::default() };
    match PromptBuilder::new(&model, Arc::clone(builder.tokenizer()), &source.options) {
        Ok(shortcut) if is_right_for_unusual(&shortcut, builder, &source.template, &is_for_shortcut) => {
            builder.set_shortcut(shortcut)
        }
        _ => false,
    }
}

/// Whether a shortcut also gives the same ids for what a template may count and test.
fn is_right_for_unusual(
    shortcut: &PromptBuilder,
    builder: &PromptBuilder,
    template: &ChatTemplate,
    is_for_shortcut: impl Fn(&Conversation) -> bool,
) -> bool {
    let Some(conversations) = unusual(template) else { return false };
    let [mut ours, mut theirs] = [shortcut, builder].map(PromptBuilder::session);
    conversations.iter().filter(|conversation| is_for_shortcut(conversation)).all(|conversation| {
        match (ours.build(conversation), theirs.build(conversation)) {
            (Ok(ours), Ok(theirs)) => ours.input_ids == theirs.input_ids,
            // What the shortcut refuses, the template is asked for.
            (Err(_), _) => true,
            (Ok(_), Err(_)) => false,
        }
    })
}
