//! Notes about the input that are given once, however often they apply: each with its first place and its count.

use std::fmt::Display;

use crate::builder::PromptBuilder;
use crate::conversation::{Conversation, Mode, REASONING_EFFORT};
use crate::dataset::records::InputFormat;
use crate::dataset::{Record, Row};
use crate::error::{Setting, Warning, WayOut, counted, way_out};
use crate::render::Omissions;

/// At most this many different notes are distinguished, whatever the input contains.
const KEPT: usize = 24;

/// At most this many of them are listed.
const LISTED: usize = 10;

/// Longer names are shortened to this length.
const LONGEST_NAME: usize = 60;

/// The notes, in the order of the input.
///
/// ```
/// use metatok::build::Notes;
/// use metatok::dataset::records::Record;
/// use metatok::PromptBuilder;
///
/// let record = Record::parse(r#"{"messages": [{"role": "user", "content": "Hi!", "country": "UK"}]}"#)?;
/// let (mut known, mut notes) = (Notes::default(), Notes::default());
/// notes.see_record(&record, &PromptBuilder::demo()?, "chat 7");
/// let told = known.tell_new(notes.clone());
/// assert_eq!(told[0].message(), "unknown keys of messages are ignored: \"country\" (1 message, first at chat 7)");
/// assert!(known.tell_new(notes).is_empty());
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Notes {
    noticed: Vec<Noticed>,
    /// Whether there were more than are kept.
    has_more: bool,
}

#[derive(Debug, Clone)]
struct Noticed {
    kind: Kind,
    /// The name of what is left out, if there are several of its kind.
    name: String,
    /// The first place.
    first: String,
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An unknown key of messages.
    Key,
    /// A text's completion, if the text is to be continued.
    Completion,
    /// A column that occurs twice in a row.
    Column,
    /// A message whose role is silent in the template.
    SilentRole,
    /// A default prompt that no turn takes.
    DefaultPrompt,
    /// Thoughts that the template leaves out of an answer.
    Thoughts,
    /// A key that the chat template does not read.
    Unread,
    /// A string, to which the template is not applied.
    String,
    /// A string beside messages, for which these have no place.
    WithoutRole,
    /// A key of a request that says how its answer is sampled.
    Sampling,
    /// How long the model may think, beside a completion.
    ReasoningEffort,
    /// Arguments of a call, which the chat template encodes once more.
    Arguments,
}

impl Notes {
    /// Notes what the prompt of a record leaves out of it.
    pub fn see_record(&mut self, record: &Record<'_>, builder: &PromptBuilder, place: impl Display) {
        let keeps_all_keys = builder.record_reader(InputFormat::Auto).keeps_all_keys();
        self.see_all(record, keeps_all_keys, &builder.omissions(&record.conversation), builder.mode(), place);
    }

    /// Notes what the prompt of a conversation leaves out of its messages.
    pub fn see_conversation(&mut self, conversation: &Conversation, builder: &PromptBuilder, place: impl Display) {
        self.see_omissions(&builder.omissions(conversation), place);
    }

    /// Notes what the prompt of a record leaves out of it, if it is known what the template leaves out.
    pub(super) fn see_all(
        &mut self,
        record: &Record<'_>,
        keeps_all_keys: bool,
        omissions: &Omissions<'_>,
        mode: Mode,
        place: impl Display,
    ) {
        if !keeps_all_keys {
            self.see(&record.conversation, &place);
        }
        self.see_omissions(omissions, &place);
        for key in &record.sampling_keys {
            let kind = if *key == REASONING_EFFORT { Kind::ReasoningEffort } else { Kind::Sampling };
            self.add(kind, key, 1, &place);
        }
        if mode == Mode::Generate {
            self.see_completion(record, &place);
        }
    }

    /// Notes that a prompt to continue is a string, to which the template is not applied.
    pub(super) fn see_string(&mut self, place: impl Display) {
        self.add(Kind::String, "", 1, place);
    }

    /// Adds the notes of later input, and returns the new ones.
    #[must_use]
    pub fn tell_new(&mut self, later: Self) -> Vec<Warning> {
        let is_new = |noticed: &&Noticed| self.find(noticed.kind, &noticed.name).is_none();
        let new: Vec<Noticed> = later.noticed.iter().filter(is_new).take(KEPT - self.noticed.len()).cloned().collect();
        let had_more = self.has_more;
        self.append(later);
        Self { noticed: new, has_more: self.has_more && !had_more }.warnings()
    }

    /// Notes what is left out of a conversation.
    pub(crate) fn see(&mut self, conversation: &Conversation, place: impl Display) {
        for (_, key) in conversation.unknown_keys() {
            self.add(Kind::Key, key, 1, &place);
        }
    }

    /// Notes what the template leaves out of a conversation.
    pub(crate) fn see_omissions(&mut self, omissions: &Omissions<'_>, place: impl Display) {
        for role in &omissions.roles {
            self.add(Kind::SilentRole, role, 1, &place);
        }
        for role in &omissions.default_prompts {
            self.add(Kind::DefaultPrompt, role, 1, &place);
        }
        for key in &omissions.unread {
            self.add(Kind::Unread, key, 1, &place);
        }
        if omissions.strings > 0 {
            self.add(Kind::WithoutRole, "", omissions.strings, &place);
        }
        if omissions.encoded_arguments > 0 {
            self.add(Kind::Arguments, "", omissions.encoded_arguments, &place);
        }
        if omissions.thoughts > 0 {
            self.add(Kind::Thoughts, "", omissions.thoughts, place);
        }
    }

