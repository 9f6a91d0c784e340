//! Answers token by token, side by side.

use candle_core::{Device, Tensor};

use super::CandleEngine;
use super::cache::Cache;
use super::failed::failed;
use super::rows::Rows;
use crate::batch::{Batch, Padding};
use crate::engine::{Engine, OnToken, Request, Sampler};
use crate::error::{At, ErrorKind, Place, Result};
use crate::tokenizer::TokenId;

/// An answer that is being generated.
struct Live {
    request: usize,
    sampler: Sampler,
    /// How many columns come before its prompt.
    padding: usize,
    /// How many tokens it has.
    tokens: usize,
}

impl Engine for CandleEngine {
    fn max_seq_len(&self) -> Option<usize> {
        Some(self.max_seq_len)
    }

    fn generate(&self, requests: &[Request<'_>], on_token: &mut OnToken<'_>) -> Result<()> {
        let mut live = Vec::with_capacity(requests.len());
        for (i, request) in requests.iter().enumerate() {
            self.check_request(request).at(Place::Request(i))?;
            if request.max_new_tokens > 0 {
                let mut sampler = Sampler::new(request.sampling)?;
                sampler.see(request.input_ids);
                live.push(Live { request: i, sampler, padding: 0, tokens: 0 });
            }
        }
        let prompts: Vec<&[TokenId]> = live.iter().map(|live| requests[live.request].input_ids).collect();
        // Padding is masked, whatever its id.
        let batch: Batch<u32> = Batch::new(&prompts, Padding::new(0))?;
        for (live, length) in live.iter_mut().zip(batch.lengths()) {
            live.padding = batch.input_ids.ncols() - length;
        }
        let mut cache = self.transformer.cache();
        let mut hidden = None;
        let mut keep_last = |piece: &Tensor| -> candle_core::Result<()> {
            hidden = Some(piece.narrow(1, piece.dim(1)? - 1, 1)?);
            Ok(())
        };
        self.read(&Rows::of_batch(&batch), &mut cache, &mut keep_last).map_err(failed)?;
        while let Some(last) = hidden.take() {
            let logits = self.transformer.logits(&last).and_then(|logits| logits.squeeze(1)?.to_vec2::<f32>());
            let (side_by_side, mut next, mut kept) = (live.len(), Vec::new(), Vec::new());
            let mut going = Vec::with_capacity(side_by_side);
            for (row, (mut live, logits)) in (0..).zip(live.into_iter().zip(logits.map_err(failed)?)) {
                let Request { input_ids, max_new_tokens, .. } = requests[live.request];
                let id = live.sampler.sample(&logits)?;
                live.tokens += 1;
                let has_room = live.tokens < max_new_tokens && input_ids.len() + live.tokens < self.max_seq_len;
                if on_token(live.request, id)?.is_continue() && has_room {
                    next.push(id);
                    kept.push(row);
                    going.push(live);
                }
            }
            live = going;
            if !live.is_empty() && live.len() < side_by_side {
                cache.keep(&kept, &self.device).map_err(failed)?;
            }
            if !live.is_empty() {
                hidden = Some(self.step(&live, next, &mut cache).map_err(failed)?);
            }
        }
        Ok(())
    }
}

impl CandleEngine {
    fn check_request(&self, request: &Request<'_>) -> Result<()> {
        if request.input_ids.is_empty() {
            return Err(ErrorKind::Usage("there are no tokens to continue".into()).into());
        }
        self.check(request.input_ids.iter().copied(), request.input_ids.len())
    }

    /// Reads one further token of each.
    fn step(&self, live: &[Live], next: Vec<TokenId>, cache: &mut Cache) -> candle_core::Result<Tensor> {
        let tokens = cache.len() + 1;
        let positions = live.iter().map(|live| (tokens - 1 - live.padding) as u32).collect();
        let mask = mask(live, tokens, &self.device)?;
        let column = |numbers: Vec<u32>| Tensor::from_vec(numbers, (live.len(), 1), &self.device);
        self.transformer.forward(&column(next)?, &column(positions)?, mask.as_ref(), cache)
    }
}

/// What is added to the scores of one further token of each, over this many tokens; none if there is no padding.
fn mask(live: &[Live], tokens: usize, device: &Device) -> candle_core::Result<Option<Tensor>> {
    if live.iter().all(|live| live.padding == 0) {
        return Ok(None);
    }
    let row = |padding| (0..tokens).map(move |key| if key < padding { f32::NEG_INFINITY } else { 0.0 });
    let mask = live.iter().flat_map(|live| row(live.padding)).collect();
    Tensor::from_vec(mask, (live.len(), 1, 1, tokens), device).map(Some)
}
