//! A form in which prompts are written: its name, what it takes, and how it is opened.

use std::fmt;
use std::num::NonZeroUsize;

use crate::batch::PaddingSide;
use crate::builder::PromptBuilder;
use crate::conversation::Mode;
use crate::error::{ErrorKind, Result, Warning};
use crate::fingerprint::Fingerprint;
use crate::sink::{Accepts, DEFAULT_MAX_OUT_LEN, FileSink, LineSink, RequestOptions};

/// A form: its name, what it takes, and how it is opened.
#[derive(Debug)]
pub struct OutputForm {
    /// Its name.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// The extension of its files, without the dot.
    pub extension: &'static str,
    /// What it can write.
    pub accepts: Accepts,
    /// None if a form has no token ids: messages, which [`MessagesJsonl`](crate::sink::MessagesJsonl) writes.
    pub(crate) open: Option<Open>,
}

/// Creates a form's sink.
type Open = fn(&PromptBuilder, FormOptions) -> Result<Sink>;

/// The options of a form.
#[derive(Debug, Clone, Default)]
pub struct FormOptions {
    /// Whether to write the mask of each prompt.
    pub attention_mask: bool,
    /// The options of requests to a server.
    pub request: RequestOptions,
    /// The side on which prompts are padded, instead of the builder's.
    pub padding_side: Option<PaddingSide>,
    /// Prompts are padded to a multiple of this length, instead of the builder's.
    pub pad_to_multiple_of: Option<NonZeroUsize>,
    /// The fingerprint of all prompts of a file.
    pub fingerprint: Option<Fingerprint>,
}

/// Writes the prompts of a form.
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

    /// Warnings about what the prompts' engine will ignore or reject.
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
    /// Whether it has token ids, and not messages.
    pub fn has_ids(&self) -> bool {
        self.open.is_some()
    }

    /// Whether its prompts need labels. A request to score a text says where the scored part begins.
    pub fn needs_labels(&self, mode: Mode) -> bool {
        self.accepts.request && mode == Mode::Score
    }

    /// How many tokens an answer may have if neither its row nor the caller says so; none if a prompt of this form asks for no
    /// answer.
    pub fn usual_max_out_len(&self, mode: Mode) -> Option<usize> {
        (self.accepts.request && mode == Mode::Generate).then_some(DEFAULT_MAX_OUT_LEN)
    }

    /// Creates the sink for the prompts of a builder.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for messages, which are not token ids; if there is no padding token; and for options that
    /// the engine's requests do not have.
    pub fn open(&self, builder: &PromptBuilder, options: FormOptions) -> Result<Sink> {
        match self.open {
            Some(open) => open(builder, options),
            None => Err(ErrorKind::Usage(format!("{:?} is a form without token ids", self.name)).into()),
        }
    }
}
