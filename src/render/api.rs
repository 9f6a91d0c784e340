//! A conversation for models behind an API, which accept turns instead of tokens: the rules of OpenCompass's
//! `APITemplateParser`.

use serde::Deserialize;

use crate::conversation::{
    ChatMessage, Content, ContentPart, ContentRef, Conversation, Item, Message, Mode, Prompt, Section, opencompass_role,
};
use crate::error::{At, Error, ErrorKind, Result};
use crate::render::api_prompt::{ApiPrompt, ApiTurn};
use crate::render::each_message::empty_chat;
use crate::render::sections::{Flow, close};
use crate::template::{Affix, AffixItem, MetaTemplate, RoleTemplate, RoundItem};

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

/// The roles of an [`ApiTemplate`], and the opening of every conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RolesFile")]
pub struct ApiRoles {
    begin: Option<Opening>,
    round: Vec<RoundItem>,
    reserved_roles: Vec<RoleTemplate>,
    /// Whether a turn without content is an error, as in AISBench, or empty, as in OpenCompass.
    pub needs_prompts: bool,
    /// Whether content parts are lost where AISBench loses them: a role's own `prompt` hides them, and its `begin` and
    /// `end` are not written around them.
    pub compat: bool,
}

/// The roles as written. Other keys of a meta template have no meaning for an API.
#[derive(Deserialize)]
struct RolesFile {
    begin: Option<Opening>,
    round: Vec<RoundItem>,
    #[serde(default)]
    reserved_roles: Vec<RoleTemplate>,
}

impl TryFrom<RolesFile> for ApiRoles {
    type Error = Error;

    fn try_from(file: RolesFile) -> Result<Self> {
        let RolesFile { begin, round, reserved_roles } = file;
        let template = MetaTemplate { round, reserved_roles, ..MetaTemplate::default() };
        template.validate()?;
        Ok(Self { begin, round: template.round, reserved_roles: template.reserved_roles, ..Self::default() })
    }
}

/// The opening of an API's conversations.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a turn {role, prompt}, or a text")]
pub enum Opening {
    /// Text, which has no place between turns unless it is empty. First, because a list of two strings would be
    /// accepted as a turn.
    Text(Affix),
    /// A turn, which is never merged with others.
    ApiTurn(ApiTurn),
}

/// The role that speaks before all others.
const SYSTEM: &str = "SYSTEM";

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
            (Self::Roles(roles), Conversation::List(items)) => Ok(ApiPrompt::Turns(roles.turns(items, mode)?)),
            (Self::Messages(_), Conversation::List(_)) => Err(ErrorKind::Conversation(
                "a meta template of messages needs messages, but this conversation is a prompt list; use a template with roles".into(),
            )
            .into()),
        }
    }

    /// The conversation as OpenAI-style messages: HUMAN, BOT, SYSTEM and TOOL are user, assistant, system and tool,
    /// other roles keep the template's names, and empty turns are left out. A system message of the conversation stays
    /// even if it is empty: without it, servers insert their own.
    ///
    /// # Errors
    /// The same as for [`Self::prompt`].
    pub fn messages(&self, conversation: &Conversation, mode: Mode) -> Result<Vec<ChatMessage>> {
        let has_empty_system = self.has_empty_system(conversation);
        Ok(self.prompt(conversation, mode)?.own_messages(true, |turn| has_empty_system && turn.role == SYSTEM))
    }

    fn has_empty_system(&self, conversation: &Conversation) -> bool {
        let (Self::Roles(roles), Conversation::List(items)) = (self, conversation) else { return false };
        let is_system =
            |message: &Message| roles.named(&message.role).is_some_and(|role| role.api_role.as_deref() == Some(SYSTEM));
        items.iter().any(|item| match item {
            Item::Message(message) => message.prompt == Prompt::Text(String::new()) && is_system(message),
            _ => false,
        })
    }
}

