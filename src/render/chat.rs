//! A conversation for models behind an API, which take turns instead of tokens: the rules of
//! OpenCompass's `APITemplateParser`.

use serde::{Deserialize, Serialize};

use crate::conversation::{ChatMessage, Conversation, Item, Message, Mode, Prompt, Section};
use crate::error::{At, Error, ErrorKind, Result};
use crate::render::sections::{Flow, close};
use crate::template::{Affix, AffixItem, MetaTemplate, RoleTemplate, RoundItem};

/// How a model behind an API wants its dialogue.
///
/// ```
/// use metatok::{ApiTemplate, Conversation, Mode};
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum ApiTemplate {
    /// Messages that go in front of a conversation's own.
    Messages(Vec<ChatMessage>),
    /// Roles, of which `api_role` says what the API calls them.
    Roles(Box<ApiRoles>),
}

/// The roles of an [`ApiTemplate`], and what every conversation opens with.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ApiRoles {
    /// What stands before all others.
    pub begin: Option<Opening>,
    /// One round of dialogue.
    pub round: Vec<RoundItem>,
    /// Roles outside rounds.
    #[serde(default)]
    pub reserved_roles: Vec<RoleTemplate>,
    /// Whether a turn in which nobody says anything is an error, as in AISBench, or empty, as in
    /// OpenCompass.
    #[serde(skip)]
    pub needs_prompts: bool,
}

/// What an API's conversations open with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Opening {
    /// A turn, which is never merged with others.
    Turn(Turn),
    /// Text, which has no place between turns unless it is empty.
    Text(Affix),
}

/// A turn of the dialogue as an API takes it: HUMAN, BOT or SYSTEM, and what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The API's name for the role.
    pub role: String,
    /// What is said, with the role's `begin` and `end` around it.
    pub prompt: String,
}

/// What an API model gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ApiPrompt {
    /// A string, which no template touches.
    Text(String),
    /// Turns, of which no two in a row have the same role.
    Turns(Vec<Turn>),
    /// Messages that were OpenAI-style already.
    Messages(Vec<ChatMessage>),
}

impl Default for ApiTemplate {
    /// HUMAN, BOT, and a SYSTEM that speaks as HUMAN: what OpenCompass takes for chat models without a
    /// meta template.
    fn default() -> Self {
        let role = |role: &str, api_role: &str| {
            let role = RoleTemplate { role: role.into(), api_role: Some(api_role.into()), ..RoleTemplate::default() };
            RoundItem::Role(Box::new(RoleTemplate { generate: api_role == "BOT", ..role }))
        };
        let round = vec![role("HUMAN", "HUMAN"), role("SYSTEM", "HUMAN"), role("BOT", "BOT")];
        Self::Roles(Box::new(ApiRoles { round, ..ApiRoles::default() }))
    }
}

impl From<&MetaTemplate> for ApiTemplate {
    /// The roles; `begin` and `end` of the template have no place in messages.
    fn from(template: &MetaTemplate) -> Self {
        Self::Roles(Box::new(ApiRoles {
            begin: None,
            round: template.round.clone(),
            reserved_roles: template.reserved_roles.clone(),
            needs_prompts: false,
        }))
    }
}

impl ApiTemplate {
    /// The turns of a conversation; in [`Mode::Generate`] up to where the model speaks.
    ///
    /// # Errors
    /// Names the item that the template has no place for, a role without `api_role`, and a conversation
    /// of which nothing is left.
    pub fn prompt(&self, conversation: &Conversation, mode: Mode) -> Result<ApiPrompt> {
        if let Self::Roles(roles) = self {
            roles.validate()?;
        }
        match (self, conversation) {
            (_, Conversation::Text(text)) => Ok(ApiPrompt::Text(text.clone())),
            (Self::Roles(_), Conversation::Messages(messages)) => Ok(ApiPrompt::Messages(messages.clone())),
            (Self::Messages(own), Conversation::Messages(messages)) => Ok(ApiPrompt::Messages(merged(own, messages))),
            (Self::Roles(roles), Conversation::List(items)) => Ok(ApiPrompt::Turns(roles.turns(items, mode)?)),
            (Self::Messages(_), Conversation::List(_)) => Err(ErrorKind::Template(
                "a meta template of messages takes messages, and this conversation is a prompt list; use one with roles".into(),
            )
            .into()),
        }
    }

