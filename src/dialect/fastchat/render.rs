//! Writing conversations by a conversation template: FastChat's `get_prompt`, as segments.

use crate::compile::{Atom, Compiler};
use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::dialect::fastchat::filter;
use crate::dialect::fastchat::style::{First, Labels, Layout, Piece, SeparatorStyle, When};
use crate::dialect::fastchat::template::{ConversationTemplate, System, SystemPiece, pieces};
use crate::error::{At, Error, ErrorKind, Result};
use crate::render::{Element, Part, Renderer, Segment};
use crate::stop::{StopCriteria, StopSource};
use crate::tokenizer::{TokenId, Tokenizer};

type Atoms = Box<[Atom]>;

/// A conversation template whose control tokens are ids.
///
/// `user` and `assistant` speak by the template's labels, and a first message `system` replaces its system
/// message. In [`Mode::Generate`] the conversation ends with the model's open turn; in [`Mode::Score`] all
/// messages are written as they are.
pub struct ConversationRenderer {
    style: SeparatorStyle,
    layout: Layout<Atoms>,
    system: Vec<SystemPiece<Atoms>>,
    system_message: Atoms,
    /// Whether the template's own message is empty, and the text around any.
    is_empty: (bool, bool),
    roles: [Atoms; 2],
    labels: [String; 2],
    preset: Vec<Preset>,
    empty_is_open: bool,
    /// Whether a message of another role is written with its role for a label, as the references do.
    pub literal_labels: bool,
    stop: StopCriteria,
    used: Vec<TokenId>,
    has_open_seams: bool,
    /// The strings of the tokens that may stand at the end of what [`Layout::finish`] trims.
    token_texts: Vec<(TokenId, String)>,
}

/// A message of the template's own.
struct Preset {
    label: Atoms,
    content: Option<Atoms>,
}

/// A message to write.
#[derive(Clone, Copy)]
struct Turn<'a> {
    label: Label<'a>,
    content: Content<'a>,
    images: usize,
    message: Option<usize>,
}

