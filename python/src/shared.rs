//! A builder, and how much was built with it.

use std::sync::atomic::{AtomicUsize, Ordering};

use metatok::PromptBuilder;
use metatok::import::{WORTH_ACCELERATING, accelerate};

/// A builder that all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) builder: PromptBuilder,
    built: AtomicUsize,
}

impl Shared {
    pub(crate) fn new(builder: PromptBuilder) -> Self {
        Self { builder, built: AtomicUsize::new(0) }
    }

    /// So many are about to be built. Once that is worth it, a chat template is made faster.
    pub(crate) fn count(&self, prompts: usize) {
        let before = self.built.fetch_add(prompts, Ordering::Relaxed);
        if (before..before + prompts).contains(&WORTH_ACCELERATING) {
            accelerate(&self.builder);
        }
    }
}