    /// Notes that a record's completion is not part of its prompt.
    fn see_completion(&mut self, record: &Record<'_>, place: impl Display) {
        if record.has_completion() {
            self.add(Kind::Completion, "", 1, place);
        }
    }

    /// Notes a column that occurs twice.
    pub(crate) fn see_row(&mut self, row: &Row, place: impl Display) {
        if let Some(column) = row.repeated() {
            self.add(Kind::Column, column, 1, place);
        }
    }

    /// Adds the notes of the following input.
    pub(crate) fn append(&mut self, other: Self) {
        self.has_more |= other.has_more;
        for Noticed { kind, name, first, count } in other.noticed {
            self.add(kind, &name, count, first);
        }
    }

    fn add(&mut self, kind: Kind, name: &str, count: u64, place: impl Display) {
        let name = shortened(name);
        let is_full = self.noticed.len() == KEPT;
        match self.find(kind, name) {
            Some(at) => self.noticed[at].count += count,
            None if is_full => self.has_more = true,
            None => self.noticed.push(Noticed { kind, name: name.to_owned(), first: place.to_string(), count }),
        }
    }

    fn find(&self, kind: Kind, name: &str) -> Option<usize> {
        self.noticed.iter().position(|known| known.kind == kind && known.name == name)
    }

    /// The notes as warnings.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let keys: Vec<String> = self.noticed.iter().filter_map(Noticed::key).collect();
        if !keys.is_empty() {
            let more = if keys.len() > LISTED { ", and more" } else { "" };
            let listed = keys[..keys.len().min(LISTED)].join(", ");
            let what = format!("unknown keys of messages are ignored: {listed}{more}");
            warnings.push(Warning::new("unknown-keys", what));
        }
        warnings.extend(self.noticed.iter().filter_map(Noticed::warning));
        if self.has_more {
            warnings.push(Warning::new(
                "more-notes",
                format!("only the first {KEPT} different notes are listed; there were more"),
            ));
        }
        warnings
    }
}

impl Noticed {
    fn key(&self) -> Option<String> {
        let Self { kind: Kind::Key, name, first, count } = self else { return None };
        Some(format!("{name:?} ({}, first at {first})", counted(*count, "message")))
    }

    /// Keys are listed together.
    fn warning(&self) -> Option<Warning> {
        let (code, what) = self.told()?;
        let first = format!(" (first at {})", self.first);
        Some(match self.kind {
            // There, the way out ends with the place.
            Kind::Completion => Warning::new(code, what)
                .with_way_out(way_out![Setting::MODE.set_to("ppl"), format!(" scores them{first}")]),
            kind => match kind.way_out() {
                Some(way_out) => Warning::new(code, what + &first).with_way_out(way_out),
                None => Warning::new(code, what + &first),
            },
        })
    }

    /// The code of the warning, and what it says.
    fn told(&self) -> Option<(&'static str, String)> {
        let Self { kind, name, count, .. } = self;
        let many = |what: &str| counted(*count, what);
        let is_or_are =
            |one: &str, several: &str| if *count == 1 { format!("1 {one}") } else { format!("{count} {several}") };
        Some(match kind {
            Kind::Key => return None,
            Kind::Completion => (
                "completion-left-out",
                format!("{} left out, because prompts to continue end before them", many("completion")),
            ),
            Kind::Column => {
                let rows = is_or_are("row has", "rows have");
                ("repeated-column", format!("{rows} the column {name:?} twice; the last one is used, as in Python"))
            }
            Kind::SilentRole => (
                "role-left-out",
                format!("{} of role {name:?} left out, because the template is silent about it", many("message")),
            ),
            Kind::DefaultPrompt => {
                let conversations = many("conversation");
                let what = format!(
                    "the default prompt of role {name:?} is left out of {conversations} without a turn to merge it into"
                );
                ("default-prompt-left-out", what)
            }
            Kind::Unread => (
                "unread-by-template",
                format!("{name} of {} left out, because the chat template does not read {name}", many("conversation")),
            ),
            Kind::String => {
                let prompts = is_or_are("prompt is a string", "prompts are strings");
                ("string-prompts", format!("{prompts}, to which the model's template is not applied"))
            }
            Kind::WithoutRole => (
                "string-left-out",
                format!("{} without a role left out, because messages have no place for them", many("string")),
            ),
            Kind::Sampling | Kind::ReasoningEffort => {
                ("sampling-ignored", format!("{name:?} of {} is ignored", many("request")))
            }
            Kind::Arguments => {
                let calls = many("call");
                let what =
                    format!("the arguments of {calls} are JSON in a text, which the chat template encodes once more");
                ("encoded-arguments", what)
            }
            Kind::Thoughts => (
                "thoughts-left-out",
                format!("{} written without thoughts, as the template declares", many("earlier answer")),
            ),
        })
    }
}

impl Kind {
    fn way_out(self) -> Option<WayOut> {
        Some(match self {
            Self::String => {
                way_out![Setting::CHAT_WRAPPER.set_to("opencompass-chat"), " turns each one into a user message"]
            }
            Self::WithoutRole => "write {role, prompt} in their place".into(),
            Self::Sampling => "metatok's own options say how answers are sampled".into(),
            Self::ReasoningEffort => "only chat templates read it, beside the messages of a request".into(),
            Self::Arguments => "write an object, as servers give it to templates".into(),
            _ => return None,
        })
    }
}

fn shortened(name: &str) -> &str {
    name.char_indices().nth(LONGEST_NAME).map_or(name, |(end, _)| &name[..end])
}