    /// The conversation as OpenAI-style messages: HUMAN, BOT and SYSTEM are user, assistant and system,
    /// empty turns are left out.
    ///
    /// # Errors
    /// As [`Self::prompt`], and names another role.
    pub fn messages(&self, conversation: &Conversation, mode: Mode) -> Result<Vec<ChatMessage>> {
        self.prompt(conversation, mode)?.messages(true, false)
    }
}

impl ApiPrompt {
    /// The prompt as OpenAI-style messages, `merge`d where two in a row have one role, and with empty
    /// ones if they are to be kept. OpenCompass: `_convert_chat_messages`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownRole`] for a role that is not HUMAN, BOT or SYSTEM.
    pub fn messages(&self, merge: bool, keep_empty: bool) -> Result<Vec<ChatMessage>> {
        let turns = match self {
            Self::Text(text) => return Ok(vec![ChatMessage::new("user", text.as_str())]),
            Self::Messages(messages) => return Ok(messages.clone()),
            Self::Turns(turns) => turns,
        };
        let mut messages: Vec<ChatMessage> = Vec::new();
        for turn in turns.iter().filter(|turn| keep_empty || !turn.prompt.is_empty()) {
            let role = match turn.role.as_str() {
                "HUMAN" => "user",
                "BOT" => "assistant",
                "SYSTEM" => "system",
                other => {
                    let known = ["HUMAN", "BOT", "SYSTEM"].map(str::to_owned).to_vec();
                    return Err(ErrorKind::UnknownRole { role: other.to_owned(), fallback: None, known }.into());
                }
            };
            match messages.last_mut().filter(|last| merge && last.role == role) {
                Some(last) => last.content = format!("{}\n{}", last.content, turn.prompt),
                None => messages.push(ChatMessage::new(role, turn.prompt.as_str())),
            }
        }
        Ok(messages)
    }
}

/// Puts the template's messages before the conversation's, each before the next of its role; where there
/// is none, where the order of the template has it.
fn merged(own: &[ChatMessage], messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut all = Vec::with_capacity(own.len() + messages.len());
    let (mut own, mut rest) = (own, messages);
    while let [mine, others @ ..] = own {
        match rest {
            [message, more @ ..] if message.role == mine.role => {
                all.push(ChatMessage::new(mine.role.clone(), format!("{}{}", mine.content, message.content)));
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

/// A message with the role of the round by which it speaks.
#[derive(Clone, Copy)]
struct Said<'a> {
    role: &'a RoleTemplate,
    position: usize,
    message: &'a Message,
}

impl ApiRoles {
    fn turns(&self, items: &[Item], mode: Mode) -> Result<Vec<Turn>> {
        let opening = match &self.begin {
            Some(Opening::Turn(turn)) => vec![turn.clone()],
            Some(Opening::Text(text)) if !text.is_empty() => {
                let what = "a text has no place in the turns of an API; write {role, prompt}, or leave it out";
                return Err(Error::from(ErrorKind::Template(what.into())).at("meta_template.begin"));
            }
            _ => Vec::new(),
        };
        let mut turns = Turns { opening, spoken: Vec::new(), needs_prompts: self.needs_prompts };
        let mut open: Vec<(Section, usize)> = Vec::new();
        let mut said = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let place = format_args!("item {i}");
            match (item, open.last().map(|(section, _)| *section)) {
                // An API has no place for what nobody says.
                (Item::Text(_), _) => {}
                (Item::Marker(marker), _) => {
                    let closed = close(marker, &mut open, i).at(place)?;
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
                            format!("role {:?} is the model's own: it cannot speak outside rounds here", role.role);
                        return Err(Error::from(ErrorKind::Sections(what)).at(place));
                    }
                    turns.speak(role, Some(message)).at(place)?;
                }
                (Item::Message(message), Some(_)) => said.push(self.in_round(message).at(place)?),
                (Item::Message(message), None) => {
                    let what = format!("the message of role {:?} stands outside every section", message.role);
                    return Err(Error::from(ErrorKind::Sections(what)).at(place));
                }
            }
        }
        if turns.spoken.is_empty() {
            let what = "nothing is left of this conversation for the model to answer";
            return Err(ErrorKind::Sections(what.into()).into());
        }
        turns.opening.append(&mut turns.spoken);
        Ok(turns.opening)
    }

    fn validate(&self) -> Result<()> {
        let template = MetaTemplate {
            round: self.round.clone(),
            reserved_roles: self.reserved_roles.clone(),
            ..MetaTemplate::default()
        };
        template.validate()
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

    /// A message of a round speaks by its own role or the one to fall back to, whichever the round has.
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

    /// A new round begins with every message whose role does not come later than the one before.
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
            let role = item.role().ok_or_else(|| {
                let what = "a string between roles has no place in the turns of an API";
                Error::from(ErrorKind::Template(what.into())).at(format_args!("meta_template.round[{i}]"))
            })?;
            let message = said.iter().find(|said| said.role.role == role.role).map(|said| said.message);
            if cut && generates(role, message) {
                return Ok(Flow::Cut);
            }
            turns.speak(role, message)?;
        }
        Ok(Flow::Continue)
    }
}

