//! The form in which a chat template takes contents: as one text, as a list of parts, or both.
//!
//! Templates of text models print a list as Python does, and some of vision models write nothing of a text. So each form is
//! tried once for each role, and a content in another form is given in one that the template takes, as in vLLM and
//! llama.cpp.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::{Mutex, OnceLock};

use foldhash::HashMap;
use serde_json::{Value, json};

use crate::conversation::{ChatMessage, Content, ContentPart, Media, MediaKind};
use crate::dialect::chat_template::beside::Beside;
use crate::error::{At, Error, ErrorKind, Place, Result, Setting, way_out};

/// Between texts that become one, as in vLLM and llama.cpp.
const BETWEEN_TEXTS: &str = "\n";

/// What a template takes, found out when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Forms {
    contents: [OnceLock<Option<ContentForm>>; RoleKind::COUNT],
    media: [[OnceLock<Option<MediaForm>>; MediaKind::ALL.len()]; RoleKind::COUNT],
    /// Whether the template writes nothing of what a role says, for roles with other names than those of the kinds.
    silent: Mutex<HashMap<String, bool>>,
    encodes_arguments: OnceLock<bool>,
}

/// Renders messages with this beside them; none if the template refuses them.
pub(super) type Render<'r> = &'r dyn Fn(&[ChatMessage], Beside) -> Option<String>;

/// What one conversation shows where the template refuses the examples: not for others.
#[derive(Default)]
pub(super) struct OfOne {
    contents: [OnceCell<Option<ContentForm>>; RoleKind::COUNT],
    media: [[OnceCell<Option<MediaForm>>; MediaKind::ALL.len()]; RoleKind::COUNT],
}

/// How contents are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentForm {
    Text,
    Parts,
    /// As they are.
    Either,
    /// The template writes nothing of them.
    Nothing,
}

/// How an image, audio or video is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediaForm {
    /// `{"type": "image"}`, as transformers' processors and vLLM do.
    Bare,
    /// `{"type": "image_url"}`, as in OpenAI's requests.
    Url,
}

/// A kind of roles that templates tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoleKind {
    User,
    Assistant,
    System,
    Tool,
}

impl RoleKind {
    const COUNT: usize = 4;

    fn of(role: &str) -> Self {
        match role {
            "assistant" | "model" | "gpt" | "bot" => Self::Assistant,
            "system" | "developer" => Self::System,
            "tool" | "function" | "ipython" | "observation" | "tool_response" => Self::Tool,
            _ => Self::User,
        }
    }

    /// The role that has this name.
    fn role(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }

    /// Conversations in which only this content of a role is not known: templates refuse some of them.
    fn saying(self, role: &str, content: &Content) -> [Vec<ChatMessage>; 3] {
        let said = self.said(ChatMessage::new(role, content.clone()));
        let after_system = [vec![ChatMessage::new("system", "Hi.")], said.clone()].concat();
        let before_user = [said.clone(), vec![question()]].concat();
        [said, after_system, before_user]
    }

    fn said(self, message: ChatMessage) -> Vec<ChatMessage> {
        match self {
            Self::User => vec![message],
            Self::Assistant => vec![question(), message],
            Self::System => vec![message, question()],
            Self::Tool => with_call(&json!({"a": 1}), message),
        }
    }
}

fn with_call(arguments: &Value, mut result: ChatMessage) -> Vec<ChatMessage> {
    let mut call = ChatMessage::new("assistant", "");
    let function = json!({"name": "add", "arguments": arguments});
    let calls = json!([{"id": "call00001", "type": "function", "function": function}]);
    call.others.insert("tool_calls".into(), calls);
    result.others.insert("tool_call_id".into(), "call00001".into());
    result.others.insert("name".into(), "add".into());
    vec![question(), call, result]
}

fn question() -> ChatMessage {
    ChatMessage::new("user", "1+1=?")
}

/// A text that no template has, nor writes in other letters.
const NEEDLE: &str = "730194628";

fn has_needle(text: &str) -> bool {
    text.contains(NEEDLE)
}

