//! What lints look at: the model, its tokenizer, prompts made with them, and the given conversations.

use std::sync::Arc;

use crate::builder::{BuilderOptions, PromptBuilder};
use crate::check::Level;
use crate::check::seen::Seen;
use crate::compile::CompiledTemplate;
use crate::conversation::{Conversation, Item, Marker, MediaKind, Message, Mode, Prompt, Section};
use crate::dialect::{ChatTemplate, Model};
use crate::error::{Error, ErrorKind, Result};
use crate::render::{Element, Part, Segment, TextArena};
use crate::template::{Affix, MetaTemplate, Placeholder, RoleTemplate, RoundItem};
use crate::tokenizer::{TokenId, Tokenizer};

#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) model: Model,
    pub(crate) tokenizer: Arc<Tokenizer>,
    pub(crate) options: BuilderOptions,
    /// The template; an empty one if the model has none.
    pub(crate) template: MetaTemplate,
    /// The template's roles with their key paths, those of the round first.
    pub(crate) roles: Vec<String>,
    /// None if the template does not fit the tokenizer.
    pub(crate) compiled: Option<CompiledTemplate>,
    /// Prompts to continue, and texts to score, or why there are none. In rounds, as the template defines them.
    pub(crate) builders: std::result::Result<[PromptBuilder; 2], Error>,
    /// What builds the given conversations, if it is a different builder: messages one by one.
    each_message: Option<std::result::Result<PromptBuilder, Error>>,
    pub(crate) seen: Seen,
    /// What the tokenizer brings.
    pub(crate) chat_template: Option<ChatTemplate>,
}

impl Subject {
    pub(crate) fn new(model: &Model, tokenizer: Arc<Tokenizer>, options: &BuilderOptions) -> Self {
        let template = model.meta_template.clone().unwrap_or_default();
        let roles = template.roles().map(|(place, _)| format!("meta_template.{place}")).collect();
        let compiled = CompiledTemplate::new(&template, &tokenizer).ok();
        let builder = |mode, each_message| {
            let options = BuilderOptions { mode, each_message, ..options.clone() };
            PromptBuilder::new(model, Arc::clone(&tokenizer), &options)
        };
        let builders = builder(Mode::Generate, false).and_then(|generate| Ok([generate, builder(Mode::Score, false)?]));
        let each_message = options.each_message.then(|| builder(options.mode, true));
        let (model, options) = (model.clone(), options.clone());
        let (seen, chat_template) = (Seen::default(), None);
        Self { model, tokenizer, options, template, roles, compiled, builders, each_message, seen, chat_template }
    }

    /// Why nothing can be built.
    pub(crate) fn error(&self) -> Option<&Error> {
        self.builders.as_ref().err().or(self.each_message.as_ref().and_then(|builder| builder.as_ref().err()))
    }

    /// How severe it is that something cannot be built. If the rest can be built, it is only left out.
    pub(crate) fn level_of_refusal(&self) -> Level {
        if self.error().is_some() { Level::Error } else { Level::Warning }
    }

    /// What builds the given conversations.
    pub(crate) fn builder(&self) -> Option<&PromptBuilder> {
        let [generate, score] = self.builders.as_ref().ok()?;
        match &self.each_message {
            Some(builder) => builder.as_ref().ok(),
            None => Some(if self.options.mode == Mode::Score { score } else { generate }),
        }
    }

    pub(crate) fn see(&mut self, conversation: &Conversation, place: &str) {
        self.seen.conversations += 1;
        self.seen.strings += usize::from(matches!(conversation, Conversation::Text(_)));
        let Some(builder) = self.builder() else { return };
        let conversation = match builder.prepared(conversation) {
            Ok(conversation) => conversation.into_owned(),
            Err(error) => return self.seen.refused.add(place, error),
        };
        let arena = TextArena::default();
        let role_of = |segment: &Segment<'_>| segment.part.role;
        let roles =
            builder.segments(&conversation, &arena).map(|all| all.iter().filter_map(role_of).collect::<Vec<_>>());
        let built = roles.and_then(|roles| builder.of_prepared().build(&conversation).map(|_| roles));
        let built = built.and_then(|roles| conversation.check_media(false).map(|()| roles));
        match built {
            Ok(roles) => self.seen.roles.extend(roles),
            Err(error) => self.seen.refused.add(place, error),
        }
    }

