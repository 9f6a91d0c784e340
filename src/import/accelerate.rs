//! Building with the meta template of a chat template, where that gives the same ids.

use std::sync::Arc;

use aho_corasick::AhoCorasick;

use crate::builder::{PromptBuilder, plain_chat};
use crate::conversation::{Conversation, END_OF_THOUGHTS, is_space};
use crate::dialect::{ChatTemplateRenderer, Day, Model};
use crate::import::imported::import_by;
use crate::import::verify::{Theirs, Verifier};
use crate::import::{ContentKind, Imported};

/// After this many prompts, a chat template has taken as long as making a meta template of it takes.
pub const WORTH_ACCELERATING: usize = 1000;

/// Makes a meta template of the chat template of a builder, and lets the builder and all its clones use that from now
/// on, if it gave the same ids for all generated conversations that it would be used for. Returns whether it does. Later,
/// chats of each length are generated and compared before the first chat of this length is built with it.
///
/// It does so only for a template that is known to depend on contents in few ways: on whether they are blank, and on
/// whether they have a text that stands in its code, such as `</think>`. It may also strip their ends.
///
/// The meta template is used for plain chats: perhaps a system message, then alternating questions and answers, at most 64
/// messages, of text that is not blank, without anything that the template looks for. One in 256 such prompts is built
/// both ways and compared; a difference is an error, after which the chat template renders all prompts. All others are
/// rendered by the chat template, as are those whose spans are recorded.
/// [`BuilderOptions::always_render`](crate::BuilderOptions::always_render) prevents it. That of a template that writes the
/// day is used until this day ends.
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
    set_shortcut(builder) == Some(true)
}

fn set_shortcut(builder: &PromptBuilder) -> Option<bool> {
    let source = builder.shortcut_source()?;
    let day = if source.template.tells_time() { Some(Day::today()?) } else { None };
    let renderer = ChatTemplateRenderer::new(&source.template, builder.tokenizer()).ok()?;
    // A meta template may look for the end of thoughts, too.
    let sought = renderer.sought_in_contents()?.into_iter().chain([END_OF_THOUGHTS.to_owned()]);
    let sought = AhoCorasick::new(sought).ok()?;
    let is_plain = |text: &str| !text.trim_matches(is_space).is_empty() && !sought.is_match(text);
    let is_compared = |conversation: &Conversation| plain_chat(conversation, builder.mode(), is_plain).is_some();
    let theirs = Theirs::new(builder.clone(), source.options.clone());
    let verifier = Verifier::new(&source.template, builder.tokenizer(), renderer, vec![theirs], &is_compared);
    let Imported { model, verified, .. } = import_by(&verifier).ok()?;
    if !verified.is_exact() || verified.tally(ContentKind::Ordinary, builder.mode()).all == 0 {
        return None;
    }
    let Model { special_tokens, meta_template, .. } = model;
    let model = Model { special_tokens, meta_template, ..Model::default() };
    let shortcut = PromptBuilder::new(&model, Arc::clone(builder.tokenizer()), &source.options).ok()?;
    Some(builder.set_shortcut(shortcut, sought, day))
}
