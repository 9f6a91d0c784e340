//! The turns of a dialogue for an API while they are written: adjacent ones of a role become one.

use crate::conversation::{Content, ContentPart, ContentRef, Message, Prompt};
use crate::error::{ErrorKind, Result};
use crate::render::api_prompt::ApiTurn;
use crate::template::{Affix, AffixItem, RoleTemplate};

/// The role that speaks before all others.
const SYSTEM: &str = "SYSTEM";

/// The turns so far.
pub(super) struct Turns {
    opening: Vec<ApiTurn>,
    pub(super) spoken: Vec<ApiTurn>,
    /// Which of those spoken are system messages that the conversation has, and has left empty.
    empty_systems: Vec<usize>,
    needs_prompts: bool,
    compat: bool,
}

/// All turns, and which of them are empty system messages of the conversation's own.
pub(super) struct Turned {
    pub(super) turns: Vec<ApiTurn>,
    pub(super) empty_systems: Vec<usize>,
}

impl Turns {
    pub(super) fn new(opening: Vec<ApiTurn>, needs_prompts: bool, compat: bool) -> Self {
        Self { opening, spoken: Vec::new(), empty_systems: Vec::new(), needs_prompts, compat }
    }

    pub(super) fn finish(self) -> Turned {
        let Self { opening: mut turns, mut spoken, mut empty_systems, .. } = self;
        empty_systems.iter_mut().for_each(|turn| *turn += turns.len());
        turns.append(&mut spoken);
        Turned { turns, empty_systems }
    }

    pub(super) fn speak(&mut self, role: &RoleTemplate, message: Option<&Message>) -> Result<()> {
        let api_role = api_name(role)?;
        let own = |text: Option<&String>, affix: &Affix| text.map_or_else(|| plain(affix), |text| Ok(text.clone()));
        let has_default = role.prompt.is_some();
        let default = ContentRef::Text(role.prompt_text());
        let prompt = match message.map(|message| &message.prompt) {
            Some(Prompt::Text(prompt)) => ContentRef::Text(prompt),
            Some(Prompt::Parts(_)) if self.compat && has_default => default,
            Some(Prompt::Parts(parts)) if parts.iter().any(|part| matches!(part, ContentPart::Ids(_))) => {
                return Err(ErrorKind::Conversation("token ids have no place in the turns of an API".into()).into());
            }
            Some(Prompt::Parts(parts)) => ContentRef::Parts(parts),
            None | Some(Prompt::Absent) if self.needs_prompts && !has_default => {
                let what = format!("role {:?} has no content, and the template has no prompt for it", role.role);
                return Err(ErrorKind::Conversation(what).into());
            }
            None | Some(Prompt::Absent) => default,
            Some(Prompt::Null) => {
                let what = format!("the prompt of role {:?} is null; remove the key, or write \"\"", role.role);
                return Err(ErrorKind::Invalid(what).into());
            }
        };
        let begin = own(message.and_then(|message| message.begin.as_ref()), &role.begin)?;
        let end = own(message.and_then(|message| message.end.as_ref()), &role.end)?;
        let prompt = match prompt {
            ContentRef::Text(prompt) => Content::Text(begin + prompt + &end),
            ContentRef::Parts(parts) if self.compat => Content::Parts(parts.to_vec()),
            ContentRef::Parts(parts) => around(begin, parts.to_vec(), end),
        };
        match self.spoken.last_mut().filter(|last| last.role == api_role) {
            Some(last) => last.prompt.append("\n", prompt),
            None => {
                let is_written = message.is_some_and(|message| message.prompt == Prompt::Text(String::new()));
                // One that the template opens with has all that is said.
                let opens_with_one =
                    || self.spoken.is_empty() && self.opening.last().is_some_and(|turn| turn.role == SYSTEM);
                if is_written && api_role == SYSTEM && !role.generate && !opens_with_one() {
                    self.empty_systems.push(self.spoken.len());
                }
                self.spoken.push(ApiTurn { role: api_role.to_owned(), prompt });
            }
        }
        Ok(())
    }
}

/// The API's name for a role.
pub(super) fn api_name(role: &RoleTemplate) -> Result<&str> {
    role.api_role.as_deref().ok_or_else(|| {
        ErrorKind::Template(format!("role {:?} has no api_role; set it to HUMAN, BOT or SYSTEM", role.role)).into()
    })
}

/// Parts with the texts before and after them, if these are not empty.
fn around(begin: String, parts: Vec<ContentPart>, end: String) -> Content {
    let mut content = match &*begin {
        "" => Content::Parts(parts),
        _ => {
            let mut content = Content::Text(begin);
            content.append("", Content::Parts(parts));
            content
        }
    };
    if !end.is_empty() {
        content.append("", Content::Text(end));
    }
    content
}

/// An affix as text, which is impossible for an id.
fn plain(affix: &Affix) -> Result<String> {
    affix
        .0
        .iter()
        .map(|item| match item {
            AffixItem::Text(text) | AffixItem::Token(text) => Ok(text.as_str()),
            AffixItem::Id(id) => Err(ErrorKind::Template(format!(
                "the token id {id} has no text for an API; name the token, or remove it for this model"
            ))
            .into()),
        })
        .collect()
}