    /// The builder of prompts to continue.
    pub(crate) fn generating(&self) -> Option<&PromptBuilder> {
        self.builders.as_ref().ok().map(|[generate, _]| generate)
    }

    /// Both builders, if prompts can be built with the model.
    pub(crate) fn both(&self) -> impl Iterator<Item = &PromptBuilder> {
        self.builders.iter().flatten()
    }

    /// Every begin, end and text of the template, with its key path.
    pub(crate) fn affixes(&self) -> Vec<(String, Affix)> {
        let template = &self.template;
        let mut all = vec![("meta_template.begin".to_owned(), template.begin.clone())];
        for (i, item) in template.round.iter().enumerate() {
            if let RoundItem::Text(text) = item {
                all.push((format!("meta_template.round[{i}]"), text.as_str().into()));
            }
        }
        for (index, (place, (_, role))) in self.roles.iter().zip(template.roles()).enumerate() {
            if self.is_unusable(index) {
                continue;
            }
            all.push((format!("{place}.begin"), role.begin.clone()));
            all.push((format!("{place}.prompt"), role.prompt_text().into()));
            all.push((format!("{place}.end"), role.end.clone()));
            let generation_prompt = role.generation_prompt.clone().unwrap_or_default();
            all.push((format!("{place}.generation_prompt"), generation_prompt));
            all.push((format!("{place}.last_begin"), role.last_begin.clone().unwrap_or_default()));
        }
        all.push(("meta_template.between".to_owned(), template.between.clone()));
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

    /// Whether a reserved role cannot speak with this tokenizer. The builder warns about it.
    pub(crate) fn is_unusable(&self, role: usize) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.roles[role].check_usable().is_err())
    }

    /// The key path of the source of a part of a prompt; for content, its role.
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
            Element::Between => "meta_template.between".into(),
            Element::Media => "multimodal".into(),
            Element::SpecialToken => "special_tokens".into(),
            Element::Content | Element::Separator => role.into(),
        }
    }

    /// The roles with their key paths.
    pub(crate) fn role_templates(&self) -> impl Iterator<Item = (&str, &RoleTemplate)> {
        self.roles.iter().map(String::as_str).zip(self.template.roles().map(|(_, role)| role))
    }

    /// How many roles have a turn in each round; they are the first.
    pub(crate) fn roles_in_round(&self) -> usize {
        self.template.round.iter().filter_map(RoundItem::role).count()
    }

    /// The role that speaks an OpenAI-style message, found by its name or its api_role.
    pub(crate) fn speaker(&self, name: &str, api_role: &str) -> Option<usize> {
        let find = |is: &dyn Fn(&RoleTemplate) -> bool| self.role_templates().position(|(_, role)| is(role));
        find(&|role| role.role == name)
            .or_else(|| find(&|role| role.api_role.as_deref() == Some(api_role)))
            .or_else(|| find(&|role| role.role == api_role))
    }

    /// A dialogue of two rounds in which every role of the round has this content.
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

    /// How a message names a token: by its string and its id.
    pub(crate) fn name(&self, id: TokenId) -> String {
        format!("{} (id {id})", self.tokenizer.quoted_token(id))
    }

    /// The tokens that a text is split into, quoted.
    pub(crate) fn pieces(&self, text: &str) -> Result<String> {
        let ids = self.tokenizer.encode(text)?;
        Ok(ids.into_iter().map(|id| self.tokenizer.quoted_token(id)).collect::<Vec<_>>().join(" "))
    }
}

/// Whether this error is about a role that has no turn in rounds.
pub(crate) fn is_outside_round(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::RoleOutsideRound { .. })
}
