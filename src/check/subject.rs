//! What lints look at: the model, its tokenizer, prompts made of them, and the conversations given.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::builder::{BuilderOptions, PromptBuilder};
use crate::compile::CompiledTemplate;
use crate::conversation::{Conversation, Item, Marker, MediaKind, Message, Mode, Prompt, Section};
use crate::dialect::Model;
use crate::error::{Error, ErrorKind, Result};
use crate::render::{Element, Part};
use crate::template::{Affix, MetaTemplate, Placeholder, RoundItem};
use crate::tokenizer::{TokenId, Tokenizer};

pub(crate) struct Subject<'a> {
    pub(crate) model: &'a Model,
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) options: &'a BuilderOptions,
    /// The template; an empty one where the model has none.
    pub(crate) template: MetaTemplate,
    /// The template's roles with their key paths, those of the round first.
    pub(crate) roles: Vec<String>,
    /// None where the template does not fit the tokenizer.
    pub(crate) compiled: Option<CompiledTemplate>,
    /// Prompts to continue, and texts to score; or why there are none.
    pub(crate) builders: std::result::Result<[PromptBuilder; 2], Error>,
    pub(crate) seen: Seen,
}

/// What the conversations showed.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) conversations: usize,
    /// The roles that any of them rendered.
    pub(crate) roles: BTreeSet<u32>,
    /// The conversations that could not be built.
    pub(crate) refused: Places<Error>,
    /// The rows whose prompts depend on how fields are filled.
    pub(crate) filled_twice: Places<()>,
}

/// The first of many places, what is there, and how many there are.
pub(crate) struct Places<T> {
    pub(crate) named: Vec<(String, T)>,
    pub(crate) in_all: usize,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { named: Vec::new(), in_all: 0 }
    }
}

impl<T> Places<T> {
    pub(crate) fn add(&mut self, place: &str, found: T) {
        self.in_all += 1;
        if self.named.len() < NAMED {
            self.named.push((place.to_owned(), found));
        }
    }

    /// How many are not named.
    pub(crate) fn rest(&self) -> usize {
        self.in_all - self.named.len()
    }
}

/// How many places of a file are named.
const NAMED: usize = 10;

impl<'a> Subject<'a> {
    pub(crate) fn new(model: &'a Model, tokenizer: Arc<Tokenizer>, options: &'a BuilderOptions) -> Self {
        let template = model.meta_template.clone().unwrap_or_default();
        let roles = template.roles().map(|(place, _)| format!("meta_template.{place}")).collect();
        let compiled = CompiledTemplate::new(&template, &tokenizer).ok();
        let builder =
            |mode| PromptBuilder::new(model, Arc::clone(&tokenizer), &BuilderOptions { mode, ..options.clone() });
        let builders = builder(Mode::Generate).and_then(|generate| Ok([generate, builder(Mode::Score)?]));
        Self { model, tokenizer, options, template, roles, compiled, builders, seen: Seen::default() }
    }

    pub(crate) fn see(&mut self, conversation: &Conversation, place: &str) {
        let Ok([generate, score]) = &self.builders else { return };
        let builder = if self.options.mode == Mode::Score { score } else { generate };
        self.seen.conversations += 1;
        let rendered = builder.segments(conversation).map(|segments| {
            self.seen.roles.extend(segments.iter().filter_map(|segment| segment.part.role));
        });
        if let Err(error) = rendered.and_then(|()| builder.build(conversation).map(drop)) {
            self.seen.refused.add(place, error);
        }
    }

    /// The builder of prompts to continue.
    pub(crate) fn generating(&self) -> Option<&PromptBuilder> {
        self.builders.as_ref().ok().map(|[generate, _]| generate)
    }

    /// Both builders, if the model can be built with.
    pub(crate) fn both(&self) -> impl Iterator<Item = &PromptBuilder> {
        self.builders.iter().flatten()
    }

    /// Every begin, end and text of the template with its key path.
    pub(crate) fn affixes(&self) -> Vec<(String, Affix)> {
        let template = &self.template;
        let mut all = vec![("meta_template.begin".to_owned(), template.begin.clone())];
        for (i, item) in template.round.iter().enumerate() {
            if let RoundItem::Text(text) = item {
                all.push((format!("meta_template.round[{i}]"), text.as_str().into()));
            }
        }
        for (place, (_, role)) in self.roles.iter().zip(template.roles()) {
            all.push((format!("{place}.begin"), role.begin.clone()));
            all.push((format!("{place}.prompt"), role.prompt.as_str().into()));
            all.push((format!("{place}.end"), role.end.clone()));
            let generation_prompt = role.generation_prompt.clone().unwrap_or_default();
            all.push((format!("{place}.generation_prompt"), generation_prompt));
        }
        all.push(("meta_template.end".to_owned(), template.end.clone()));
        for kind in MediaKind::ALL {
            if let Some(Placeholder { begin, placeholder, end, .. }) = self.model.multimodal.of(kind) {
                let place = format!("multimodal.{}", kind.name());
                all.push((format!("{place}.begin"), begin.clone()));
                all.push((place.clone(), placeholder.clone()));
                all.push((format!("{place}.end"), end.clone()));
            }
        }
        all.retain(|(_, affix)| !affix.is_empty());
        all
    }

    /// The key path of what a part of a prompt comes from; of content, the role that says it.
    pub(crate) fn place(&self, part: &Part) -> String {
        let role = part.role.and_then(|role| self.roles.get(role as usize));
        let role = role.map_or("meta_template", String::as_str);
        match part.element {
            Element::Begin => "meta_template.begin".into(),
            Element::End => "meta_template.end".into(),
            Element::RoleBegin => format!("{role}.begin"),
            Element::RoleEnd => format!("{role}.end"),
            Element::DefaultPrompt => format!("{role}.prompt"),
            Element::GenerationPrompt => {
                let of = |index: u32| self.template.roles().nth(index as usize);
                let has_own = part.role.and_then(of).is_some_and(|(_, role)| role.generation_prompt.is_some());
                format!("{role}.{}", if has_own { "generation_prompt" } else { "begin" })
            }
            Element::RoundText => "meta_template.round".into(),
            Element::Media => "multimodal".into(),
            Element::SpecialToken => "special_tokens".into(),
            Element::Content | Element::Separator => role.into(),
        }
    }

    /// A dialogue of two rounds in which every role of the round says `content`.
    pub(crate) fn dialogue(&self, content: &str) -> Conversation {
        let mut items = vec![Item::Marker(Marker { section: Section::Round, opens: true, has_extra_keys: false })];
        for _ in 0..2 {
            for role in self.template.round.iter().filter_map(RoundItem::role) {
                items.push(Item::Message(Message {
                    role: role.role.as_str().into(),
                    prompt: Prompt::Text(content.into()),
                    ..Message::default()
                }));
            }
        }
        items.push(Item::Marker(Marker { section: Section::Round, opens: false, has_extra_keys: false }));
        Conversation::List(items)
    }

    /// How a message names a token: its string, and its id.
    pub(crate) fn name(&self, id: TokenId) -> String {
        format!("{} (id {id})", self.tokenizer.quoted_token(id))
    }

    /// The tokens into which a text falls, quoted.
    pub(crate) fn pieces(&self, text: &str) -> Result<String> {
        let ids = self.tokenizer.encode(text)?;
        Ok(ids.into_iter().map(|id| self.tokenizer.quoted_token(id)).collect::<Vec<_>>().join(" "))
    }
}

/// Whether this error is about a role that the template does not have.
pub(crate) fn is_missing_role(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UnknownRole { .. })
}
