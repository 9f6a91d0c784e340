//! A conversation for models behind an API, which accept turns instead of tokens: the rules of OpenCompass's
//! `APITemplateParser`.

use serde::Deserialize;

use crate::conversation::{ChatMessage, Content, Conversation, Item, Mode, opencompass_role};
use crate::error::{ErrorKind, Result};
use crate::render::api_prompt::{ApiPrompt, ApiTurn};
use crate::render::api_roles::{ApiRoles, turn_of};
use crate::render::api_turns::{Turned, api_name};
use crate::render::each_message::empty_chat;
use crate::template::{MetaTemplate, RoleTemplate, RoundItem};

/// The dialogue format of a model behind an API.
///
/// ```
/// use metatok::render::ApiTemplate;
/// use metatok::{Conversation, Mode};
///
/// let template: ApiTemplate = serde_json::from_str(r#"{"round": [
///     {"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": true}
/// ]}"#)?;
/// let conversation: Conversation = serde_json::from_str(r#"[
///     {"section": "round", "pos": "begin"},
///     {"role": "HUMAN", "prompt": "1+1=?"}, {"role": "BOT", "prompt": "2"},
///     {"section": "round", "pos": "end"}
/// ]"#)?;
/// let messages = template.messages(&conversation, Mode::Generate)?;
/// assert_eq!(serde_json::to_string(&messages)?, r#"[{"role":"user","content":"1+1=?"}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected an API template { round = […], … }, or a list of messages {role, content}")]
pub enum ApiTemplate {
    /// Messages that are put before a conversation's own.
    Messages(Vec<ChatMessage>),
    /// Roles, with `api_role` as the API's name for them.
    Roles(Box<ApiRoles>),
}

impl Default for ApiTemplate {
    /// HUMAN, BOT, and a SYSTEM that speaks as HUMAN: OpenCompass's default for chat models without a meta template.
    fn default() -> Self {
        let round = [("HUMAN", "HUMAN"), ("SYSTEM", "HUMAN"), ("BOT", "BOT")].map(api_role);
        Self::of_round(round.map(Box::new).map(RoundItem::Role).to_vec(), Vec::new())
    }
}

fn api_role((role, api_role): (&str, &str)) -> RoleTemplate {
    let generate = api_role == "BOT";
    RoleTemplate { role: role.into(), api_role: Some(api_role.into()), generate, ..RoleTemplate::default() }
}

impl ApiTemplate {
    /// HUMAN, BOT and SYSTEM, each as itself: AISBench's default without a meta template.
    pub fn openai() -> Self {
        let round = [("HUMAN", "HUMAN"), ("BOT", "BOT")].map(api_role).map(Box::new).map(RoundItem::Role);
        Self::of_round(round.to_vec(), vec![api_role(("SYSTEM", "SYSTEM"))])
    }

    /// The roles of a template for token ids. Its `begin`s and `end`s are left out, because a server writes them by
    /// itself.
    ///
    /// # Errors
    /// The same as for [`MetaTemplate::validate`].
    pub fn of_roles(template: &MetaTemplate) -> Result<Self> {
        template.validate()?;
        let bare = |role: &RoleTemplate| RoleTemplate {
            role: role.role.clone(),
            api_role: role.api_role.clone().or_else(|| Some(role.role.clone())),
            generate: role.generate,
            ..RoleTemplate::default()
        };
        let round = template.round.iter().filter_map(RoundItem::role).map(bare);
        let round = round.map(Box::new).map(RoundItem::Role).collect();
        Ok(Self::of_round(round, template.reserved_roles.iter().map(bare).collect()))
    }

    /// Returns the template without the mark of the model's role, to compare for whom the roles speak.
    pub(super) fn unmarked(&self) -> Self {
        let mut template = self.clone();
        if let Self::Roles(roles) = &mut template {
            let round = roles.round.iter_mut().filter_map(|item| match item {
                RoundItem::Role(role) => Some(&mut **role),
                RoundItem::Text(_) => None,
            });
            for role in round.chain(&mut roles.reserved_roles) {
                role.generate = false;
            }
        }
        template
    }

    fn of_round(round: Vec<RoundItem>, reserved_roles: Vec<RoleTemplate>) -> Self {
        Self::Roles(Box::new(ApiRoles { round, reserved_roles, ..ApiRoles::default() }))
    }

