//! A form in which prompts are written: its name, what it takes, and how it is opened.

use std::fmt;
use std::num::NonZeroUsize;

use crate::batch::PaddingSide;
use crate::builder::PromptBuilder;
use crate::error::{ErrorKind, Result, Warning};
use crate::fingerprint::Fingerprint;
use crate::sink::{Accepts, FileSink, LineSink, RequestOptions};

/// A form: its name, what it takes, and how it is opened.
#[derive(Debug)]
pub struct OutputForm {
    /// What it is called.
    pub name: &'static str,
    /// What is written, in a line.
    pub about: &'static str,
    /// How the names of its files end, without the dot.
    pub ending: &'static str,
    /// What it has a place for.
    pub accepts: Accepts,
    /// None of a form without token ids: messages, which [`MessagesJsonl`](crate::sink::MessagesJsonl) writes.
    pub(crate) open: Option<Open>,
}

/// What makes a form's sink.
type Open = fn(&PromptBuilder, FormOptions) -> Result<Sink>;

/// What a form may be told.
#[derive(Debug, Clone, Default)]
pub struct FormOptions {
    /// Whether prompts come with their mask.
    pub attention_mask: bool,
    /// What requests to a server ask for.
    pub request: RequestOptions,
    /// On which side prompts are padded, instead of the builder's.
    pub padding_side: Option<PaddingSide>,
    /// A length of whose multiples padded prompts are, instead of the builder's.
    pub pad_to_multiple_of: Option<NonZeroUsize>,
    /// What built all prompts of a file.
    pub fingerprint: Option<Fingerprint>,
}

/// What writes the prompts of a form.
#[non_exhaustive]
pub enum Sink {
    /// Each prompt is a line.
    Lines(Box<dyn LineSink>),
    /// All prompts are one file.
    File(Box<dyn FileSink>),
}

impl Sink {
    /// A form of lines.
    pub fn lines(sink: impl LineSink + 'static) -> Self {
        Self::Lines(Box::new(sink))
    }

    /// A form of files.
    pub fn file(sink: impl FileSink + 'static) -> Self {
        Self::File(Box::new(sink))
    }

    /// What the engine that the prompts are for will ignore or refuse.
    pub fn warnings(&self) -> &[Warning] {
        match self {
            Self::Lines(sink) => sink.warnings(),
            Self::File(_) => &[],
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines(_) => "Lines(..)",
            Self::File(_) => "File(..)",
        })
    }
}

impl OutputForm {
    /// Whether it holds token ids, and not messages.
    pub fn has_ids(&self) -> bool {
        self.open.is_some()
    }

    /// What writes the prompts of a builder so.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for messages, which are no token ids, where there is nothing to pad with, and for what an engine's
    /// requests cannot ask for.
    pub fn open(&self, builder: &PromptBuilder, options: FormOptions) -> Result<Sink> {
        match self.open {
            Some(open) => open(builder, options),
            None => Err(ErrorKind::Usage(format!("{:?} is a form without token ids", self.name)).into()),
        }
    }
}
