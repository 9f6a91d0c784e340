//! The contents of a conversation, message by message, in whichever form.

use crate::conversation::{ChatMessage, ContentPart, ContentRef, Item, MediaKind, Message, TextPart, openai_role};
use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::tokenizer::TokenId;

/// A message for conversation templates: images, and then a text.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) role: &'a str,
    /// How many images there are: the first of the content's parts.
    pub(super) images: usize,
    pub(super) words: Words<'a>,
    /// Its position in the conversation.
    pub(super) index: usize,
    /// The role that speaks it if the template lacks its own, of a prompt list.
    pub(super) fallback: Option<&'a str>,
    /// Whether the conversation is a prompt list, so that it is one of the list's items.
    is_item: bool,
}

/// The words of a message.
#[derive(Clone, Copy)]
pub(super) enum Words<'a> {
    Text(&'a str),
    /// A model's answer, exactly as given.
    Ids(&'a [TokenId]),
}

impl<'a> Said<'a> {
    fn new(role: &'a str, said: Option<ContentRef<'a>>, index: usize, is_item: bool) -> Result<Self> {
        let text = |text| Ok(Self { role, images: 0, words: Words::Text(text), index, fallback: None, is_item });
        let parts = match said {
            None => return text(""),
            Some(ContentRef::Text(said)) => return text(said),
            Some(ContentRef::Parts(parts)) => parts,
        };
        let is_image = |part: &&ContentPart| part.as_media().is_some_and(|media| media.kind == MediaKind::Image);
        let images = parts.iter().take_while(is_image).count();
        let words = match &parts[images..] {
            [] => Words::Text(""),
            [ContentPart::Text(TextPart { text, .. })] => Words::Text(text),
            [ContentPart::Ids(ids)] => Words::Ids(ids),
            _ => {
                let what = "a conversation template needs images first and then one text; put them in this order";
                return Err(ErrorKind::Conversation(what.into()).into());
            }
        };
        Ok(Self { role, images, words, index, fallback: None, is_item })
    }

    /// Where it is, for errors.
    pub(super) fn place(&self) -> Place {
        if self.is_item { Place::Item(self.index) } else { Place::Message(self.index) }
    }

    /// Whether there is neither text nor an image.
    pub(super) fn is_nothing(&self) -> bool {
        self.images == 0 && matches!(self.words, Words::Text("") | Words::Ids([]))
    }

    /// Rejects images if the template has no place for them.
    pub(super) fn without_images(&self) -> Result<()> {
        let what = match self.images {
            0 => return Ok(()),
            1 => "the template has no place for its image".to_owned(),
            more => format!("the template has no place for its {more} images"),
        };
        Err(ErrorKind::Conversation(what).into())
    }
}

pub(super) fn messages(messages: &[ChatMessage]) -> Result<Vec<Said<'_>>> {
    let mut said = Vec::with_capacity(messages.len());
    for (index, ChatMessage { role, content, .. }) in messages.iter().enumerate() {
        said.push(Said::new(role, Some(content.content_ref()), index, false).at(Place::Message(index))?);
    }
    Ok(said)
}

/// The messages of a prompt list: HUMAN, BOT and SYSTEM are user, assistant and system. A message whose role the template
/// lacks, or a system message that is not the first, uses its fallback role.
pub(super) fn items(items: &[Item], has_role: impl Fn(&str) -> bool) -> Result<Vec<Said<'_>>> {
    let mut said: Vec<Said<'_>> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Marker(_) => {}
            Item::Text(text) if text.is_empty() => {}
            Item::Text(_) => {
                let what = "a string without a role has no place in a conversation template; give it a role";
                return Err(Error::from(ErrorKind::Conversation(what.into())).at(Place::Item(index)));
            }
            Item::Message(message) => {
                said.push(of(message, index, said.is_empty(), &has_role).at(Place::Item(index))?);
            }
        }
    }
    Ok(said)
}

fn of<'m>(message: &'m Message, index: usize, is_first: bool, has_role: &impl Fn(&str) -> bool) -> Result<Said<'m>> {
    if message.begin.is_some() || message.end.is_some() || message.generate.is_some() {
        let what = "begin, end and generate of a message belong to meta templates; remove them";
        return Err(ErrorKind::Conversation(what.into()).into());
    }
    let own = openai_role(&message.role).unwrap_or(&message.role);
    let fallback = message.fallback_role.as_deref().map(|role| openai_role(role).unwrap_or(role));
    let said = Said { fallback, ..Said::new(own, message.prompt.content_ref(), index, true)? };
    // An empty system message needs no place.
    let has_place = (is_first || own != "system") && (has_role(own) || own == "system" && said.is_nothing());
    let role = if has_place { own } else { fallback.filter(|role| has_role(role)).unwrap_or(own) };
    Ok(Said { role, ..said })
}
