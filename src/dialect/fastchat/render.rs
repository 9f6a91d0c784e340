//! Rendering conversations with a conversation template: FastChat's `get_prompt`, as segments.

use crate::compile::{Atom, Compiler};
use crate::conversation::{Conversation, Mode};
use crate::dialect::fastchat::compiled::{Atoms, CompiledConversation};
use crate::dialect::fastchat::filter;
use crate::dialect::fastchat::layout::{First, Layout, When};
use crate::dialect::fastchat::said::{self, Said, Words};
use crate::dialect::fastchat::template::{ConversationTemplate, SystemPiece};
use crate::dialect::fastchat::write::{Content, Label, Turn, Writer};
use crate::error::{At, ErrorKind, Fault, OfFile, Result};
use crate::render::{Renderer, Segments, TemplateCut};
use crate::stop::{StopCriteria, StopSource};
use crate::tokenizer::{TokenId, Tokenizer};

/// A conversation template whose control tokens have become ids.
///
/// `user` and `assistant` speak with the template's labels, and a first message `system` replaces its system message.
/// In [`Mode::Generate`] the conversation ends with the model's open turn; in [`Mode::Score`] all messages are written
/// unchanged.
#[derive(Debug)]
pub struct ConversationRenderer {
    compiled: CompiledConversation,
    labels: [String; 2],
    preset: Vec<Preset>,
    empty_is_open: bool,
    /// Whether a message with another role is written with its role as label, as in the references.
    pub literal_labels: bool,
    stop: StopCriteria,
    used: Vec<TokenId>,
    template_cut: TemplateCut,
}

/// A message of the template itself.
#[derive(Debug)]
struct Preset {
    label: Atoms,
    content: Option<Atoms>,
}

/// The names of the roles in spans.
const NAMES: [&str; 3] = ["user", "assistant", "system"];

impl ConversationRenderer {
    /// Brings a template and a tokenizer together.
    ///
    /// # Errors
    /// Names a stop id outside the vocabulary, and a system template that is not a format string.
    pub fn new(template: &ConversationTemplate, tokenizer: &Tokenizer) -> Result<Self> {
        let mut compiler = Compiler::new(tokenizer);
        let mut renderer = Self::compile(template, |text| compiler.text(text))?;
        if renderer.compiled.layout.finish.is_some() {
            let text = |id: &TokenId| (*id, tokenizer.id_to_token(*id).unwrap_or_default());
            renderer.compiled.token_texts = compiler.used.iter().map(text).collect();
        }
        Ok(Self {
            stop: stop(template, tokenizer)?,
            template_cut: TemplateCut::compiled(compiler.open_seams),
            used: compiler.used.into_iter().collect(),
            ..renderer
        })
    }

    /// For text only: no control token is found, and there are no stop ids.
    pub(super) fn of_text(template: &ConversationTemplate) -> Result<Self> {
        let atoms = |text: &str| match text {
            "" => Box::default(),
            text => Box::from([Atom::Text(text.into())]),
        };
        Self::compile(template, |text| Ok(atoms(text)))
    }

    fn compile(template: &ConversationTemplate, mut compiled: impl FnMut(&str) -> Result<Atoms>) -> Result<Self> {
        let layout = Layout::new(template).try_map(|text| compiled(&text))?;
        let (system, own) = template.system.parts()?;
        let has_text_around = system.iter().any(|piece| matches!(piece, SystemPiece::Text(_)));
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
        let compiled = CompiledConversation {
            style: template.sep_style,
            layout,
            system,
            system_message: compiled(own)?,
            has_system_message: !own.is_empty(),
            has_text_around,
            roles: [compiled(&labels[0])?, compiled(&labels[1])?],
            token_texts: Vec::new(),
        };
        Ok(Self {
            compiled,
            labels,
            preset,
            empty_is_open: template.empty_is_open,
            literal_labels: false,
            stop: StopCriteria::default(),
            used: Vec::new(),
            template_cut: TemplateCut::Cut,
        })
    }

    /// Whether a system message is written in any prompt.
    fn writes_system(&self) -> bool {
        let is_written = self.compiled.layout.system != When::Never || self.compiled.layout.first == First::AfterSystem;
        is_written && self.compiled.system.contains(&SystemPiece::Message)
    }

    /// Whether some message of this role can be written.
    fn has_role(&self, role: &str) -> bool {
        match role {
            "user" | "assistant" => true,
            "system" => self.writes_system() || self.literal_labels,
            other => self.literal_labels || self.labels.iter().any(|label| label == other),
        }
    }

