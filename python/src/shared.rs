//! A builder, how much was built with it, and what was told of that.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use metatok::PromptBuilder;
use metatok::build::{Notes, answers_omitted};
use metatok::builder::TokenizedPrompt;
use metatok::error::Warning;
use metatok::import::{WORTH_ACCELERATING, accelerate};
use pyo3::prelude::*;

use crate::conversation::Reader;
use crate::error::warn;
use crate::prompt::Prompt;

/// A builder that all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) builder: PromptBuilder,
    built: AtomicUsize,
    /// Whether somebody made it faster, or is about to. Nobody waits for that: who began it may be gone after a fork.
    accelerated: AtomicBool,
    told: Mutex<Notes>,
    answers_omitted: AtomicU64,
    told_of_answers: AtomicBool,
    labels_omitted: Omitted,
    media_omitted: Omitted,
}

/// Whether something was left out, and whether that was told.
#[derive(Debug, Default)]
struct Omitted {
    is_so: AtomicBool,
    is_told: AtomicBool,
}

impl Omitted {
    fn see(&self) {
        self.is_so.store(true, Ordering::Relaxed);
    }

    /// Warns of it, unless that was done before.
    fn tell(&self, py: Python<'_>, warning: impl FnOnce() -> Warning) -> PyResult<()> {
        let is_due = self.is_so.load(Ordering::Relaxed) && !self.is_told.swap(true, Ordering::Relaxed);
        if is_due { warn(py, &warning()) } else { Ok(()) }
    }
}

impl Shared {
    pub(crate) fn new(builder: PromptBuilder) -> Self {
        Self {
            builder,
            built: AtomicUsize::new(0),
            accelerated: AtomicBool::new(false),
            told: Mutex::default(),
            answers_omitted: AtomicU64::new(0),
            told_of_answers: AtomicBool::new(false),
            labels_omitted: Omitted::default(),
            media_omitted: Omitted::default(),
        }
    }

    /// Warns of what prompts leave out, unless that was told before.
    ///
    /// # Errors
    /// What Python's filters make of a warning.
    pub(crate) fn tell(&self, py: Python<'_>, reader: Reader<'_>) -> PyResult<()> {
        let new = self.told.lock().unwrap_or_else(PoisonError::into_inner).tell_new(reader.into_notes());
        new.iter().try_for_each(|warning| warn(py, warning))?;
        if let Some(warning) = answers_omitted(self.answers_omitted.load(Ordering::Relaxed))
            && !self.told_of_answers.swap(true, Ordering::Relaxed)
        {
            warn(py, &warning)?;
        }
        self.labels_omitted.tell(py, || {
            let what = "only a part of a text is scored, but nothing here says which";
            Warning::new("labels-omitted", what).with_way_out("build_batch has labels")
        })?;
        self.media_omitted.tell(py, || {
            let what = "images, audio and video are only placeholders in the ids";
            Warning::new("media-omitted", what).with_way_out("give the model the data itself")
        })
    }

    /// The ids of a prompt whose labels have no place beside them.
    pub(crate) fn ids_alone(&self, built: Prompt) -> Vec<u32> {
        if built.labels.is_some() {
            self.labels_omitted.see();
        }
        self.ids_without_media(built)
    }

    /// The ids of a prompt whose media have no place beside them.
    pub(crate) fn ids_without_media(&self, built: Prompt) -> Vec<u32> {
        if built.prompt.has_media {
            self.media_omitted.see();
        }
        built.prompt.input_ids
    }

    /// A prompt was built.
    pub(crate) fn see(&self, prompt: &TokenizedPrompt) {
        if prompt.answer_omitted {
            self.answers_omitted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// This many prompts will be built. If that is worth it, a chat template is made faster before the first of them.
    pub(crate) fn expect(&self, prompts: usize) {
        if self.built.load(Ordering::Relaxed) + prompts > WORTH_ACCELERATING {
            self.accelerate();
        }
    }

    /// This many prompts are about to be built. Once that is worth it, a chat template is made faster.
    pub(crate) fn count(&self, prompts: usize) {
        let before = self.built.fetch_add(prompts, Ordering::Relaxed);
        if (before..before + prompts).contains(&WORTH_ACCELERATING) {
            self.accelerate();
        }
    }

    fn accelerate(&self) {
        if !self.accelerated.swap(true, Ordering::Relaxed) {
            accelerate(&self.builder);
        }
    }
}
