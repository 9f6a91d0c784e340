//! Templates of texts with images, audio and video: AISBench's `MMPromptTemplate`.

use crate::conversation::{ContentPart, Conversation, Item, Prompt, map_texts};
use crate::dataset::rows::{Fields, Row, Value};
use crate::dataset::template::media_patterns::{PROMPT_MM, Patterns, field_of, without_patterns};
use crate::dataset::template::row_template::{RowTemplate, TemplateInput};
use crate::dataset::template::template_kind::{Key, TemplateKind};
use crate::dataset::template::{
    DialogueTemplate, Filler, Fragment, FragmentKind, MAX_ROW_BYTES, Room, SECTIONS, Substitution, TemplateField,
    TemplateText, fields, fill_items,
};
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, Error, Place, Result};

/// A dialogue whose messages have a `prompt_mm` instead of a `prompt`: a pattern for each kind of fragment. These
/// patterns write the row's fragments in order.
#[derive(Debug, Clone, PartialEq)]
pub struct MultimodalTemplate {
    dialogue: DialogueTemplate,
    /// The patterns of each message of the dialogue, in order.
    patterns: Vec<Option<Patterns>>,
    /// The column of the fragments.
    pub content: String,
    /// Whether every column is filled in, also in prompts without fragments. AISBench only fills `{question}` of a
    /// text, and `{image}`, `{video}` and `{audio}` of a URL, with the fragment, and no column anywhere.
    pub all_columns: bool,
    /// Whether a fragment that is already a URL replaces the pattern's whole URL. AISBench writes it into the pattern,
    /// so `file://` is there twice.
    pub keep_urls: bool,
    /// What would mark the place of the examples. It has no place for them, but AISBench asks for the mark beside an
    /// `ice_template`, and then leaves the examples out.
    pub ice_token: Option<String>,
    /// How columns are filled in outside of fragments, whose values are never searched.
    pub substitution: Substitution,
    /// How many bytes the texts of a prompt may have after they are filled.
    pub max_row_bytes: usize,
}

impl MultimodalTemplate {
    /// A dialogue: begin, round, end.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] for anything else. Errors in a pattern are reported by [`RowTemplate::check`], and
    /// when a row needs the pattern.
    pub fn new(template: &Value) -> Result<Self> {
        let Value::Dict(entries) = template else { return Err(no_dialogue()) };
        if !DialogueTemplate::is_one(entries) {
            return Err(no_dialogue());
        }
        let (mut patterns, mut sections) = (Vec::new(), Vec::new());
        for name in SECTIONS {
            if let Some(items) = template.get(name) {
                sections.push((Value::from(name), without_patterns(items, &mut patterns)));
            }
        }
        let dialogue = DialogueTemplate::new(&Value::Dict(sections))?;
        dialogue.required_round()?;
        Ok(Self {
            dialogue,
            patterns,
            content: "content".into(),
            all_columns: false,
            keep_urls: false,
            ice_token: None,
            substitution: Substitution::default(),
            max_row_bytes: MAX_ROW_BYTES,
        })
    }

    /// The fields of messages, except those that fragments fill.
    fn columns(&self) -> Vec<TemplateField> {
        let mut found = self.fields_of(|item| matches!(item, Item::Message(_)));
        for (kind, pattern) in self.patterns.iter().flatten().flat_map(|patterns| &patterns.by_kind) {
            let place = format!("{PROMPT_MM}.{}", kind.name());
            match pattern {
                Ok(ContentPart::Text(pattern)) => fields::of_text(&pattern.text, &place, &mut found),
                Ok(ContentPart::Media(pattern)) => fields::of_text(&pattern.source, &place, &mut found),
                Ok(ContentPart::Ids(_) | ContentPart::Other(_)) | Err(_) => {}
            }
            let place = Place::Key(place);
            found.retain(|field| field.place != place || field.column != field_of(*kind));
        }
        found
    }

    fn fields_of(&self, is_meant: impl Fn(&Item) -> bool) -> Vec<TemplateField> {
        let blank = |item: &Item| if is_meant(item) { item.clone() } else { Item::Text(String::new()) };
        let meant = |items: &Option<Vec<Item>>| items.as_ref().map(|items| items.iter().map(blank).collect());
        let DialogueTemplate { begin, round, end } = &self.dialogue;
        let meant = DialogueTemplate { begin: meant(begin), round: meant(round), end: meant(end) };
        fields::of_texts(&meant.texts("template"))
    }

