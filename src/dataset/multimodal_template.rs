//! Templates of texts with images, audio and video: AISBench's `MMPromptTemplate`.

use crate::conversation::{ContentPart, Conversation, Item, Prompt, map_texts};
use crate::dataset::content_tags::{Fragment, FragmentKind};
use crate::dataset::dialogue::{Dialogue, SECTIONS};
use crate::dataset::fields::{self, TemplateField, TemplateText};
use crate::dataset::fill::{Filler, MAX_ROW_BYTES, Room, Substitution};
use crate::dataset::prompt_list::fill_items;
use crate::dataset::row::{Fields, Row};
use crate::dataset::row_error;
use crate::dataset::template_error;
use crate::dataset::value::Value;
use crate::error::{At, Error, Place, Result};

/// A dialogue of which messages have, in the place of a `prompt`, a `prompt_mm`: a pattern for each kind of
/// fragment. The row's fragments are written by these patterns in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct MultimodalTemplate {
    dialogue: Dialogue,
    /// For each message of the dialogue, in its order, the patterns that it has.
    patterns: Vec<Option<Patterns>>,
    /// The column of the fragments.
    pub content: String,
    /// Whether every column is filled in, also in prompts without fragments. AISBench fills `{question}` of a
    /// text, and `{image}`, `{video}` and `{audio}` of a URL, with the fragment, and no column anywhere.
    pub all_columns: bool,
    /// Whether a fragment that is a URL already takes the place of the pattern's whole URL. AISBench writes
    /// it into the pattern, and so `file://` twice.
    pub keep_urls: bool,
    /// How many bytes the texts of a prompt may have once they are filled.
    pub max_row_bytes: usize,
}

/// What a message makes of each kind of fragment.
#[derive(Debug, Clone, PartialEq)]
struct Patterns {
    by_kind: Vec<(FragmentKind, std::result::Result<ContentPart, String>)>,
    /// Keys that name no kind.
    unknown: Vec<String>,
    /// Whether the message has a `prompt` too, which hides the parts in AISBench.
    has_prompt: bool,
}

const PROMPT_MM: &str = "prompt_mm";

impl MultimodalTemplate {
    /// A dialogue: begin, round, end.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] for anything else. What is wrong with a pattern is said by [`Self::check`],
    /// and where a row needs it.
    pub fn new(template: &Value) -> Result<Self> {
        let Value::Dict(entries) = template else { return Err(no_dialogue()) };
        if !Dialogue::is_one(entries) {
            return Err(no_dialogue());
        }
        let (mut patterns, mut sections) = (Vec::new(), Vec::new());
        for name in SECTIONS {
            if let Some(items) = template.get(name) {
                sections.push((Value::from(name), without_patterns(items, &mut patterns)));
            }
        }
        let dialogue = Dialogue::new(&Value::Dict(sections))?;
        dialogue.required_round()?;
        Ok(Self {
            dialogue,
            patterns,
            content: "content".into(),
            all_columns: false,
            keep_urls: false,
            max_row_bytes: MAX_ROW_BYTES,
        })
    }

    /// What of the template would be lost or fail on some row.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] names a pattern that is no content part, a key that is no kind, and a message
    /// with both `prompt` and `prompt_mm`.
    pub fn check(&self) -> Result<()> {
        for patterns in self.patterns.iter().flatten() {
            if patterns.has_prompt {
                return Err(template_error(
                    "a message has both prompt and prompt_mm, of which the latter would be lost; leave one out",
                ));
            }
            if let Some(unknown) = patterns.unknown.first() {
                return Err(template_error(&format!("prompt_mm.{unknown}: the keys are text, image, video and audio")));
            }
            for (kind, pattern) in &patterns.by_kind {
                if let Err(what) = pattern {
                    return Err(template_error(&format!("prompt_mm.{}: {what}", kind.name())));
                }
            }
        }
        Ok(())
    }

    /// The fields that are filled with columns.
    pub fn fields(&self) -> Vec<TemplateField> {
        let mut found = self.fields_of(|item| matches!(item, Item::Text(_)));
        if self.all_columns {
            found.extend(self.columns());
        }
        found
    }