    /// The content of a system message, which must be text, and its position.
    fn system_text<'a>(&self, said: &Said<'a>) -> Result<(&'a str, usize)> {
        said.without_images()?;
        let what = match said.words {
            Words::Text(text) if text.is_empty() || self.writes_system() => return Ok((text, said.index)),
            Words::Text(_) => "the template has no place for a system message; put it in the first user message",
            Words::Ids(_) => "a system message must be text, not token ids",
        };
        Err(ErrorKind::Conversation(what.into()).into())
    }

    /// The turn of a message.
    fn turn<'a>(&self, said: Said<'a>) -> Result<Turn<'a>> {
        let label = match said.role {
            "user" => Label::Role(0),
            "assistant" => Label::Role(1),
            other => match self.labels.iter().position(|label| label == other) {
                Some(role) => Label::Role(role),
                None if self.literal_labels => Label::Literal(other),
                None if other == "system" => {
                    return Err(ErrorKind::Conversation("a system message must be the first message".into()).into());
                }
                None => {
                    let known = ["user", "assistant", "system"].map(str::to_owned).to_vec();
                    let fallback = said.fallback.map(str::to_owned);
                    return Err(ErrorKind::UnknownRole { role: other.into(), fallback, known }.into());
                }
            },
        };
        if self.compiled.layout.image.is_none() {
            said.without_images()?;
        }
        let content = match said.words {
            _ if said.is_nothing() && self.empty_is_open => Content::Open,
            Words::Text(text) => Content::Text(text),
            Words::Ids(ids) => Content::Ids(ids),
        };
        Ok(Turn { label, content, images: said.images, message: Some(said.index) })
    }

    /// Everything to be written, the template's own messages first.
    fn turns<'a>(&'a self, said: &[Said<'a>], mode: Mode) -> Result<Vec<Turn<'a>>> {
        let preset = self.preset.iter().map(|Preset { label, content }| Turn {
            label: Label::Preset(label),
            content: content.as_deref().map_or(Content::Open, Content::Preset),
            images: 0,
            message: None,
        });
        let mut turns: Vec<Turn<'a>> = preset.collect();
        turns.reserve(said.len() + 1);
        for &said in said {
            turns.push(self.turn(said).at(said.place())?);
        }
        if mode == Mode::Generate {
            let is_models = |turn: &Turn<'_>| turn.message.is_some() && matches!(turn.label, Label::Role(1));
            let own = turns.pop_if(|turn| is_models(turn)).and_then(|turn| turn.message);
            turns.push(Turn { label: Label::Role(1), content: Content::Open, images: 0, message: own });
        }
        let written = self.compiled.layout.window.unwrap_or(usize::MAX).min(turns.len());
        Ok(turns.split_off(turns.len() - written))
    }
}

impl Renderer for ConversationRenderer {
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
        let said = match conversation {
            Conversation::Text(text) => {
                segments.content(text, 0);
                return Ok(());
            }
            Conversation::Messages(messages) => said::messages(messages)?,
            Conversation::Chat(_) => return Err(conversation.would_be_lost()),
            Conversation::List(items) => said::items(items, |role| self.has_role(role))?,
        };
        let (system, said) = match &said[..] {
            [first, rest @ ..] if first.role == "system" && !self.literal_labels => {
                (Some(self.system_text(first).at(first.place())?), rest)
            }
            all => (None, all),
        };
        let turns = self.turns(said, mode)?;
        let mut writer = Writer { template: &self.compiled, segments, system };
        writer.opening()?;
        let last = turns.len().saturating_sub(1);
        for (i, turn) in turns.into_iter().enumerate() {
            writer.turn(turn, i, mode == Mode::Generate && i == last)?;
        }
        writer.finish()
    }

    fn omits_final_answer(&self) -> bool {
        true
    }

    fn role_names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }

    fn speaks_for_model(&self, role: &str) -> bool {
        role == "assistant" || self.labels[1] == role
    }

    fn stop(&self) -> StopCriteria {
        self.stop.clone()
    }

    fn used_tokens(&self) -> Vec<TokenId> {
        self.used.clone()
    }

    fn template_cut(&self) -> TemplateCut {
        self.template_cut
    }
}

fn stop(template: &ConversationTemplate, tokenizer: &Tokenizer) -> Result<StopCriteria> {
    let mut stop = StopCriteria::default();
    for (i, &id) in template.stop_token_ids.iter().flat_map(|ids| &ids.0).enumerate() {
        let id = tokenizer.check_id(id.into()).at(format_args!("stop_token_ids[{i}]")).of_file(Fault::Model)?;
        stop.add_id(id, StopSource::ConversationTemplate);
    }
    template.stop_str.iter().for_each(|string| stop.add_string(string));
    Ok(stop)
}