fn generates(role: &RoleTemplate, message: Option<&Message>) -> bool {
    message.and_then(|message| message.generate).unwrap_or(role.generate)
}

/// The turns so far.
struct Turns {
    opening: Vec<Turn>,
    spoken: Vec<Turn>,
    needs_prompts: bool,
}

impl Turns {
    fn speak(&mut self, role: &RoleTemplate, message: Option<&Message>) -> Result<()> {
        let api_role = role.api_role.as_ref().ok_or_else(|| {
            ErrorKind::Template(format!("role {:?} has no api_role; give it HUMAN, BOT or SYSTEM", role.role))
        })?;
        let own = |text: Option<&String>, affix: &Affix| text.map_or_else(|| plain(affix), |text| Ok(text.clone()));
        let prompt = match message.map(|message| &message.prompt) {
            Some(Prompt::Text(prompt)) => prompt,
            None | Some(Prompt::Absent) if self.needs_prompts && role.prompt.is_empty() => {
                let what = format!("role {:?} says nothing, and the template has no prompt for it", role.role);
                return Err(ErrorKind::Template(what).into());
            }
            None | Some(Prompt::Absent) => &role.prompt,
            Some(Prompt::Null) => {
                let what = format!("the prompt of role {:?} is null; leave the key out, or write \"\"", role.role);
                return Err(ErrorKind::Parse(what).into());
            }
        };
        let begin = own(message.and_then(|message| message.begin.as_ref()), &role.begin)?;
        let end = own(message.and_then(|message| message.end.as_ref()), &role.end)?;
        let prompt = begin + prompt + &end;
        match self.spoken.last_mut().filter(|last| last.role == *api_role) {
            Some(last) => last.prompt = format!("{}\n{prompt}", last.prompt),
            None => self.spoken.push(Turn { role: api_role.clone(), prompt }),
        }
        Ok(())
    }
}

/// An affix as text, which an id is not.
fn plain(affix: &Affix) -> Result<String> {
    affix
        .0
        .iter()
        .map(|item| match item {
            AffixItem::Text(text) | AffixItem::Token(text) => Ok(text.as_str()),
            AffixItem::Id(id) => Err(ErrorKind::Template(format!(
                "the token id {id} has no text for an API; name the token, or leave it out for this model"
            ))
            .into()),
        })
        .collect()
}
