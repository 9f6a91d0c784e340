//! Building with the meta template of a chat template, where that gives the same ids.

use std::sync::Arc;

use crate::builder::{ContentTrust, PromptBuilder};
use crate::dialect::Model;
use crate::import::imported::import_for;
use crate::import::{ContentKind, generated};

/// After so many prompts, a chat template has taken as long as making a meta template of it takes.
pub const WORTH_ACCELERATING: usize = 1000;

/// Makes a meta template of the chat template of a builder, and lets the builder and all its clones use that from now
/// on, if it gave the same ids for all generated conversations, or for all of them that it would be used for. Returns
/// whether it does.
///
/// The meta template is used for plain chats: perhaps a system message, then questions and answers by turns, of text
/// in which the template looks for nothing, such as `</think>`. One in 256 such prompts is built both ways and
/// compared; a difference is an error. All others are rendered by the chat template, as are those whose spans are
/// recorded.
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
    let Some(source) = builder.shortcut_source() else { return false };
    let Ok(imported) = import_for(&[builder.mode()], &source.template, builder.tokenizer()) else { return false };
    let kinds = match imported.verified.is_exact_in(builder.mode()) {
        false => &ContentKind::ALL[..],
        true if source.options.content == ContentTrust::Data => &[],
        // Here the library looks for the template's tokens. It finds them in no conversation, or in all of them.
        true => &[ContentKind::Ordinary],
    };
    let Model { special_tokens, meta_template, .. } = imported.model;
    let model = Model { special_tokens, meta_template, ..Model::default() };
    match PromptBuilder::new(&model, Arc::clone(builder.tokenizer()), &source.options) {
        Ok(shortcut) => (kinds.is_empty() || agree(builder, &shortcut, kinds)) && builder.set_shortcut(shortcut),
        Err(_) => false,
    }
}

/// Whether both give the same ids for the generated conversations of these kinds that a shortcut is used for, of which
/// some must be ordinary. What the shortcut refuses, the chat template builds.
fn agree(builder: &PromptBuilder, shortcut: &PromptBuilder, kinds: &[ContentKind]) -> bool {
    let (Some(source), Some(is_for_shortcut)) = (builder.shortcut_source(), builder.is_for_shortcut()) else {
        return false;
    };
    let literals = source.template.literals();
    let (mut rendered, mut fast) = (builder.session(), shortcut.session());
    let mut ordinary = 0_usize;
    for &kind in kinds {
        for conversation in generated(kind, &literals).iter().filter(|said| is_for_shortcut(said)) {
            let same = match (fast.build(conversation), rendered.build(conversation)) {
                (Ok(fast), Ok(rendered)) => fast.input_ids == rendered.input_ids,
                (fast, _) => fast.is_err(),
            };
            if !same {
                return false;
            }
            ordinary += usize::from(kind == ContentKind::Ordinary);
        }
    }
    ordinary > 0
}
