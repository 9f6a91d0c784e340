//! Conversation templates as data: the fields of FastChat's and UltraFeedback's `Conversation`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::dialect::fastchat::style::SeparatorStyle;
use crate::error::{Error, ErrorKind, Result};
use crate::template::TokenIds;

/// A conversation template: an immutable value that is independent of any conversation.
///
/// ```
/// use metatok::dialect::ConversationTemplate;
/// use metatok::ChatMessage;
///
/// let vicuna = ConversationTemplate::load("vicuna")?;
/// let prompt = vicuna.get_prompt(&[ChatMessage::new("user", "Hi!"), ChatMessage::new("assistant", "")])?;
/// assert!(prompt.ends_with("answers to the user's questions. USER: Hi! ASSISTANT:"));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConversationTemplate {
    /// The template's name. The style `CHATGLM` numbers rounds from 1 if it is `chatglm2`.
    pub name: String,
    /// A description, for readers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The system text.
    #[serde(flatten)]
    pub system: SystemPrompt,
    /// The labels of the user and the model; further labels are ignored.
    pub roles: Vec<String>,
    /// Messages that every conversation begins with, by their labels; null is an open turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<(String, Option<String>)>,
    /// How many of `messages` are examples. It does not affect prompts.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: usize,
    /// How it is laid out.
    pub sep_style: SeparatorStyle,
    /// The separator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sep: Option<String>,
    /// The second separator, of styles with two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sep2: Option<String>,
    /// Where output ends, as text.
    #[serde(skip_serializing_if = "StopStrings::is_none")]
    pub stop_str: StopStrings,
    /// Where output ends, as token ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_token_ids: Option<TokenIds>,
    /// Whether an empty message is an open turn, as in the references, and not an empty turn.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub empty_is_open: bool,
}

/// The system text of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SystemPrompt {
    /// UltraFeedback's: one text, which a system message replaces entirely.
    Whole {
        /// The text.
        system: String,
    },
    /// FastChat's: a text with a place for the system message.
    Template {
        /// The text, with `{system_message}` in it; `{{` is a brace.
        system_template: String,
        /// The message, if a conversation has none of its own.
        system_message: String,
    },
}

impl SystemPrompt {
    /// The parts around and in place of the system message, and the message itself.
    pub(super) fn parts(&self) -> Result<(Vec<SystemPiece<String>>, &str)> {
        match self {
            Self::Whole { system } => Ok((vec![SystemPiece::Message], system)),
            Self::Template { system_template, system_message } => Ok((pieces(system_template)?, system_message)),
        }
    }

    fn message_mut(&mut self) -> &mut String {
        match self {
            Self::Whole { system: message } | Self::Template { system_message: message, .. } => message,
        }
    }
}

/// One string, several, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a string, or a list of strings")]
pub enum StopStrings {
    /// None.
    #[default]
    None,
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl StopStrings {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let strings: &[String] = match self {
            Self::None => &[],
            Self::One(string) => std::slice::from_ref(string),
            Self::Many(strings) => strings,
        };
        strings.iter().map(String::as_str)
    }

    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The keys as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    about: Option<String>,
    system: Option<String>,
    system_template: Option<String>,
    system_message: Option<String>,
    /// FastChat's, in place of the system message beside images.
    system_message_vision: Option<String>,
    /// FastChat's, for what reads the images.
    #[serde(rename = "max_image_size_mb")]
    _max_image_size_mb: Option<f64>,
    roles: Vec<String>,
    #[serde(default)]
    messages: Vec<(String, Option<String>)>,
    #[serde(default)]
    offset: usize,
    sep_style: Option<SeparatorStyle>,
    sep: Option<String>,
    sep2: Option<String>,
    #[serde(default)]
    stop_str: StopStrings,
    stop_token_ids: Option<TokenIds>,
    #[serde(default = "yes")]
    empty_is_open: bool,
}

fn yes() -> bool {
    true
}

impl TryFrom<File> for ConversationTemplate {
    type Error = Error;

    fn try_from(file: File) -> Result<Self> {
        let error = |what: &str| Error::from(ErrorKind::Template(what.to_owned()));
        let system = match (file.system, file.system_template, file.system_message) {
            (Some(system), None, None) => SystemPrompt::Whole { system },
            (None, template, message) => SystemPrompt::Template {
                system_template: template.unwrap_or_else(|| "{system_message}".to_owned()),
                system_message: message.unwrap_or_default(),
            },
            (Some(_), ..) => {
                return Err(error("set either \"system\", or \"system_template\" and \"system_message\""));
            }
        };
        if let SystemPrompt::Template { system_template, .. } = &system {
            pieces(system_template)?;
        }
        if file.system_message_vision.is_some_and(|message| !message.is_empty()) {
            return Err(error(
                "system_message_vision is not supported; leave it out, and give conversations with images a system message",
            ));
        }
        if file.roles.len() < 2 {
            return Err(error("roles: a template needs two, the user's label and the model's"));
        }
        let sep_style = file.sep_style.ok_or_else(|| {
            error("sep_style is missing, but it decides how a conversation is laid out; set it, for example to \"ADD_COLON_SINGLE\"")
        })?;
        Ok(Self {
            name: file.name,
            about: file.about,
            system,
            roles: file.roles,
            messages: file.messages,
            offset: file.offset,
            sep_style,
            sep: file.sep,
            sep2: file.sep2,
            stop_str: file.stop_str,
            stop_token_ids: file.stop_token_ids,
            empty_is_open: file.empty_is_open,
        })
    }
}

impl<'de> Deserialize<'de> for ConversationTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::try_from(File::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A part of a system template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SystemPiece<P> {
    Text(P),
    Message,
}

/// The parts of a system template, which is a Python format string.
fn pieces(template: &str) -> Result<Vec<SystemPiece<String>>> {
    let wrong = |what: &str| -> Error {
        ErrorKind::Template(format!(
            "system_template: {what}; use {{system_message}} for the message, and {{{{ for a brace"
        ))
        .into()
    };
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        let behind = &rest[at + 1..];
        if let Some(more) = behind.strip_prefix(brace) {
            text.push_str(brace);
            rest = more;
        } else if let Some(more) = behind.strip_prefix("system_message}").filter(|_| brace == "{") {
            if !text.is_empty() {
                pieces.push(SystemPiece::Text(std::mem::take(&mut text)));
            }
            pieces.push(SystemPiece::Message);
            rest = more;
        } else {
            return Err(wrong(&format!("{:?} is not a field", &rest[at..])));
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(SystemPiece::Text(text));
    }
    Ok(pieces)
}

impl ConversationTemplate {
    /// With more text after the system text: UltraFeedback's callers add a space and the principle to it.
    #[must_use]
    pub fn with_system_appended(mut self, more: &str) -> Self {
        self.system.message_mut().push_str(more);
        self
    }

    /// With the principle that UltraFeedback's callers give to a model: a space and the principle, after a system text
    /// that is a single text, or after the system message of a template.
    #[must_use]
    pub fn with_principle(self, principle: &str) -> Self {
        match &self.system {
            SystemPrompt::Whole { .. } => self.with_system_appended(&format!(" {principle}")),
            SystemPrompt::Template { .. } => self.with_system(principle),
        }
    }

    /// With another system message; if the system text is a single text, with another text.
    #[must_use]
    pub fn with_system(mut self, message: &str) -> Self {
        message.clone_into(self.system.message_mut());
        self
    }
}