    /// The turns of a conversation; in [`Mode::Generate`] up to where the model speaks.
    ///
    /// # Errors
    /// Names the item that the template has no place for, a role without `api_role`, and a conversation of which
    /// nothing is left.
    pub fn prompt(&self, conversation: &Conversation, mode: Mode) -> Result<ApiPrompt> {
        match (self, conversation) {
            (_, Conversation::Text(text)) => Ok(ApiPrompt::Text(text.clone())),
            (Self::Roles(_), Conversation::Messages(messages)) => Ok(ApiPrompt::Messages(messages.clone())),
            (Self::Messages(own), Conversation::Messages(messages)) => Ok(ApiPrompt::Messages(merged(own, messages))),
            (_, Conversation::Chat(_)) => Err(conversation.would_be_lost()),
            (Self::Roles(roles), Conversation::List(items)) => Ok(ApiPrompt::Turns(roles.turns(items, mode)?.turns)),
            (Self::Messages(_), Conversation::List(_)) => Err(ErrorKind::Conversation(
                "a meta template of messages needs messages, but this conversation is a prompt list; use a template with roles".into(),
            )
            .into()),
        }
    }

    /// The conversation as OpenAI-style messages, turn by turn: HUMAN, BOT, SYSTEM and TOOL are user, assistant, system and
    /// tool, and other roles keep the template's names. As the models behind an API of both references send it.
    ///
    /// # Errors
    /// The same as for [`Self::prompt`].
    pub fn turn_messages(&self, conversation: &Conversation, mode: Mode) -> Result<Vec<ChatMessage>> {
        Ok(self.prompt(conversation, mode)?.turn_messages())
    }

    /// The prompt as OpenAI-style messages, of which adjacent ones of one role are merged. Empty turns are left out, as
    /// OpenCompass's chat wrappers do. A system message of the conversation stays even if it is empty: without it, servers
    /// insert their own. It adds nothing to a system message from which only empty turns part it.
    ///
    /// # Errors
    /// The same as for [`Self::prompt`].
    pub fn messages(&self, conversation: &Conversation, mode: Mode) -> Result<Vec<ChatMessage>> {
        let (Self::Roles(roles), Conversation::List(items)) = (self, conversation) else {
            return Ok(self.prompt(conversation, mode)?.own_messages(true, |_| false));
        };
        let Turned { turns, empty_systems } = roles.turns(items, mode)?;
        let mut messages = ApiPrompt::Turns(turns).own_messages(false, |turn| empty_systems.contains(&turn));
        messages.dedup_by(|next, message| {
            let is_same = next.role == message.role;
            if is_same {
                join(&mut message.content, std::mem::replace(&mut next.content, "".into()));
            }
            is_same
        });
        Ok(messages)
    }

    /// The role of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&RoleTemplate> {
        match self {
            Self::Roles(roles) => roles.named(name),
            Self::Messages(_) => None,
        }
    }

    /// How many strings of a prompt list are left out, because messages have no place for them. White space separates what
    /// is joined, and is not missed.
    pub(crate) fn strings_left_out(&self, conversation: &Conversation) -> u64 {
        let (Self::Roles(_), Conversation::List(items)) = (self, conversation) else { return 0 };
        let is_left_out = |item: &&Item| matches!(item, Item::Text(text) if !text.trim().is_empty());
        items.iter().filter(is_left_out).count() as u64
    }

    /// Messages one by one, each with the API's name for its role. A role that the template does not have keeps its
    /// own. The rules of OpenCompass's `ChatInferencer`, which has no rounds.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] for a role without `api_role`, a string between roles, and a chat without messages.
    pub fn each_message(&self, messages: &[ChatMessage]) -> Result<ApiPrompt> {
        if messages.is_empty() {
            return Err(empty_chat());
        }
        let roles = match self {
            Self::Messages(own) => return Ok(ApiPrompt::Messages(merged(own, messages))),
            Self::Roles(roles) => roles,
        };
        let round = roles.round.iter().enumerate().map(|(i, item)| turn_of(item, i));
        let known = round.chain(roles.reserved_roles.iter().map(Ok)).collect::<Result<Vec<_>>>()?;
        let turn = |message: &ChatMessage| {
            let own = opencompass_role(&message.role);
            let named = |name: &str| known.iter().find(|role| role.role == name);
            let name = match named(own).or_else(|| named(&message.role)) {
                Some(role) => api_name(role)?,
                None => message.role.as_str(),
            };
            Ok(ApiTurn { role: name.to_owned(), prompt: message.content.clone() })
        };
        Ok(ApiPrompt::Turns(messages.iter().map(turn).collect::<Result<_>>()?))
    }
}

/// Adds what the same role says next. A message that stays though it is empty adds nothing to another, not even a line.
fn join(content: &mut Content, next: Content) {
    if content.is_empty() {
        *content = next;
    } else if !next.is_empty() {
        content.append("\n", next);
    }
}

