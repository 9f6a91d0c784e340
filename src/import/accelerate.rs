//! Building with the meta template of a chat template, where that gives the same ids.

use std::sync::Arc;

use aho_corasick::AhoCorasick;

use crate::builder::{PromptBuilder, is_plain_chat};
use crate::conversation::Conversation;
use crate::dialect::{ChatTemplate, ChatTemplateRenderer, Model};
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
/// It does so only for a template that is known to depend on contents in few ways: on whether they are empty, and on
/// whether they have a text that stands in its code, such as `</think>`. It may also strip their ends.
///
/// The meta template is used for plain chats: perhaps a system message, then questions and answers by turns, of text
/// without anything that the template looks for. One in 256 such prompts is built both ways and
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
    set_shortcut(builder).is_some()
}

fn set_shortcut(builder: &PromptBuilder) -> Option<()> {
    let source = builder.shortcut_source()?;
    let renderer = ChatTemplateRenderer::new(&source.template, builder.tokenizer()).ok()?;
    let sought = AhoCorasick::new(renderer.sought_in_contents()?).ok()?;
    let is_for_shortcut = |conversation: &Conversation| is_plain_chat(conversation, builder.mode(), &sought);
    let theirs = Theirs::new(builder.clone(), source.options.clone());
    let verifier = Verifier::new(&source.template, builder.tokenizer(), vec![theirs], &is_for_shortcut);
    let Imported { model, verified, .. } = import_by(&verifier).ok()?;
    if !verified.is_exact() || verified.tally(ContentKind::Ordinary, builder.mode()).all == 0 {
        return None;
    }
    let Model { special_tokens, meta_template, .. } = model;
    let model = Model { special_tokens, meta_template, ..Model::default() };
    let shortcut = PromptBuilder::new(&model, Arc::clone(builder.tokenizer()), &source.options).ok()?;
    let is_right = is_right_for_unusual(&shortcut, builder, &source.template, is_for_shortcut);
    is_right.then(|| builder.set_shortcut(shortcut, sought))
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
