//! Errors and warnings: what is wrong, where, whose fault it is, and what to do about it, each as data.
//!
//! Inner code says *what* with an [`ErrorKind`]. Each boundary on the way out adds *where* with [`Error::at`], so a
//! message reads from the outside in: `models/x.toml: meta_template.round[1].end[0]: token id 99999 is outside the
//! vocabulary (92544 tokens)`.
//!
//! ```
//! use metatok::error::{Fault, Place};
//! use metatok::{BuilderOptions, ErrorKind, Model, PromptBuilder, Tokenizer};
//!
//! let model = br#"meta_template.round = [{ role = "BOT", end = [99999], generate = true }]"#;
//! let model = Model::parse("models/x.toml", model)?;
//! let error = PromptBuilder::new(&model, Tokenizer::demo()?.into(), &BuilderOptions::default()).expect_err("no such id");
//! assert!(matches!(error.kind(), ErrorKind::OutsideVocabulary { id: 99999, .. }));
//! assert_eq!(error.kind().code(), "outside-vocabulary");
//! assert_eq!(error.fault(), Fault::Model);
//! assert_eq!(error.file(), Some("models/x.toml"));
//! assert_eq!(error.places()[1], Place::Key("meta_template.round[0].end[0]".into()));
//! # Ok::<(), metatok::Error>(())
//! ```

mod choice;
mod class;
mod encoding;
mod json;
mod kind;
mod place;
mod setting;
mod shown;
mod warning;
mod way_out;

use std::fmt::{self, Display};

pub(crate) use choice::by_name;
pub use class::Fault;
pub use kind::ErrorKind;
pub use place::Place;
pub use setting::Setting;
use shown::Shown;
pub use warning::Warning;
pub(crate) use way_out::way_out;
pub use way_out::{SettingName, WayOut, WayOutPart};

/// A [`std::result::Result`] with metatok's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong ([`ErrorKind`]), where ([`Place`]), whose fault it is ([`Fault`]) and what to do ([`WayOut`]).
///
/// It serializes as an object for programs, for example in the response of a service.
///
/// ```
/// use metatok::error::{Fault, Setting, WayOut};
/// use metatok::{ChatMessage, Conversation, ErrorKind, PromptBuilder};
///
/// let chat = Conversation::Messages(vec![ChatMessage::new("user", "Hi"), ChatMessage::new("tool", "3")]);
/// let error = PromptBuilder::load("demo")?.build(&chat).expect_err("it has no such role");
/// assert_eq!((error.kind().code(), error.fault()), ("unknown-role", Fault::Input));
/// assert_eq!(error.message_index(), Some(1));
/// let settings: Vec<_> = error.way_out().into_iter().flat_map(WayOut::settings).collect();
/// assert_eq!(settings, [&Setting::FORMAT.set_to("messages")]);
/// assert_eq!(serde_json::json!(error)["message_index"], 1);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

// In a box: every step of building a prompt returns a `Result`, which is then no larger than a pointer.
#[derive(Debug)]
struct Inner {
    places: Vec<Place>,
    kind: ErrorKind,
    way_out: Option<WayOut>,
    fault: Option<Fault>,
}