    /// The dialogue of a row; with `compat`, without what AISBench loses: text outside the tags, and the parts of a
    /// message that also has a `prompt`. Nothing is masked.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Row`] if the row has no content, or a fragment of a kind for which a message has no pattern,
    /// and [`crate::ErrorKind::RowTooLong`].
    pub fn prompt(&self, row: &Row, compat: bool) -> Result<Conversation> {
        let mut patterns = self.patterns.iter();
        let mut fragments: Option<Vec<Fragment>> = None;
        let room = Room::new(self.max_row_bytes);
        let filler = Filler { fields: Fields::new(row), how: self.substitution, room: &room };
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
                    "the row has {}, but prompt_mm has no pattern for it; write {name} = {{ … }}",
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
        // In one pass: the value of a fragment is never searched for fields.
        let filler = Filler { fields, how: Substitution::SinglePass, room };
        Ok(map_texts(vec![pattern], |text, medium| filler.fill_part(text, medium))?.remove(0))
    }
}

impl RowTemplate for MultimodalTemplate {
    fn describe(&self) -> &'static str {
        "a multimodal template"
    }

    fn fill(&self, input: &TemplateInput<'_>) -> Result<Conversation> {
        self.prompt(input.row, input.compat)
    }

    fn ice_token(&self) -> Option<&str> {
        self.ice_token.as_deref()
    }

    fn fields(&self) -> Vec<TemplateField> {
        let mut found = self.fields_of(|item| matches!(item, Item::Text(_)));
        if self.all_columns {
            found.extend(self.columns());
        }
        found
    }

    fn unfilled(&self) -> Vec<TemplateField> {
        if self.all_columns { Vec::new() } else { self.columns() }
    }

    fn texts(&self) -> Vec<TemplateText> {
        let patterns = self.patterns.iter().flatten().flat_map(|patterns| &patterns.by_kind);
        let text = |(kind, pattern): &(FragmentKind, std::result::Result<ContentPart, String>)| {
            let place = format!("{PROMPT_MM}.{}", kind.name());
            match pattern {
                Ok(ContentPart::Text(pattern)) => Some(TemplateText::new(place, &pattern.text)),
                Ok(ContentPart::Media(pattern)) => Some(TemplateText::new(place, &pattern.source)),
                Ok(ContentPart::Ids(_) | ContentPart::Other(_)) | Err(_) => None,
            }
        };
        self.dialogue.texts("template").into_iter().chain(patterns.filter_map(text)).collect()
    }

    fn unfilled_help(&self) -> Option<&'static str> {
        Some("set all_columns = true in the template")
    }

    fn set_single_pass(&mut self) {
        self.substitution = Substitution::SinglePass;
    }

    fn set_max_row_bytes(&mut self, bytes: usize) {
        self.max_row_bytes = bytes;
    }

    /// Reports a pattern that is not a content part, a key that is not a kind, and a message with both `prompt` and
    /// `prompt_mm`.
    fn check(&self) -> Result<()> {
        for patterns in self.patterns.iter().flatten() {
            if patterns.has_prompt {
                return Err(dataset_error(
                    "a message has both prompt and prompt_mm, and prompt_mm would be lost; remove one",
                ));
            }
            if let Some(unknown) = patterns.unknown.first() {
                return Err(dataset_error(&format!("prompt_mm.{unknown}: the keys are text, image, video and audio")));
            }
            for (kind, pattern) in &patterns.by_kind {
                if let Err(what) = pattern {
                    return Err(dataset_error(&format!("prompt_mm.{}: {what}", kind.name())));
                }
            }
        }
        Ok(())
    }
}

pub(super) const KIND: TemplateKind = TemplateKind {
    class: "MMPromptTemplate",
    keys: &[Key::Text("content_column"), Key::Flag("all_columns"), Key::Flag("keep_urls")],
    read: |template, keys| {
        let mut read = MultimodalTemplate::new(template)?;
        read.substitution = keys.substitution();
        // The reference takes it, too, and has no use for it.
        keys.text("sep_token");
        read.content = keys.text("content_column").unwrap_or(read.content);
        read.all_columns = keys.flag("all_columns").unwrap_or_default();
        read.keep_urls = keys.flag("keep_urls").unwrap_or_default();
        read.ice_token = keys.text("ice_token").filter(|token| !token.is_empty());
        Ok(read.into())
    },
};

/// Whether a payload is a URL.
fn is_url(payload: &str) -> bool {
    let is_scheme =
        |scheme: &str| !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    payload.starts_with("data:") || payload.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn no_dialogue() -> Error {
    dataset_error(
        "a multimodal template must be a dialogue: write {round = [ { role = \"HUMAN\", prompt_mm = { … } } ]}",
    )
}
