//! A template of any kind, and what is asked of all kinds alike.

use crate::dataset::rows::Value;
use crate::dataset::template::{
    Layout, MessageTemplate, MultimodalTemplate, PromptTemplate, QaTemplate, TemplateField, TemplateText, TurnTemplate,
};

/// A template of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyTemplate {
    /// Strings and dialogues.
    Prompt(PromptTemplate),
    /// OpenAI-style messages.
    Messages(MessageTemplate),
    /// Dialogues of several turns.
    Turns(TurnTemplate),
    /// Dialogues with images, audio and video.
    Multimodal(MultimodalTemplate),
    /// Questions and answers, as lm-evaluation-harness lays them out.
    Qa(QaTemplate),
}

impl AnyTemplate {
    pub(crate) fn ice_token(&self) -> Option<&str> {
        match self {
            Self::Prompt(template) => template.ice_token.as_deref(),
            Self::Messages(template) => Some(&template.ice_token),
            // Examples have no place in it, and are left out, or it puts them there itself.
            Self::Turns(_) | Self::Multimodal(_) | Self::Qa(_) => Some(""),
        }
    }

    /// Whether its prompts are strings.
    pub(crate) fn is_string(&self) -> bool {
        match self {
            Self::Prompt(template) => template.is_string(),
            Self::Qa(template) => template.layout == Layout::Text,
            Self::Messages(_) | Self::Turns(_) | Self::Multimodal(_) => false,
        }
    }

    pub(crate) fn labels(&self) -> Option<Vec<Value>> {
        match self {
            Self::Prompt(template) => template.labels().map(|labels| labels.cloned().collect()),
            Self::Messages(_) | Self::Turns(_) | Self::Multimodal(_) | Self::Qa(_) => None,
        }
    }

    /// The fields that it names.
    pub fn fields(&self) -> Vec<TemplateField> {
        match self {
            Self::Prompt(template) => template.fields(),
            Self::Messages(template) => template.fields(),
            // Its two are its own.
            Self::Turns(_) => Vec::new(),
            Self::Multimodal(template) => template.fields(),
            Self::Qa(template) => template.fields(),
        }
    }

    /// The texts that it is made of.
    pub(crate) fn texts(&self) -> Vec<TemplateText> {
        match self {
            Self::Prompt(template) => template.texts(),
            Self::Messages(template) => template.texts(),
            Self::Turns(template) => template.texts(),
            Self::Multimodal(template) => template.texts(),
            Self::Qa(template) => template.texts().into(),
        }
    }

    /// The fields that stay as they are whatever the row has, because this kind of template does not fill them.
    pub fn unfilled(&self) -> Vec<TemplateField> {
        match self {
            Self::Prompt(_) | Self::Messages(_) | Self::Qa(_) => Vec::new(),
            Self::Turns(template) => template.unfilled(),
            Self::Multimodal(template) => template.unfilled(),
        }
    }

    /// What it is, for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Prompt(_) => "a template",
            Self::Messages(_) => "a template of messages",
            Self::Turns(_) => "a template of several turns",
            Self::Multimodal(_) => "a multimodal template",
            Self::Qa(_) => "a template of questions and answers",
        }
    }

    pub(crate) fn is_dialogue(&self) -> bool {
        matches!(self, Self::Prompt(template) if template.is_dialogue())
    }
}
