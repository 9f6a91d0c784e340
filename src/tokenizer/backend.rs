//! What metatok needs from a tokenizer library.

use std::any::Any;
use std::ops::Range;

use crate::error::Result;
use crate::tokenizer::TokenId;
use crate::tokenizer::run::{Reader, Run};

/// An id, and the bytes of a run that it comes from.
pub(crate) type IdWithBytes = (TokenId, Range<usize>);

/// A tokenizer library, reduced to what metatok needs from it.
pub(crate) trait Backend: Send + Sync {
    fn name(&self) -> &'static str;
    /// Appends the ids of a run.
    fn encode_run(&self, reader: Reader<'_>, run: Run<'_>, scratch: &mut Scratch, ids: &mut Vec<TokenId>)
    -> Result<()>;
    /// Appends the ids of several runs, and where those of each end.
    fn encode_runs(
        &self,
        reader: Reader<'_>,
        runs: &mut dyn Iterator<Item = Run<'_>>,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        for run in runs {
            self.encode_run(reader, run, scratch, ids)?;
            ends.push(ids.len());
        }
        Ok(())
    }
    fn normalize(&self, text: &str) -> Result<String>;
    /// The model's entry, in the spelling of its vocabulary.
    fn id_to_token(&self, id: TokenId) -> Option<String>;
    /// Text from tokens in the spelling of the vocabulary.
    fn decode(&self, tokens: Vec<String>) -> Result<String>;
    /// Text from the model's own ids, if these stand for bytes and so must not be mixed with added tokens.
    fn decode_ids(&self, _ids: &[TokenId]) -> Option<Result<String>> {
        None
    }
    /// The ids of a run, each with the bytes of the run that it comes from, if the library knows them.
    fn encode_run_with_offsets(&self, _reader: Reader<'_>, _run: Run<'_>) -> Option<Result<Vec<IdWithBytes>>> {
        None
    }
    /// Whether the tokens of a text are its bytes for certain, except added tokens among them.
    fn keeps_bytes(&self, _text: &str) -> bool {
        false
    }
    /// What the post-processor adds before and after a text.
    fn special_tokens(&self) -> Result<(Vec<TokenId>, Vec<TokenId>)>;
}

/// Buffers of a library that make encoding again cheap. One per thread, for one tokenizer.
#[derive(Default)]
pub(crate) struct Scratch(Option<Box<dyn Any + Send + Sync>>);

impl Scratch {
    pub(crate) fn get_or_insert_with<T: Any + Send + Sync>(&mut self, new: impl FnOnce() -> T) -> &mut T {
        if !self.0.as_deref().is_some_and(<dyn Any + Send + Sync>::is::<T>) {
            self.0 = Some(Box::new(new()));
        }
        self.0.as_deref_mut().and_then(<dyn Any + Send + Sync>::downcast_mut).expect("a T was just put there")
    }
}