#[derive(Clone, Copy)]
enum Label<'a> {
    Role(usize),
    Literal(&'a str),
    Preset(&'a [Atom]),
}

#[derive(Clone, Copy)]
enum Content<'a> {
    Open,
    Text(&'a str),
    Preset(&'a [Atom]),
}

/// As what the roles are named in spans.
const NAMES: [&str; 3] = ["user", "assistant", "system"];
const SYSTEM: u32 = 2;

impl ConversationRenderer {
    /// Brings a template and a tokenizer together.
    ///
    /// # Errors
    /// Names a stop id outside the vocabulary, and a system template that is no format string.
    pub fn new(template: &ConversationTemplate, tokenizer: &Tokenizer) -> Result<Self> {
        let mut compiler = Compiler::new(tokenizer);
        let renderer = Self::compile(template, |text| compiler.text(text))?;
        let text = |id: &TokenId| (*id, tokenizer.id_to_token(*id).unwrap_or_default());
        let has_finish = renderer.layout.finish.is_some();
        Ok(Self {
            token_texts: if has_finish { compiler.used.iter().map(text).collect() } else { Vec::new() },
            stop: stop(template, tokenizer)?,
            has_open_seams: compiler.open_seams,
            used: compiler.used.into_iter().collect(),
            ..renderer
        })
    }

    /// Of text alone: no control token is found, and there are no stop ids.
    pub(super) fn of_text(template: &ConversationTemplate) -> Result<Self> {
        let atoms = |text: &str| match text {
            "" => Box::default(),
            text => Box::from([Atom::Text(text.into())]),
        };
        Self::compile(template, |text| Ok(atoms(text)))
    }

    fn compile(template: &ConversationTemplate, mut compiled: impl FnMut(&str) -> Result<Atoms>) -> Result<Self> {
        let layout = Layout::new(template).try_map(|text| compiled(&text))?;
        let (system, own) = match &template.system {
            System::Whole { system } => (vec![SystemPiece::Message], system),
            System::Template { system_template, system_message } => (pieces(system_template)?, system_message),
        };
        let around_is_empty = !system.iter().any(|piece| matches!(piece, SystemPiece::Text(_)));
        let piece = |piece: SystemPiece<String>| {
            Ok(match piece {
                SystemPiece::Text(text) => SystemPiece::Text(compiled(&text)?),
                SystemPiece::Message => SystemPiece::Message,
            })
        };
        let system = system.into_iter().map(piece).collect::<Result<Vec<SystemPiece<Atoms>>>>()?;
        let label = |role: usize| template.roles.get(role).cloned().unwrap_or_default();
        let labels = [label(0), label(1)];
        let mut preset = Vec::with_capacity(template.messages.len());
        for (label, content) in &template.messages {
            let content = content.as_deref().filter(|content| !(content.is_empty() && template.empty_is_open));
            let filtered = content.map(|content| filter::pieces(content, layout.filter).collect::<String>());
            preset.push(Preset {
                label: compiled(label)?,
                content: filtered.map(|content| compiled(&content)).transpose()?,
            });
        }
        Ok(Self {
            style: template.sep_style,
            layout,
            system,
            system_message: compiled(own)?,
            is_empty: (own.is_empty(), around_is_empty),
            roles: [compiled(&labels[0])?, compiled(&labels[1])?],
            labels,
            preset,
            empty_is_open: template.empty_is_open,
            literal_labels: false,
            stop: StopCriteria::default(),
            used: Vec::new(),
            has_open_seams: false,
            token_texts: Vec::new(),
        })
    }

    /// Whether a system message comes into any prompt.
    fn writes_system(&self) -> bool {
        let is_written = self.layout.system != When::Never || self.layout.first == First::AfterSystem;
        is_written && self.system.contains(&SystemPiece::Message)
    }

    /// The turn of a message.
    fn turn<'a>(&self, message: &'a ChatMessage, index: usize) -> Result<Turn<'a>> {
        let label = match message.role.as_str() {
            "user" => Label::Role(0),
            "assistant" => Label::Role(1),
            other => match self.labels.iter().position(|label| label == other) {
                Some(role) => Label::Role(role),
                None if self.literal_labels => Label::Literal(other),
                None if other == "system" => {
                    return Err(ErrorKind::Template("a system message must be the first of all".into()).into());
                }
                None => {
                    let known = ["user", "assistant", "system"].map(str::to_owned).to_vec();
                    return Err(ErrorKind::UnknownRole { role: other.into(), fallback: None, known }.into());
                }
            },
        };
        if message.images > 0 && self.layout.image.is_none() {
            message.without_images()?;
        }
        let is_open = message.content.is_empty() && message.images == 0 && self.empty_is_open;
        let content = if is_open { Content::Open } else { Content::Text(&message.content) };
        Ok(Turn { label, content, images: message.images, message: Some(index) })
    }

    /// All that is to be written, the template's own messages first.
    fn turns<'a>(&'a self, messages: &'a [ChatMessage], first: usize, mode: Mode) -> Result<Vec<Turn<'a>>> {
        let preset = self.preset.iter().map(|Preset { label, content }| Turn {
            label: Label::Preset(label),
            content: content.as_deref().map_or(Content::Open, Content::Preset),
            images: 0,
            message: None,
        });
        let mut turns: Vec<Turn<'a>> = preset.collect();
        turns.reserve(messages.len() + 1);
        for (i, message) in messages.iter().enumerate() {
            turns.push(self.turn(message, first + i).at(format_args!("message {}", first + i))?);
        }
        if mode == Mode::Generate {
            let is_models = |turn: &Turn<'_>| turn.message.is_some() && matches!(turn.label, Label::Role(1));
            let own = turns.pop_if(|turn| is_models(turn)).and_then(|turn| turn.message);
            turns.push(Turn { label: Label::Role(1), content: Content::Open, images: 0, message: own });
        }
        let written = self.layout.window.unwrap_or(usize::MAX).min(turns.len());
        Ok(turns.split_off(turns.len() - written))
    }
}

