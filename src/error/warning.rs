//! Something the user should know although the work can continue.

use std::fmt::{self, Display};

use serde::Serialize;

use crate::error::shown::Shown;
use crate::error::{Error, ErrorKind, Inner, Place, Setting, SettingName, WayOut};

/// Something the user should know although the work can continue: what, where, and what to do about it.
///
/// ```
/// use metatok::error::Place;
/// use metatok::{BuilderOptions, Model, PromptBuilder, Tokenizer};
///
/// let model = Model::parse("x.toml", br#"
///     [meta_template]
///     round = [{ role = "HUMAN" }, { role = "BOT", end = "<|im_end|>", generate = true }]
///     eos_token_id = 1050
/// "#)?;
/// let builder = PromptBuilder::new(&model, Tokenizer::demo()?.into(), &BuilderOptions::default())?;
/// let warning = builder.warnings().next().expect("there is one");
/// assert_eq!(warning.code(), "eos-not-in-end");
/// assert_eq!(warning.places()[0], Place::File("x.toml".into()));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Warning {
    code: &'static str,
    places: Vec<Place>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    way_out: Option<WayOut>,
}

impl Warning {
    /// A warning with this stable code, in kebab case.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, places: Vec::new(), message: message.into(), way_out: None }
    }

    /// Adds `place` before the places that the warning already has.
    pub fn at(mut self, place: impl Into<Place>) -> Self {
        self.places.insert(0, place.into());
        self
    }

    /// This warning without `place`, if that comes first: it is already shown.
    pub(crate) fn within(mut self, place: &Place) -> Self {
        if self.places.first() == Some(place) {
            self.places.remove(0);
        }
        self
    }

    /// Adds what to do about it.
    pub fn with_way_out(mut self, way_out: impl Into<WayOut>) -> Self {
        self.way_out = Some(way_out.into());
        self
    }

    /// Turns the warning into an error, for strict programs.
    pub fn into_error(self, kind: impl FnOnce(String) -> ErrorKind) -> Error {
        let Error(inner) = kind(self.message).into();
        Error(Box::new(Inner { places: self.places, way_out: self.way_out, ..*inner }))
    }

    /// The stable code, in kebab case.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Where, from the outside in.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What, without the place and the way out.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn way_out(&self) -> Option<&WayOut> {
        self.way_out.as_ref()
    }

    /// The whole text, with settings named as the program names them.
    pub fn display_with<'a>(&'a self, name: &'a SettingName<'a>) -> impl Display + 'a {
        Shown { places: &self.places, message: &self.message, way_out: self.way_out.as_ref(), name }
    }
}

/// An error that does not stop the work.
impl From<Error> for Warning {
    fn from(Error(inner): Error) -> Self {
        let Inner { kind, places, way_out, .. } = *inner;
        Self { code: kind.code(), message: kind.to_string(), places, way_out }
    }
}

impl Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display_with(&Setting::to_string).fmt(f)
    }
}