impl ApiTemplate {
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
            let name = match known.iter().find(|role| role.role == own) {
                Some(role) => named_by(role)?,
                None => message.role.as_str(),
            };
            Ok(ApiTurn { role: name.to_owned(), prompt: message.content.clone() })
        };
        Ok(ApiPrompt::Turns(messages.iter().map(turn).collect::<Result<_>>()?))
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
                let mut both = mine.clone();
                both.content.append("", message.content.clone());
                all.push(both);
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

/// A message with the role of the round that speaks it.
#[derive(Clone, Copy)]
struct Said<'a> {
    role: &'a RoleTemplate,
    position: usize,
    message: &'a Message,
}

impl ApiRoles {
    fn turns(&self, items: &[Item], mode: Mode) -> Result<Vec<ApiTurn>> {
        let opening = match &self.begin {
            Some(Opening::ApiTurn(turn)) => vec![turn.clone()],
            Some(Opening::Text(text)) if !text.is_empty() => {
                let what = "a text has no place in the turns of an API; write {role, prompt}, or remove it";
                return Err(Error::from(ErrorKind::Template(what.into())).at("meta_template.begin"));
            }
            _ => Vec::new(),
        };
        let mut turns = Turns { opening, spoken: Vec::new(), needs_prompts: self.needs_prompts, compat: self.compat };
        let mut open: Vec<(Section, usize)> = Vec::new();
        let mut said = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let place = format_args!("item {i}");
            match (item, open.last().map(|(section, _)| *section)) {
                // An API has no place for text without a role.
                (Item::Text(_), _) => {}
                (Item::Marker(marker), _) => {
                    let closed = close(marker, items, &mut open, i).at(place)?;
                    let Some(section @ (Section::Round | Section::Ice)) = closed else { continue };
                    if self.rounds(&said, section, mode, &mut turns).at(place)? == Flow::Cut {
                        break;
                    }
                    said.clear();
                }
                (Item::Message(message), Some(Section::Begin | Section::End)) => {
                    let role = self.alone(message).at(place)?;
                    if mode == Mode::Generate && generates(role, Some(message)) {
                        let what =
                            format!("role {:?} is the model's own, which cannot speak outside rounds", role.role);
                        return Err(Error::from(ErrorKind::Sections(what)).at(place));
                    }
                    turns.speak(role, Some(message)).at(place)?;
                }
                (Item::Message(message), Some(_)) => said.push(self.in_round(message).at(place)?),
                (Item::Message(message), None) => {
                    let what = format!("the message of role {:?} is outside every section", message.role);
                    return Err(Error::from(ErrorKind::Sections(what)).at(place));
                }
            }
        }
        if turns.spoken.is_empty() {
            let what = "nothing in this conversation is left for the model to answer";
            return Err(ErrorKind::Sections(what.into()).into());
        }
        turns.opening.append(&mut turns.spoken);
        Ok(turns.opening)
    }

    fn named(&self, name: &str) -> Option<&RoleTemplate> {
        let round = self.round.iter().filter_map(RoundItem::role);
        round.chain(&self.reserved_roles).find(|role| role.role == name)
    }

    fn placed(&self, name: &str) -> Option<(usize, &RoleTemplate)> {
        self.round
            .iter()
            .enumerate()
            .find_map(|(i, item)| Some((i, item.role()?)).filter(|(_, role)| role.role == name))
    }

    fn alone(&self, message: &Message) -> Result<&RoleTemplate> {
        let fallback = || message.fallback_role.as_deref().and_then(|role| self.named(role));
        self.named(&message.role).or_else(fallback).ok_or_else(|| self.unknown(message))
    }

    /// A message of a round speaks with its own role or its fallback role, whichever the round has.
    fn in_round<'a>(&'a self, message: &'a Message) -> Result<Said<'a>> {
        let fallback = || message.fallback_role.as_deref().and_then(|role| self.placed(role));
        let (position, role) = self.placed(&message.role).or_else(fallback).ok_or_else(|| self.unknown(message))?;
        Ok(Said { role, position, message })
    }

    fn unknown(&self, message: &Message) -> Error {
        let round = self.round.iter().filter_map(RoundItem::role);
        ErrorKind::UnknownRole {
            role: message.role.to_string(),
            fallback: message.fallback_role.as_ref().map(ToString::to_string),
            known: round.chain(&self.reserved_roles).map(|role| role.role.clone()).collect(),
        }
        .into()
    }

    /// A new round begins with every message whose role does not come later than the previous one.
    fn rounds(&self, said: &[Said<'_>], section: Section, mode: Mode, turns: &mut Turns) -> Result<Flow> {
        let mut rounds = said.chunk_by(|a, b| b.position > a.position).peekable();
        if rounds.peek().is_none() {
            return self.round(&[], section == Section::Round && mode == Mode::Generate, turns);
        }
        while let Some(round) = rounds.next() {
            let is_last = rounds.peek().is_none();
            let cut = is_last && section == Section::Round && mode == Mode::Generate;
            if self.round(round, cut, turns)? == Flow::Cut {
                return Ok(Flow::Cut);
            }
        }
        Ok(Flow::Continue)
    }

    fn round(&self, said: &[Said<'_>], cut: bool, turns: &mut Turns) -> Result<Flow> {
        for (i, item) in self.round.iter().enumerate() {
            let role = turn_of(item, i)?;
            let message = said.iter().find(|said| said.role.role == role.role).map(|said| said.message);
            if cut && generates(role, message) {
                return Ok(Flow::Cut);
            }
            turns.speak(role, message)?;
        }
        Ok(Flow::Continue)
    }
}

/// The role that speaks at a position of the round.
fn turn_of(item: &RoundItem, index: usize) -> Result<&RoleTemplate> {
    item.role().ok_or_else(|| {
        let what = "a string between roles has no place in the turns of an API";
        Error::from(ErrorKind::Template(what.into())).at(format_args!("meta_template.round[{index}]"))
    })
}

/// The API's name for a role.
fn named_by(role: &RoleTemplate) -> Result<&str> {
    role.api_role.as_deref().ok_or_else(|| {
        ErrorKind::Template(format!("role {:?} has no api_role; set it to HUMAN, BOT or SYSTEM", role.role)).into()
    })
}

fn generates(role: &RoleTemplate, message: Option<&Message>) -> bool {
    message.and_then(|message| message.generate).unwrap_or(role.generate)
}

/// The turns so far.
struct Turns {
    opening: Vec<ApiTurn>,
    spoken: Vec<ApiTurn>,
    needs_prompts: bool,
    compat: bool,
}

impl Turns {
    fn speak(&mut self, role: &RoleTemplate, message: Option<&Message>) -> Result<()> {
        let api_role = named_by(role)?;
        let own = |text: Option<&String>, affix: &Affix| text.map_or_else(|| plain(affix), |text| Ok(text.clone()));
        let prompt = match message.map(|message| &message.prompt) {
            Some(Prompt::Text(prompt)) => ContentRef::Text(prompt),
            Some(Prompt::Parts(_)) if self.compat && !role.prompt.is_empty() => ContentRef::Text(&role.prompt),
            Some(Prompt::Parts(parts)) if parts.iter().any(|part| matches!(part, ContentPart::Ids(_))) => {
                return Err(ErrorKind::Conversation("token ids have no place in the turns of an API".into()).into());
            }
            Some(Prompt::Parts(parts)) => ContentRef::Parts(parts),
            None | Some(Prompt::Absent) if self.needs_prompts && role.prompt.is_empty() => {
                let what = format!("role {:?} has no content, and the template has no prompt for it", role.role);
                return Err(ErrorKind::Conversation(what).into());
            }
            None | Some(Prompt::Absent) => ContentRef::Text(&role.prompt),
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
            None => self.spoken.push(ApiTurn { role: api_role.to_owned(), prompt }),
        }
        Ok(())
    }
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