impl Renderer for ConversationRenderer {
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Vec<Segment<'a>>) -> Result<()> {
        let messages = match conversation {
            Conversation::Text(text) => {
                segments.push(Segment { atom: Atom::Text(text), part: Part { message: Some(0), ..Part::default() } });
                return Ok(());
            }
            Conversation::Messages(messages) => messages.as_slice(),
            Conversation::List(items) if items.is_empty() => &[],
            Conversation::List(_) => {
                let what = "a conversation template takes {role, content} messages, and this is a prompt list";
                return Err(ErrorKind::Template(what.into()).into());
            }
        };
        let (system, messages) = match messages {
            [first, rest @ ..] if first.role == "system" && !self.literal_labels => {
                first.without_images().at("message 0")?;
                (Some(first.content.as_str()), rest)
            }
            all => (None, all),
        };
        if system.is_some_and(|system| !system.is_empty()) && !self.writes_system() {
            let what = "the template has no place for a system message; say it in the first message of the user";
            return Err(Error::from(ErrorKind::Template(what.into()))).at("message 0");
        }
        let turns = self.turns(messages, usize::from(system.is_some()), mode)?;
        let mut writer = Writer { renderer: self, segments, system };
        writer.opening()?;
        for (i, turn) in turns.into_iter().enumerate() {
            let is_prompt_end = mode == Mode::Generate && matches!(turn.content, Content::Open);
            writer.turn(turn, i, is_prompt_end)?;
        }
        writer.finish()
    }

    fn role_names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }

    fn stop(&self) -> StopCriteria {
        self.stop.clone()
    }

    fn used_tokens(&self) -> Vec<TokenId> {
        self.used.clone()
    }

    fn has_open_seams(&self) -> bool {
        self.has_open_seams
    }
}

struct Writer<'a, 's> {
    renderer: &'a ConversationRenderer,
    segments: &'s mut Vec<Segment<'a>>,
    /// The system message of the conversation.
    system: Option<&'a str>,
}