impl Forms {
    /// The messages in the forms that the template takes. `knows` tells whether it knows a type of parts.
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] for parts that the template does not write.
    pub(super) fn fit<'m>(
        &self,
        messages: &'m [ChatMessage],
        render: Render<'_>,
        knows: impl Fn(&str) -> bool,
    ) -> Result<Cow<'m, [ChatMessage]>> {
        let (mut fitted, of_one) = (Cow::Borrowed(messages), OfOne::default());
        for (i, message) in messages.iter().enumerate() {
            if let Some(content) = self.content(message, render, &of_one, &knows).at(Place::Message(i))? {
                fitted.to_mut()[i].content = content;
            }
        }
        Ok(fitted)
    }

    /// Whether the template writes nothing of what a role says.
    pub(super) fn is_silent(&self, role: &str, render: Render<'_>, of_one: &OfOne) -> bool {
        const MOST: usize = 64;
        let role_kind = RoleKind::of(role);
        if role == role_kind.role() {
            return self.known(role_kind, render, of_one) == Some(ContentForm::Nothing);
        }
        // It is never waited for: after a fork, whoever has it locked may be gone.
        let known = || Some(*self.silent.try_lock().ok()?.get(role)?);
        known().unwrap_or_else(|| {
            let is_silent = ContentForm::of_any(role_kind, role, render) == Some(ContentForm::Nothing);
            if let Some(mut silent) = self.silent.try_lock().ok().filter(|silent| silent.len() < MOST) {
                silent.insert(role.to_owned(), is_silent);
            }
            is_silent
        })
    }

    /// Whether the template writes the arguments of a call as JSON, also if they are JSON in a text.
    pub(super) fn encodes_arguments(&self, render: Render<'_>) -> bool {
        found(&self.encodes_arguments, || {
            let arguments = json!({ "a": NEEDLE }).to_string();
            let messages = with_call(&arguments.into(), ChatMessage::new("tool", "2"));
            let text = Beside::EXAMPLES.into_iter().find_map(|beside| render(&messages, beside));
            text.is_some_and(|text| text.contains(&format!(r#"\"{NEEDLE}\""#)))
        })
    }

    fn known(&self, role_kind: RoleKind, render: Render<'_>, of_one: &OfOne) -> Option<ContentForm> {
        let (kind, role) = (role_kind as usize, role_kind.role());
        let of_this = || ContentForm::of(role_kind, role, render, Beside::Own);
        found(&self.contents[kind], || ContentForm::of_any(role_kind, role, render))
            .or_else(|| *of_one.contents[kind].get_or_init(of_this))
    }

    /// If nothing is known of a kind, it is the user's.
    fn content_form(&self, role_kind: RoleKind, render: Render<'_>, of_one: &OfOne) -> ContentForm {
        match self.known(role_kind, render, of_one) {
            None | Some(ContentForm::Nothing) if role_kind == RoleKind::User => ContentForm::Either,
            None | Some(ContentForm::Nothing) => self.content_form(RoleKind::User, render, of_one),
            Some(form) => form,
        }
    }

    /// The content in another form, if the template does not take it as it is.
    fn content(
        &self,
        message: &ChatMessage,
        render: Render<'_>,
        of_one: &OfOne,
        knows: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Content>> {
        let role_kind = RoleKind::of(&message.role);
        let form = self.content_form(role_kind, render, of_one);
        let parts = match &message.content {
            Content::Null => return Ok(None),
            Content::Text(_) if form != ContentForm::Parts => return Ok(None),
            Content::Text(text) => return Ok(Some(Content::Parts(vec![ContentPart::text(text)]))),
            Content::Parts(parts) => parts,
        };
        // Ids are what a model wrote between its text.
        let is_answer = parts.iter().any(|part| matches!(part, ContentPart::Ids(_)));
        let is_only_text = || parts.iter().all(|part| matches!(part, ContentPart::Text(_)));
        if is_answer && form != ContentForm::Parts || form != ContentForm::Text && is_only_text() {
            return Ok(None);
        }
        let not_written = |what: &str| -> Error {
            let takes = if form == ContentForm::Text { "takes only text and " } else { "" };
            let what =
                format!("the chat template {takes}has no place for {what} in a message of role {:?}", message.role);
            ErrorKind::Conversation(what).with_way_out(way_out![
                "remove it, or use ",
                Setting::FORMAT.set_to("messages"),
                " for a server that applies a template of its own"
            ])
        };
        let mut fitted = Vec::with_capacity(parts.len());
        for part in parts {
            fitted.push(match part {
                ContentPart::Text(_) => part.clone(),
                ContentPart::Media(media) => {
                    let what = || format!("{} ({})", media.kind.indefinite(), media.short_source());
                    let known = &self.media[role_kind as usize][media.kind as usize];
                    let of = |beside| MediaForm::of(role_kind, media.kind, render, beside);
                    let of_this = &of_one.media[role_kind as usize][media.kind as usize];
                    let known = found(known, || Beside::EXAMPLES.into_iter().find_map(of))
                        .or_else(|| *of_this.get_or_init(|| of(Beside::Own)));
                    let media_form = known.filter(|_| form != ContentForm::Text);
                    media_form.ok_or_else(|| not_written(&what()))?.of_media(media).into()
                }
                ContentPart::Other(_) => {
                    let kind = part.other_type().unwrap_or_default();
                    if form == ContentForm::Text || !knows(kind) {
                        return Err(not_written(&format!("a content part of type {kind:?}")));
                    }
                    part.clone()
                }
                ContentPart::Ids(_) => return Err(not_written("token ids")),
            });
        }
        if form != ContentForm::Text {
            return Ok(Some(Content::Parts(fitted)));
        }
        let content = Content::Parts(fitted);
        let texts: Vec<&str> = content.texts().collect();
        Ok(Some(Content::Text(texts.join(BETWEEN_TEXTS))))
    }
}

/// What a cell has, or will have. Nobody waits for another thread to find it: after a fork, that may be gone.
fn found<T: Copy>(cell: &OnceLock<T>, find: impl FnOnce() -> T) -> T {
    cell.get().copied().unwrap_or_else(|| {
        let found = find();
        let _ = cell.set(found);
        found
    })
}

impl ContentForm {
    /// None if the template refuses to write a message of this role, whatever is beside it.
    fn of_any(role_kind: RoleKind, role: &str, render: Render<'_>) -> Option<Self> {
        let forms = || Beside::EXAMPLES.into_iter().filter_map(|beside| Self::of(role_kind, role, render, beside));
        forms().find(|form| *form != Self::Nothing).or_else(|| forms().next())
    }

    /// None if the template refuses to write a message of this role with this beside it.
    fn of(role_kind: RoleKind, role: &str, render: Render<'_>, beside: Beside) -> Option<Self> {
        let texts = role_kind.saying(role, &NEEDLE.into());
        let parts = role_kind.saying(role, &Content::Parts(vec![ContentPart::text(NEEDLE)]));
        let mut is_written = false;
        let form = texts.iter().zip(&parts).find_map(|(text, parts)| {
            let (text, parts) = (render(text, beside), render(parts, beside));
            is_written |= text.is_some() || parts.is_some();
            match (text.filter(|text| has_needle(text)), parts.filter(|parts| has_needle(parts))) {
                (None, None) => None,
                (None, Some(parts)) if !has_printed_part(&parts) => Some(Self::Parts),
                (Some(text), Some(parts)) if text == parts || !has_printed_part(&parts) => Some(Self::Either),
                // Some write only the first characters of a text, and print all of a list.
                (_, _) => Some(Self::Text),
            }
        });
        form.or(is_written.then_some(Self::Nothing))
    }
}

impl MediaForm {
    /// The first of them that the template writes something for.
    fn of(role_kind: RoleKind, kind: MediaKind, render: Render<'_>, beside: Beside) -> Option<Self> {
        let text = || ContentPart::text(NEEDLE);
        let without = role_kind.saying(role_kind.role(), &Content::Parts(vec![text()]));
        [Self::Bare, Self::Url].into_iter().find(|form| {
            let media = form.of_media(&Media::new(kind, "file:///a"));
            let with = role_kind.saying(role_kind.role(), &Content::Parts(vec![media.into(), text()]));
            let render = |messages: &[ChatMessage]| render(messages, beside);
            let mut pairs =
                with.iter().zip(&without).filter_map(|(with, without)| Some((render(with)?, render(without)?)));
            pairs.any(|(with, without)| with != without && has_needle(&with) && !has_printed_part(&with))
        })
    }

    fn of_media(self, media: &Media) -> Media {
        match self {
            Self::Bare => media.to_bare(),
            Self::Url => media.to_url(),
        }
    }
}

/// Whether a list of parts was printed, as by Python or as JSON.
fn has_printed_part(text: &str) -> bool {
    let text = text.to_lowercase();
    ["'type': 'text'", "\"type\": \"text\"", "\"type\":\"text\""].iter().any(|printed| text.contains(printed))
}
