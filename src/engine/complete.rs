//! Requests that are all at hand: each is continued to where the model stops, and trimmed there.

use std::ops::ControlFlow;

use crate::engine::requests::{Request, Requests};
use crate::error::{At, ErrorKind, Place, Result};
use crate::stop::{Completion, TokenStream, Trimmer};
use crate::tokenizer::TokenId;

/// The events of a request while it is answered.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum GenerationEvent<'p> {
    /// It has a further token.
    Token,
    /// Text of the answer that cannot be part of a stop.
    Text(&'p str),
    /// The answer is complete.
    End(&'p Completion),
}

/// Requests with their answers so far.
pub(super) struct Completing<'a> {
    requests: std::slice::Iter<'a, Request<'a>>,
    trimmer: &'a Trimmer,
    streams: Vec<TokenStream>,
    completions: Vec<Option<Completion>>,
    /// Kept to reuse the memory.
    text: String,
    watch: &'a mut dyn FnMut(usize, GenerationEvent<'_>) -> Result<()>,
}

impl<'a> Completing<'a> {
    pub(super) fn new(
        requests: &'a [Request<'a>],
        trimmer: &'a Trimmer,
        watch: &'a mut dyn FnMut(usize, GenerationEvent<'_>) -> Result<()>,
    ) -> Self {
        let (streams, completions) = (Vec::with_capacity(requests.len()), vec![None; requests.len()]);
        Self { requests: requests.iter(), trimmer, streams, completions, text: String::new(), watch }
    }

    /// # Errors
    /// [`ErrorKind::Engine`] names a request that the engine did not end.
    pub(super) fn completions(self) -> Result<Vec<Completion>> {
        let unended = |request| ErrorKind::Engine(format!("the engine did not end request {request}")).into();
        let all = self.completions.into_iter().enumerate();
        all.map(|(request, completion)| completion.ok_or_else(|| unended(request))).collect()
    }

    /// The tokens of a request, which the engine may not have been given.
    fn stream(&mut self, request: usize) -> Result<&mut TokenStream> {
        let unknown =
            || ErrorKind::Engine(format!("the engine answers request {request}, which it was not given")).into();
        self.streams.get_mut(request).ok_or_else(unknown)
    }

    fn show_text(&mut self, request: usize) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            (self.watch)(request, GenerationEvent::Text(&text))?;
        }
        self.text = text;
        self.text.clear();
        Ok(())
    }
}

impl Requests for Completing<'_> {
    fn next(&mut self) -> Result<Option<Request<'_>>> {
        let request = self.requests.next().copied();
        if let Some(request) = request {
            self.streams.push(self.trimmer.stream().max_tokens(request.max_new_tokens));
        }
        Ok(request)
    }

    fn token(&mut self, request: usize, id: TokenId) -> Result<ControlFlow<()>> {
        if self.stream(request)?.finish_reason().is_some() {
            return Ok(ControlFlow::Break(()));
        }
        (self.watch)(request, GenerationEvent::Token)?;
        let stop = self.streams[request].push(id, &mut self.text).at(Place::Request(request))?;
        self.show_text(request)?;
        Ok(if stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn end(&mut self, request: usize) -> Result<()> {
        self.stream(request)?;
        self.streams[request].finish(&mut self.text);
        self.show_text(request)?;
        let completion = self.completions[request].insert(self.streams[request].complete()?);
        (self.watch)(request, GenerationEvent::End(completion))
    }
}
