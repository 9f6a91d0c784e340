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
    answers_omitted: Omitted,
    labels_omitted: Omitted,
    media_omitted: Omitted,
}

/// How many prompts leave something out, and whether that was told.
#[derive(Debug, Default)]
struct Omitted {
    prompts: AtomicU64,
    is_told: AtomicBool,
}

impl Omitted {
    fn see(&self) {
        self.prompts.fetch_add(1, Ordering::Relaxed);
    }

    /// Warns of it, unless that was done before.
    fn tell(&self, py: Python<'_>, warning: impl FnOnce(u64) -> Option<Warning>) -> PyResult<()> {
        let prompts = self.prompts.load(Ordering::Relaxed);
        if prompts == 0 || self.is_told.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        warning(prompts).map_or(Ok(()), |warning| warn(py, &warning))
    }
}

impl Shared {
    pub(crate) fn new(builder: PromptBuilder) -> Self {
        Self {
            builder,
            built: AtomicUsize::new(0),
            accelerated: AtomicBool::new(false),
            told: Mutex::default(),
            answers_omitted: Omitted::default(),
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
        self.answers_omitted.tell(py, answers_omitted)?;
        self.labels_omitted.tell(py, |_| {
            let what = "only a part of a text is scored, but nothing here says which";
            Some(Warning::new("labels-omitted", what).with_way_out("build_batch has labels"))
        })?;
        self.media_omitted.tell(py, |_| {
            let what = "images, audio and video are only placeholders in the ids";
            Some(Warning::new("media-omitted", what).with_way_out("give the model the data itself"))
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
            self.answers_omitted.see();
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