    /// The fields that stay as they are, though they look like columns.
    pub fn unfilled(&self) -> Vec<TemplateField> {
        if self.all_columns { Vec::new() } else { self.columns() }
    }

    /// The fields of messages, but for those that fragments fill.
    fn columns(&self) -> Vec<TemplateField> {
        let mut found = self.fields_of(|item| matches!(item, Item::Message(_)));
        for (kind, pattern) in self.patterns.iter().flatten().flat_map(|patterns| &patterns.by_kind) {
            let place = format!("{PROMPT_MM}.{}", kind.name());
            match pattern {
                Ok(ContentPart::Text(pattern)) => fields::of_text(&pattern.text, &place, &mut found),
                Ok(ContentPart::Media(pattern)) => fields::of_text(&pattern.source, &place, &mut found),
                Ok(ContentPart::Ids(_)) | Err(_) => {}
            }
            let place = Place::Key(place);
            found.retain(|field| field.place != place || field.column != field_of(*kind));
        }
        found
    }

    /// The texts of the dialogue and of its patterns.
    pub(crate) fn texts(&self) -> Vec<TemplateText> {
        let patterns = self.patterns.iter().flatten().flat_map(|patterns| &patterns.by_kind);
        let text = |(kind, pattern): &(FragmentKind, std::result::Result<ContentPart, String>)| {
            let place = format!("{PROMPT_MM}.{}", kind.name());
            match pattern {
                Ok(ContentPart::Text(pattern)) => Some(TemplateText::new(place, &pattern.text)),
                Ok(ContentPart::Media(pattern)) => Some(TemplateText::new(place, &pattern.source)),
                Ok(ContentPart::Ids(_)) | Err(_) => None,
            }
        };
        self.dialogue.texts("template").into_iter().chain(patterns.filter_map(text)).collect()
    }

    fn fields_of(&self, is_meant: impl Fn(&Item) -> bool) -> Vec<TemplateField> {
        let blank = |item: &Item| if is_meant(item) { item.clone() } else { Item::Text(String::new()) };
        let meant = |items: &Option<Vec<Item>>| items.as_ref().map(|items| items.iter().map(blank).collect());
        let Dialogue { begin, round, end } = &self.dialogue;
        let meant = Dialogue { begin: meant(begin), round: meant(round), end: meant(end) };
        fields::of_texts(&meant.texts("template"))
    }

    /// The dialogue of a row; with `compat`, without what AISBench loses: text outside the tags, and the parts
    /// of a message that has a `prompt` too. Nothing is masked.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Row`] where the row has no content, or a fragment of a kind for which a message has no
    /// pattern, and [`crate::ErrorKind::RowTooLong`].
    pub fn prompt(&self, row: &Row, compat: bool) -> Result<Conversation> {
        let mut patterns = self.patterns.iter();
        let mut fragments: Option<Vec<Fragment>> = None;
        let room = Room::new(self.max_row_bytes);
        let filler = Filler { fields: Fields::new(row), how: Substitution::Sequential, room: &room };
        let mut filled = Vec::new();
        for item in self.dialogue.items()? {
            let Item::Message(mut message) = item else {
                filled.extend(fill_items(vec![item], &filler)?);
                continue;
            };
            match patterns.next().and_then(Option::as_ref) {
                Some(patterns) => {
                    let fragments = match &mut fragments {
                        Some(fragments) => fragments,
                        none => none.insert(self.fragments(row, compat)?),
                    };
                    let part = |fragment: &Fragment| self.part(patterns, fragment, row, &room);
                    let parts: Result<Vec<_>> = fragments.iter().map(part).collect();
                    let parts = parts.at(format_args!("role {:?}", message.role))?;
                    if !(compat && patterns.has_prompt) {
                        message.prompt = Prompt::Parts(parts);
                    }
                    filled.push(Item::Message(message));
                }
                _ if self.all_columns => {
                    filled.extend(fill_items(vec![Item::Message(message)], &filler)?);
                }
                _ => filled.push(Item::Message(message)),
            }
        }
        Ok(Conversation::List(filled))
    }

    fn fragments(&self, row: &Row, compat: bool) -> Result<Vec<Fragment>> {
        let value = row.get(&self.content).ok_or_else(|| row.no_column(&self.content))?;
        Fragment::of_column(value, compat).at(Place::column(&self.content))
    }