/// Puts the template's messages before the conversation's, each before the next one of its role; if there is none, in
/// the template's order.
fn merged(own: &[ChatMessage], messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut all = Vec::with_capacity(own.len() + messages.len());
    let (mut own, mut rest) = (own, messages);
    while let [mine, others @ ..] = own {
        match rest {
            [message, more @ ..] if message.role == mine.role => {
                let mut content = mine.content.clone();
                content.append("", message.content.clone());
                all.push(ChatMessage { content, role: message.role.clone(), others: message.others.clone() });
                (own, rest) = (others, more);
            }
            [message, more @ ..] if more.iter().any(|later| later.role == mine.role) => {
                all.push(message.clone());
                rest = more;
            }
            _ => {
                all.push(mine.clone());
                own = others;
            }
        }
    }
    all.extend_from_slice(rest);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_empty_prompt_of_a_role_is_one() -> Result<()> {
        let items = r#"[{"section": "round", "pos": "begin"}, {"role": "HUMAN", "prompt_mm": [{"type": "text", "text": "1?"}]},
            {"section": "round", "pos": "end"}]"#;
        let conversation: Conversation = serde_json::from_str(items).expect("a prompt list");
        let turns = |prompt: Option<&str>| {
            let round = ["HUMAN", "BOT"].map(|role| RoleTemplate {
                role: role.into(),
                api_role: Some(role.into()),
                prompt: prompt.map(str::to_owned),
                ..RoleTemplate::default()
            });
            let round = round.map(Box::new).map(RoundItem::Role).to_vec();
            let roles = ApiRoles { round, needs_prompts: true, compat: true, ..ApiRoles::default() };
            let messages = ApiTemplate::Roles(Box::new(roles)).turn_messages(&conversation, Mode::Generate)?;
            Ok::<_, Error>(messages.into_iter().map(|message| message.content).collect::<Vec<_>>())
        };
        let error = turns(None).expect_err("BOT has nothing to say").to_string();
        assert_eq!(error, "item 2: role \"BOT\" has no content, and the template has no prompt for it");
        // It hides the parts, as every prompt of a role does there.
        assert_eq!(turns(Some(""))?, [Content::Text(String::new()), Content::Text(String::new())]);
        Ok(())
    }

    #[test]
    fn an_empty_system_message_stays_only_where_the_conversation_has_it() -> Result<()> {
        let round =
            [("HUMAN", "HUMAN"), ("SYSTEM", "SYSTEM"), ("BOT", "SYSTEM")].map(|(role, api_role)| RoleTemplate {
                role: role.into(),
                api_role: Some(api_role.into()),
                generate: role == "BOT",
                ..RoleTemplate::default()
            });
        let template = ApiTemplate::of_round(round.map(Box::new).map(RoundItem::Role).to_vec(), Vec::new());
        let own = r#"{"section": "begin", "pos": "begin"}, {"role": "SYSTEM", "prompt": ""}, {"section": "begin", "pos": "end"},"#;
        for (begin, roles) in [("", vec!["user"]), (own, vec!["system", "user"])] {
            let items = format!(
                r#"[{begin} {{"section": "round", "pos": "begin"}}, {{"role": "HUMAN", "prompt": "1+1=?"}},
                {{"role": "BOT", "prompt": ""}}, {{"section": "round", "pos": "end"}}]"#
            );
            let conversation: Conversation = serde_json::from_str(&items).expect("a prompt list");
            let messages = template.messages(&conversation, Mode::Generate)?;
            assert_eq!(messages.iter().map(|message| &*message.role).collect::<Vec<_>>(), roles);
        }
        Ok(())
    }

    #[test]
    fn an_empty_system_message_adds_no_line_to_another() -> Result<()> {
        for (said, system) in [(["s", "", ""], "s"), (["", "", "s"], "s"), (["", "", ""], ""), (["a", "", "b"], "a\nb")]
        {
            let [first, between, second] = said;
            let items = format!(
                r#"[{{"section": "begin", "pos": "begin"}}, {{"role": "SYSTEM", "prompt": "{first}"}},
                {{"role": "HUMAN", "prompt": "{between}"}}, {{"role": "SYSTEM", "prompt": "{second}"}},
                {{"section": "begin", "pos": "end"}}, {{"section": "round", "pos": "begin"}},
                {{"role": "HUMAN", "prompt": "x"}}, {{"section": "round", "pos": "end"}}]"#
            );
            let conversation: Conversation = serde_json::from_str(&items).expect("a prompt list");
            let messages = ApiTemplate::openai().messages(&conversation, Mode::Generate)?;
            assert_eq!(messages, [ChatMessage::new("system", system), ChatMessage::new("user", "x")]);
        }
        Ok(())
    }
}