impl Error {
    /// An error from your own renderer, engine or retriever. [`Self::kind`] returns it as [`ErrorKind::Other`]. It is a
    /// fault of the system unless [`Self::with_fault`] says otherwise; what is wrong with a conversation or a row is an
    /// [`ErrorKind::Conversation`] or [`ErrorKind::Row`].
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ErrorKind::Other(error.into()).into()
    }

    /// Adds `place` before the places that the error already has. Text is a key path.
    #[must_use]
    pub fn at(mut self, place: impl Into<Place>) -> Self {
        self.0.places.insert(0, place.into());
        self
    }

    /// Sets what to do about it, replacing any earlier advice.
    #[must_use]
    pub fn with_way_out(mut self, way_out: impl Into<WayOut>) -> Self {
        self.0.way_out = Some(way_out.into());
        self
    }

    /// Leaves out what to do about it, because something else says so.
    #[must_use]
    pub(crate) fn without_way_out(mut self) -> Self {
        self.0.way_out = None;
        self
    }

    /// Sets whose fault it is.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.0.fault = Some(fault);
        self
    }

    /// If it is the input's fault, it becomes the fault of the file that the input was read from.
    fn of_file(self, fault: Fault) -> Self {
        match self.fault() {
            Fault::Input => self.with_fault(fault),
            _ => self,
        }
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self.0.fault {
            Some(fault) => fault,
            None if self.setting().is_some() => Fault::Usage,
            None => self.0.kind.fault(),
        }
    }

    /// Whether every prompt of the model fails with this error, whatever the input is.
    pub fn concerns_every_prompt(&self) -> bool {
        matches!(self.kind(), ErrorKind::MetaTemplateDiffers(_) | ErrorKind::NoGeneratingRole(_))
    }

    /// What to do about it.
    pub fn way_out(&self) -> Option<&WayOut> {
        self.0.way_out.as_ref()
    }

    /// What to do about it, or `other` if there is no advice yet.
    pub(crate) fn way_out_or(&self, other: impl Into<WayOut>) -> WayOut {
        self.0.way_out.clone().unwrap_or_else(|| other.into())
    }

    /// Where it is, from the outside in.
    pub fn places(&self) -> &[Place] {
        &self.0.places
    }

    /// The file, folder or built-in model that it is in.
    pub fn file(&self) -> Option<&str> {
        self.0.places.iter().find_map(|place| match place {
            Place::File(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The line of an input, counted from 1. For a file without lines, the row or item. Mistakes in the syntax of other
    /// files have their line in the message.
    pub fn line(&self) -> Option<u64> {
        self.0.places.iter().find_map(|place| match place {
            Place::Line { number, .. } => Some(*number),
            _ => None,
        })
    }

    /// The key path in the file or value; of several, the innermost.
    pub fn key(&self) -> Option<&str> {
        self.0.places.iter().rev().find_map(|place| match place {
            Place::Key(path) => Some(path.as_str()),
            _ => None,
        })
    }

    /// The column of a row.
    pub fn column(&self) -> Option<&str> {
        self.0.places.iter().find_map(|place| match place {
            Place::Column(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The conversation of a batch, counted from 0.
    pub fn conversation(&self) -> Option<usize> {
        self.0.places.iter().find_map(|place| match place {
            Place::Conversation(index) => Some(*index),
            _ => None,
        })
    }

    /// The request to an engine, counted from 0.
    pub fn request(&self) -> Option<usize> {
        self.0.places.iter().find_map(|place| match place {
            Place::Request(index) => Some(*index),
            _ => None,
        })
    }

    /// The option that is wrong.
    pub fn setting(&self) -> Option<&Setting> {
        self.0.places.iter().find_map(|place| match place {
            Place::Setting(setting) => Some(setting),
            _ => None,
        })
    }

    /// The message of a conversation or the item of a prompt list, counted from 0.
    pub fn message_index(&self) -> Option<usize> {
        self.0.places.iter().find_map(|place| match place {
            Place::Message(index) | Place::Item(index) => Some(*index),
            _ => None,
        })
    }

    /// What and where, without the way out, leaving out `place` if it is already shown: one place, or several as they are
    /// written.
    pub(crate) fn message_within(&self, place: &Place) -> String {
        let (places, shown) = (&self.0.places, place.to_string());
        let written = |end: usize| places[..end].iter().map(Place::to_string).collect::<Vec<_>>().join(": ");
        let known = (1..=places.len()).find(|&end| written(end) == shown).unwrap_or(0);
        let places = &places[known..];
        Shown { places, message: &self.0.kind, way_out: None, name: &Setting::to_string }.to_string()
    }

    /// The whole text, with settings named as the program names them.
    ///
    /// ```
    /// let error = metatok::Error::from(metatok::ErrorKind::LineTooLong(10)).at(metatok::error::Place::file("x.jsonl"));
    /// let shown = error.display_with(&|setting| format!("--{}", setting.name().replace('_', "-"))).to_string();
    /// assert_eq!(shown, "x.jsonl: the line is longer than 10 bytes; raise --max-line-bytes if that is intended");
    /// ```
    pub fn display_with<'a>(&'a self, name: &'a SettingName<'a>) -> impl Display + 'a {
        Shown { places: &self.0.places, message: &self.0.kind, way_out: self.way_out(), name }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display_with(&Setting::to_string).fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.kind.source()
    }
}

impl<K: Into<ErrorKind>> From<K> for Error {
    fn from(kind: K) -> Self {
        let kind = kind.into();
        Self(Box::new(Inner { places: Vec::new(), way_out: kind.way_out(), kind, fault: None }))
    }
}

impl ErrorKind {
    /// The error with what to do about it.
    pub fn with_way_out(self, way_out: impl Into<WayOut>) -> Error {
        Error::from(self).with_way_out(way_out)
    }
}

/// A number of things: `1 token`, `2 tokens`.
///
/// ```
/// use metatok::error::counted;
///
/// assert_eq!([counted(1, "token"), counted(2, "token")], ["1 token", "2 tokens"]);
/// ```
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    format!("{number} {what}{}", if number == N::from(1) { "" } else { "s" })
}

/// Adds the place to the error of a result.
pub trait At<T> {
    /// [`Error::at`] on the error, if there is one.
    ///
    /// # Errors
    /// The error itself.
    fn at(self, place: impl Into<Place>) -> Result<T>;
}

/// Sets whose fault the error of a result is.
pub(crate) trait OfFile<T> {
    /// [`Error::of_file`] on the error, if there is one.
    fn of_file(self, fault: Fault) -> Result<T>;
}

impl<T, E: Into<Error>> At<T> for std::result::Result<T, E> {
    // Called for every message of a prompt: without this, each result is copied.
    #[inline]
    fn at(self, place: impl Into<Place>) -> Result<T> {
        self.map_err(|error| error.into().at(place))
    }
}

impl<T, E: Into<Error>> OfFile<T> for std::result::Result<T, E> {
    fn of_file(self, fault: Fault) -> Result<T> {
        self.map_err(|error| error.into().of_file(fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_front_and_the_way_out_is_behind() {
        let error = Error::from(ErrorKind::LineTooLong(9)).at(Place::line(3)).at(Place::file("x.jsonl"));
        let text = "x.jsonl: line 3: the line is longer than 9 bytes; raise `max_line_bytes` if that is intended";
        assert_eq!(error.to_string(), text);
        assert_eq!((error.file(), error.line(), error.key()), (Some("x.jsonl"), Some(3), None));
        let json = serde_json::json!({
            "code": "line-too-long", "fault": "input", "message": text,
            "way_out": "raise `max_line_bytes` if that is intended", "file": "x.jsonl", "line": 3,
        });
        assert_eq!(serde_json::to_value(&error).expect("it is plain"), json);
    }

    #[test]
    fn each_place_can_be_asked_for() {
        let error = Error::from(ErrorKind::EmptyPrompt { has_text: false }).at("round[0].begin").at("meta_template");
        assert_eq!(error.key(), Some("round[0].begin"));
        let error = error.at(Place::Message(3)).at(Place::Conversation(2)).at(Place::Request(1));
        let error = error.at(Setting::FORMAT.set_to("messages"));
        assert_eq!((error.request(), error.conversation(), error.message_index()), (Some(1), Some(2), Some(3)));
        assert_eq!(error.setting(), Some(&Setting::FORMAT.set_to("messages")));
        let json = serde_json::to_value(&error).expect("it is plain");
        let found = ["request", "conversation", "message_index", "setting", "key"].map(|name| json[name].clone());
        assert_eq!(serde_json::json!(found), serde_json::json!([1, 2, 3, "format", "round[0].begin"]));
    }

    #[test]
    fn an_error_of_ones_own_keeps_its_source() {
        let error = Error::other(crate::Error::from(std::io::Error::other(std::fmt::Error))).at("renderer");
        assert_eq!(error.to_string(), format!("renderer: {}", std::fmt::Error));
        assert!(matches!(error.kind(), ErrorKind::Other(inner) if inner.is::<crate::Error>()));
    }

    #[test]
    fn a_warning_says_what_the_error_says() {
        let error = || Error::from(ErrorKind::EmptyInput).at(Place::file("x.jsonl"));
        let warning = Warning::from(error());
        assert_eq!((warning.code(), warning.to_string()), ("empty-input", error().to_string()));
        assert_eq!(warning.into_error(ErrorKind::Usage).to_string(), error().to_string());
    }
}
