//! The model and its tokenizer, loaded once for everything that is built with them.

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;

use crate::args::ModelArgs;
use crate::say::say;
use crate::setup;
use metatok::dialect::Model;
use metatok::error::Result;
use metatok::tokenizer::Tokenizer;

/// What is loaded on first use, and what was already printed about it.
#[derive(Default)]
pub(crate) struct Loaded {
    model: OnceCell<(Model, Arc<Tokenizer>)>,
    said: RefCell<HashSet<String>>,
}

impl Loaded {
    /// The model from the arguments, which never change.
    pub(crate) fn model(&self, args: &ModelArgs, has_input: bool) -> Result<(Model, Arc<Tokenizer>)> {
        if let Some(loaded) = self.model.get() {
            return Ok(loaded.clone());
        }
        let loaded = setup::load(args, has_input)?;
        Ok(self.model.get_or_init(|| loaded).clone())
    }

    /// Prints those of these lines that were not printed yet.
    pub(crate) fn say_new(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            let is_new = self.said.borrow_mut().insert(line.clone());
            if is_new {
                say!("{line}");
            }
        }
    }
}
