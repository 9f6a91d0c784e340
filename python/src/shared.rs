//! A builder, and how much was built with it.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use metatok::PromptBuilder;
use metatok::import::{WORTH_ACCELERATING, accelerate};

/// A builder that all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) builder: PromptBuilder,
    built: AtomicUsize,
    accelerated: Once,
}

impl Shared {
    pub(crate) fn new(builder: PromptBuilder) -> Self {
        Self { builder, built: AtomicUsize::new(0), accelerated: Once::new() }
    }

    /// So many will be built. If that is worth it, a chat template is made faster before the first of them.
    pub(crate) fn expect(&self, prompts: usize) {
        if self.built.load(Ordering::Relaxed) + prompts > WORTH_ACCELERATING {
            self.accelerate();
        }
    }

    /// So many are about to be built. Once that is worth it, a chat template is made faster.
    pub(crate) fn count(&self, prompts: usize) {
        let before = self.built.fetch_add(prompts, Ordering::Relaxed);
        if (before..before + prompts).contains(&WORTH_ACCELERATING) {
            self.accelerate();
        }
    }

    fn accelerate(&self) {
        self.accelerated.call_once(|| {
            accelerate(&self.builder);
        });
    }
}