    fn part(&self, patterns: &Patterns, fragment: &Fragment, row: &Row, room: &Room) -> Result<ContentPart> {
        let Fragment { kind, payload } = fragment;
        let name = kind.name();
        let pattern = patterns.by_kind.iter().find(|(known, _)| known == kind).map(|(_, pattern)| pattern);
        let pattern = match pattern {
            Some(Ok(pattern)) => pattern.clone(),
            Some(Err(what)) => return Err(row_error(&format!("prompt_mm.{name}: {what}"))),
            None => {
                let what = format!(
                    "the row has {}, and prompt_mm no pattern for it; write {name} = {{ … }}",
                    kind.indefinite()
                );
                return Err(row_error(&what));
            }
        };
        if let (ContentPart::Media(media), true, true) = (&pattern, self.keep_urls, is_url(payload)) {
            room.take(payload.len())?;
            let mut media = media.clone();
            payload.clone_into(&mut media.source);
            return Ok(media.into());
        }
        let field = field_of(*kind);
        let own = Row::new(vec![(field.to_owned(), Value::Text(payload.clone()))]);
        let fields = if self.all_columns { Fields::masked(row, field, payload) } else { Fields::new(&own) };
        // In one pass: what a fragment brings in is never searched for fields.
        let filler = Filler { fields, how: Substitution::SinglePass, room };
        Ok(map_texts(vec![pattern], |text| filler.fill(text))?.remove(0))
    }
}

/// The items of a section without their patterns, which are taken down for each message.
fn without_patterns(items: &Value, patterns: &mut Vec<Option<Patterns>>) -> Value {
    let mut one = |item: &Value| {
        let Value::Dict(entries) = item else { return item.clone() };
        let is_pattern = |key: &Value| key.as_text() == Some(PROMPT_MM);
        let own = entries.iter().find(|(key, _)| is_pattern(key)).map(|(_, value)| Patterns::new(value, item));
        // A marker is no message.
        if item.get("section").is_none() {
            patterns.push(own);
        }
        Value::Dict(entries.iter().filter(|(key, _)| !is_pattern(key)).cloned().collect())
    };
    match items {
        Value::List(list) => Value::List(list.iter().map(one).collect()),
        single => one(single),
    }
}

impl Patterns {
    fn new(value: &Value, message: &Value) -> Self {
        let mut patterns =
            Self { by_kind: Vec::new(), unknown: Vec::new(), has_prompt: message.get("prompt").is_some() };
        let Value::Dict(entries) = value else { return patterns };
        for (key, pattern) in entries {
            let key = key.text();
            match FragmentKind::ALL.into_iter().find(|kind| kind.name() == key) {
                Some(kind) => patterns.by_kind.push((kind, pattern_of(kind, pattern))),
                None => patterns.unknown.push(key.into_owned()),
            }
        }
        patterns
    }
}

/// A content part of this kind.
fn pattern_of(kind: FragmentKind, pattern: &Value) -> std::result::Result<ContentPart, String> {
    let serde_json::Value::Object(entries) = pattern.to_json() else {
        return Err(format!("a content part {{ type = …, … }} is expected, not {}", pattern.repr()));
    };
    let part = ContentPart::from_json(entries)?;
    let is = match &part {
        ContentPart::Media(media) => FragmentKind::Media(media.kind),
        ContentPart::Text(_) | ContentPart::Ids(_) => FragmentKind::Text,
    };
    if is == kind {
        Ok(part)
    } else {
        Err(format!("the content part is {}, not {}", is.indefinite(), kind.indefinite()))
    }
}

/// The field of a pattern that its fragment fills.
fn field_of(kind: FragmentKind) -> &'static str {
    match kind {
        FragmentKind::Text => "question",
        FragmentKind::Media(kind) => kind.name(),
    }
}

/// Whether a payload says itself where it is to be found.
fn is_url(payload: &str) -> bool {
    let is_scheme =
        |scheme: &str| !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    payload.starts_with("data:") || payload.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn no_dialogue() -> Error {
    template_error("a multimodal template is a dialogue: write {round = [ { role = \"HUMAN\", prompt_mm = { … } } ]}")
}
