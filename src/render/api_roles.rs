//! The roles of a model behind an API, and the turns in which they speak a prompt list.

use serde::Deserialize;

use crate::conversation::{Item, Message, Mode, Section};
use crate::error::{At, Error, ErrorKind, Result};
use crate::render::api_prompt::ApiTurn;
use crate::render::api_turns::{Turned, Turns};
use crate::render::sections::{Flow, check_closed, close, outside_every_section, rounds};
use crate::template::{Affix, MetaTemplate, RoleTemplate, RoundItem};

/// The roles of an [`ApiTemplate`](crate::render::ApiTemplate), and the opening of every conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RolesFile")]
pub struct ApiRoles {
    pub(super) begin: Option<Opening>,
    pub(super) round: Vec<RoundItem>,
    pub(super) reserved_roles: Vec<RoleTemplate>,
    /// Whether a turn without content is an error, as in AISBench, or empty, as in OpenCompass. A role's own `prompt` is
    /// its content, even an empty one.
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

/// A message with the role of the round that speaks it.
#[derive(Clone, Copy)]
struct Said<'a> {
    role: &'a RoleTemplate,
    position: usize,
    message: &'a Message,
}

impl ApiRoles {
    pub(super) fn turns(&self, items: &[Item], mode: Mode) -> Result<Turned> {
        let opening = match &self.begin {
            Some(Opening::ApiTurn(turn)) => vec![turn.clone()],
            Some(Opening::Text(text)) if !text.is_empty() => {
                let what = "a text has no place in the turns of an API; write {role, prompt}, or remove it";
                return Err(Error::from(ErrorKind::Template(what.into())).at("meta_template.begin"));
            }
            _ => Vec::new(),
        };
        let mut turns = Turns::new(opening, self.needs_prompts, self.compat);
        let mut flow = Flow::Continue;
        let mut open: Vec<(Section, usize)> = Vec::new();
        let mut said = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let place = format_args!("item {i}");
            match (item, open.last().map(|(section, _)| *section)) {
                // An API has no place for text without a role. `strings_left_out` counts it.
                (Item::Text(_), _) => {}
                (Item::Marker(marker), _) => {
                    let closed = close(marker, items, &mut open, i).at(place)?;
                    let Some(section @ (Section::Round | Section::Ice)) = closed else { continue };
                    flow = self.rounds(&said, section, mode, &mut turns).at(place)?;
                    if flow == Flow::Cut {
                        break;
                    }
                    said.clear();
                }
                (Item::Message(message), Some(Section::Begin | Section::End)) => {
                    let role = self.outside_rounds(message).at(place)?;
                    if mode == Mode::Generate && generates(role, Some(message)) {
                        let what =
                            format!("role {:?} is the model's own, which cannot speak outside rounds", role.role);
                        return Err(Error::from(ErrorKind::Sections(what)).at(place));
                    }
                    turns.speak(role, Some(message)).at(place)?;
                }
                (Item::Message(message), Some(_)) => said.push(self.in_round(message).at(place)?),
                (Item::Message(message), None) => {
                    return Err(Error::from(outside_every_section(&message.role)).at(place));
                }
            }
        }
        if flow == Flow::Continue {
            check_closed(&open)?;
        }
        if turns.spoken.is_empty() {
            let what = "nothing in this conversation is left for the model to answer";
            return Err(ErrorKind::Sections(what.into()).into());
        }
        Ok(turns.finish())
    }

    pub(super) fn named(&self, name: &str) -> Option<&RoleTemplate> {
        let round = self.round.iter().filter_map(RoundItem::role);
        round.chain(&self.reserved_roles).find(|role| role.role == name)
    }

    fn placed(&self, name: &str) -> Option<(usize, &RoleTemplate)> {
        self.round
            .iter()
            .enumerate()
            .find_map(|(i, item)| Some((i, item.role()?)).filter(|(_, role)| role.role == name))
    }

    fn outside_rounds(&self, message: &Message) -> Result<&RoleTemplate> {
        let fallback = || message.fallback_role.as_deref().and_then(|role| self.named(role));
        self.named(&message.role).or_else(fallback).ok_or_else(|| self.unknown(message))
    }

    /// A message of a round speaks with its own role or its fallback role, whichever the round has.
    fn in_round<'a>(&'a self, message: &'a Message) -> Result<Said<'a>> {
        let fallback = || message.fallback_role.as_deref().and_then(|role| self.placed(role));
        let (position, role) =
            self.placed(&message.role).or_else(fallback).ok_or_else(|| self.not_in_round(message))?;
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

    /// The error for a message that no role of the round speaks.
    fn not_in_round(&self, message: &Message) -> Error {
        // A role that could not speak anywhere.
        if self.outside_rounds(message).is_err() {
            return self.unknown(message);
        }
        let round = self.round.iter().filter_map(RoundItem::role);
        ErrorKind::RoleOutsideRound {
            role: message.role.to_string(),
            known: round.map(|role| role.role.clone()).collect(),
            // A fallback role counts in rounds anyway.
            has_fallback: false,
        }
        .into()
    }

    fn rounds(&self, said: &[Said<'_>], section: Section, mode: Mode, turns: &mut Turns) -> Result<Flow> {
        let is_open = section == Section::Round && mode == Mode::Generate;
        for (round, is_last) in rounds(said, |said| said.position) {
            if self.round(round, is_open && is_last, turns)? == Flow::Cut {
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
pub(super) fn turn_of(item: &RoundItem, index: usize) -> Result<&RoleTemplate> {
    item.role().ok_or_else(|| {
        let what = "a string between roles has no place in the turns of an API";
        Error::from(ErrorKind::Template(what.into())).at(format_args!("meta_template.round[{index}]"))
    })
}

fn generates(role: &RoleTemplate, message: Option<&Message>) -> bool {
    message.and_then(|message| message.generate).unwrap_or(role.generate)
}
