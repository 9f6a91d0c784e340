//! Conversation templates as meta templates, if a meta template can express them.

use crate::dialect::fastchat::layout::{Layout, Piece, When};
use crate::dialect::fastchat::style::SeparatorStyle;
use crate::dialect::fastchat::template::{ConversationTemplate, SystemPiece};
use crate::dialect::fastchat::write::serde_name;
use crate::dialect::{Model, StopConfig};
use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::template::{Affix, EmptyContent, MetaTemplate, RoleTemplate, RoundItem};

impl ConversationTemplate {
    /// The template as a model file, with a meta template that writes the same for every dialogue in which user and
    /// model alternate and have text, with or without its own system message. If the template has no place for one, so
    /// does the model.
    ///
    /// ```
    /// use metatok::dialect::ConversationTemplate;
    ///
    /// let model = ConversationTemplate::load("vicuna_v1.1")?.to_meta_template()?;
    /// let template = model.meta_template.expect("it has one");
    /// assert_eq!(template.round[1].role().unwrap().generation_prompt, Some("ASSISTANT:".into()));
    /// assert!(ConversationTemplate::load("llama-2")?.to_meta_template().is_err());
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Template`] if a meta template cannot express something, or if a separator is missing.
    pub fn to_meta_template(&self) -> Result<Model> {
        self.check_expressible().at(Place::file(&self.name))?;
        self.converted().at(Place::file(&self.name))
    }

    fn check_expressible(&self) -> Result<()> {
        let what = match self.sep_style {
            SeparatorStyle::Llama2 => "the first message is written without its label",
            SeparatorStyle::Chatglm => "rounds are numbered",
            SeparatorStyle::Rwkv => "line ends in contents are halved",
            SeparatorStyle::Llama3 => "white space around contents is left out",
            SeparatorStyle::Cllm => "only the last two messages are written",
            SeparatorStyle::Yuan2 => "characters are trimmed from the end of the whole",
            _ if !self.messages.is_empty() => return Err(inexpressible("it begins with messages of its own")),
            _ => return Ok(()),
        };
        Err(inexpressible(&format!("in the style {}, {what}", serde_name(self.sep_style))))
    }

    fn converted(&self) -> Result<Model> {
        let layout = Layout::new(self);
        let (system_text, system_role) = self.system_as_meta(&layout)?;
        let turn = |name: &str, place: usize| -> Result<RoleTemplate> {
            let before = of(&layout.before[place])? + &self.roles[place];
            let begin = before.clone() + &of(&layout.colon[place])?;
            let open = before + &of(&layout.open[place])?;
            let generate = place == 1;
            Ok(RoleTemplate {
                generation_prompt: (generate && open != begin).then(|| affix(open)),
                begin: affix(begin),
                end: affix(of(&layout.end[place])?),
                generate,
                ..role(name)
            })
        };
        let round = [turn("HUMAN", 0)?, turn("BOT", 1)?].map(Box::new).map(RoundItem::Role).to_vec();
        let begin = affix(layout.opening.clone() + &system_text);
        let template = MetaTemplate { begin, round, reserved_roles: vec![system_role], ..MetaTemplate::default() };
        Ok(Model {
            name: self.name.clone(),
            about: Some(format!("The conversation template {}", self.name)),
            meta_template: Some(template),
            stop: StopConfig {
                token_ids: self.stop_token_ids.clone().unwrap_or_default(),
                strings: self.stop_str.iter().map(str::to_owned).collect(),
            },
            ..Model::default()
        })
    }

    /// The text that is written in place of a system message, and the role of one.
    fn system_as_meta(&self, layout: &Layout<String>) -> Result<(String, RoleTemplate)> {
        let no_place = || role("SYSTEM").refuse("it has no place for a system message");
        let (system, message) = self.system.parts()?;
        let has_message = !message.is_empty();
        match system.iter().position(|piece| *piece == SystemPiece::Message) {
            _ if layout.system == When::Never => Ok((String::new(), no_place())),
            // A text that never changes.
            None => {
                let text = text_of(&system)?;
                let text = match layout.system.is_written(has_message, !text.is_empty()) {
                    true => text + &of(&layout.after_system)?,
                    false => String::new(),
                };
                Ok((text, no_place()))
            }
            Some(at) => {
                let (before, after) = (text_of(&system[..at])?, text_of(&system[at + 1..])?);
                let has_text_around = !(before.is_empty() && after.is_empty());
                let default_prompt = layout.system.is_written(has_message, has_text_around || has_message);
                // An empty message leaves the rest of the part, if that has text and counts.
                let empty = match layout.system.is_written(false, has_text_around) {
                    true => EmptyContent::Written,
                    false => EmptyContent::Silent,
                };
                let end = affix(after + &of(&layout.after_system)?);
                let role = role("SYSTEM").begin(affix(before)).end(end);
                let prompt = has_message.then(|| message.to_owned());
                Ok((String::new(), RoleTemplate { prompt, default_prompt, empty, ..role }))
            }
        }
    }
}

fn role(name: &str) -> RoleTemplate {
    RoleTemplate::new(name).api_role(name)
}

/// The text of pieces that have no place for a message.
fn text_of(pieces: &[SystemPiece<String>]) -> Result<String> {
    let text = |piece: &SystemPiece<String>| match piece {
        SystemPiece::Text(text) => Ok(text.clone()),
        SystemPiece::Message => Err(inexpressible("it contains the system message twice")),
    };
    pieces.iter().map(text).collect()
}

fn affix(text: String) -> Affix {
    if text.is_empty() { Affix::default() } else { text.as_str().into() }
}

fn of(piece: &Piece<String>) -> Result<String> {
    piece.clone().map_err(|missing| ErrorKind::Template(format!("the template has no {missing}")).into())
}

fn inexpressible(what: &str) -> Error {
    ErrorKind::Template(format!("a meta template cannot express this: {what}; use it as a conversation template"))
        .into()
}