impl<'a> Writer<'a, '_> {
    fn opening(&mut self) -> Result<()> {
        let layout = &self.renderer.layout;
        let part = Part { element: Element::Begin, ..Part::default() };
        self.atoms(&layout.opening, part);
        let (own_is_empty, around_is_empty) = self.renderer.is_empty;
        let message_is_empty = self.system.map_or(own_is_empty, str::is_empty);
        let has_message = self.renderer.system.contains(&SystemPiece::Message);
        let is_written = match layout.system {
            When::Always => true,
            When::IfText => !around_is_empty || (has_message && !message_is_empty),
            When::IfMessage => !message_is_empty,
            When::Never => false,
        };
        if is_written {
            self.system();
            self.piece(&layout.after_system, Part { element: Element::Separator, ..Part::default() })?;
        } else {
            self.atoms(&layout.without_system, part);
        }
        Ok(())
    }

    fn system(&mut self) {
        let renderer = self.renderer;
        let part = Part { role: Some(SYSTEM), ..Part::default() };
        for piece in &renderer.system {
            match (piece, self.system) {
                (SystemPiece::Text(text), _) => self.atoms(text, Part { element: Element::RoleBegin, ..part }),
                (SystemPiece::Message, Some(text)) => self.text(text, Part { message: Some(0), ..part }),
                (SystemPiece::Message, None) => {
                    self.atoms(&renderer.system_message, Part { element: Element::DefaultPrompt, ..part });
                }
            }
        }
    }

    fn turn(&mut self, turn: Turn<'a>, index: usize, is_prompt_end: bool) -> Result<()> {
        let renderer = self.renderer;
        let layout = &renderer.layout;
        let place = index % 2;
        let role = match turn.label {
            Label::Role(role) => Some(role as u32),
            Label::Literal(_) | Label::Preset(_) => None,
        };
        let part = Part { role, message: turn.message.map(|message| message as u32), ..Part::default() };
        let is_open = matches!(turn.content, Content::Open);
        let element = if is_prompt_end { Element::GenerationPrompt } else { Element::RoleBegin };
        let header = Part { element, ..part };
        let is_bare = index == 0 && !is_open && layout.first != First::Ordinary;
        if is_bare {
            if layout.first == First::AfterSystem {
                self.system();
            }
        } else {
            if let Some(first) = layout.first_round.filter(|_| place == 0) {
                self.round_number(first + index / 2, header);
            }
            self.piece(&layout.before[place], header)?;
            match (layout.label, turn.label) {
                (Labels::None, _) => {}
                (Labels::OfPlace, _) => self.atoms(&renderer.roles[place], header),
                (Labels::Own, Label::Role(role)) => self.atoms(&renderer.roles[role], header),
                (Labels::Own, Label::Preset(label)) => self.atoms(label, header),
                // Not the template's: it is data.
                (Labels::Own, Label::Literal(label)) => self.text(label, part),
            }
            self.piece(if is_open { &layout.open[place] } else { &layout.colon[place] }, header)?;
        }
        for _ in 0..turn.images {
            self.atoms(layout.image.as_deref().unwrap_or_default(), Part { element: Element::RoleBegin, ..part });
        }
        match turn.content {
            Content::Open => return Ok(()),
            Content::Text(text) => {
                for text in filter::pieces(text, layout.filter) {
                    self.text(text, part);
                }
            }
            Content::Preset(content) => self.atoms(content, Part { element: Element::DefaultPrompt, ..part }),
        }
        let end = Part { element: Element::RoleEnd, ..part };
        match &layout.first {
            First::Bare(after) if is_bare => self.atoms(after, end),
            First::AfterSystem if is_bare => {}
            _ => self.piece(&layout.end[place], end)?,
        }
        Ok(())
    }

    /// `[Round k`; the rest stands in the layout.
    fn round_number(&mut self, number: usize, part: Part) {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        self.text("[Round ", part);
        let mut power = 10_usize.pow(number.checked_ilog10().unwrap_or(0));
        while power > 0 {
            self.text(DIGITS[number / power % 10], part);
            power /= 10;
        }
    }

    /// Trims what the style trims, and writes what then stands at the end.
    fn finish(&mut self) -> Result<()> {
        let renderer = self.renderer;
        let Some(finish) = &renderer.layout.finish else { return Ok(()) };
        let trimmed = |text: &'a str| text.trim_end_matches(['<', 'n', '>']);
        while let Some(Segment { atom, .. }) = self.segments.last_mut() {
            let text = match *atom {
                Atom::Text(text) => text,
                Atom::Token(id) => {
                    let known = renderer.token_texts.iter().find(|(known, _)| *known == id);
                    known.map_or("", |(_, text)| text.as_str())
                }
            };
            match trimmed(text) {
                kept if kept.len() == text.len() && !text.is_empty() => break,
                "" => drop(self.segments.pop()),
                kept => {
                    *atom = Atom::Text(kept);
                    break;
                }
            }
        }
        self.piece(finish, Part { element: Element::End, ..Part::default() })
    }

    fn piece(&mut self, piece: &'a Piece<Atoms>, part: Part) -> Result<()> {
        match piece {
            Ok(atoms) => {
                self.atoms(atoms, part);
                Ok(())
            }
            Err(missing) => Err(Error::from(ErrorKind::Template(format!(
                "the style {:?} needs {missing} here, and the template has none",
                serde_name(self.renderer.style)
            )))),
        }
    }

    fn text(&mut self, text: &'a str, part: Part) {
        if !text.is_empty() {
            self.segments.push(Segment { atom: Atom::Text(text), part });
        }
    }

    fn atoms(&mut self, atoms: &'a [Atom], part: Part) {
        self.segments.extend(atoms.iter().map(|atom| Segment { atom: atom.borrowed(), part }));
    }
}

/// A style's name as files have it.
pub(super) fn serde_name(style: SeparatorStyle) -> String {
    serde_json::to_value(style).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn stop(template: &ConversationTemplate, tokenizer: &Tokenizer) -> Result<StopCriteria> {
    let mut stop = StopCriteria::default();
    for (i, &id) in template.stop_token_ids.iter().flat_map(|ids| &ids.0).enumerate() {
        let id = tokenizer.check_id(id.into()).at(format_args!("stop_token_ids[{i}]"))?;
        stop.add_id(id, StopSource::ConversationTemplate);
    }
    template.stop_str.iter().for_each(|string| stop.add_string(string));
    Ok(stop)
}
