//! An engine in this process: models of the Llama kind, computed by candle on the CPU or a GPU.

mod cache;
mod config;
mod mask;
mod transformer;
mod weights;

use candle_core::{Device, Tensor};
use ndarray::{Array2, Array3, ArrayView2, Axis, Slice, Zip};

use crate::batch::{Batch, Pack, Padding, Place};
use crate::engine::{Engine, OnToken, Request, Sampler};
use crate::error::{At, Error, ErrorKind, Result};
use crate::tokenizer::TokenId;
use cache::Cache;
use config::Config;
use transformer::Transformer;
use weights::Weights;

/// How many numbers of attention are in memory at once: longer prompts are read in pieces.
const ATTENTION_NUMBERS: usize = 1 << 26;

/// Where an engine computes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CandleDevice {
    /// On all cores, in `f32`.
    #[default]
    Cpu,
    /// On the NVIDIA GPU of this number, in the type of the weights; needs the feature `cuda`.
    Cuda(usize),
}

/// A model of the Llama kind (Llama, Mistral, Qwen2, Qwen3) with its weights.
///
/// Prompts of several lengths are padded on the left and masked; what is computed for one does not depend on the
/// others, up to the rounding of `f32`.
///
/// ```
/// use metatok::{CandleEngine, ChatMessage, Conversation, Engine, PromptBuilder, Request, Sampling};
///
/// let (builder, engine) = (PromptBuilder::demo()?, CandleEngine::demo()?);
/// let question = ChatMessage::new("user", "What is the capital of France?");
/// let prompt = builder.build(&Conversation::Messages(vec![question]))?;
/// let request = Request { input_ids: &prompt.input_ids, max_new_tokens: 20, sampling: Sampling::default() };
/// let answers = engine.complete(&[request], &builder.trimmer()?, &mut |_, _| Ok(()))?;
/// assert_eq!(answers[0].text, "Paris.");
/// # Ok::<(), metatok::Error>(())
/// ```
pub struct CandleEngine {
    transformer: Transformer,
    device: Device,
    max_seq_len: usize,
    vocab_size: usize,
}

impl CandleEngine {
    /// Loads weights by name: a folder with `config.json` and `model.safetensors`, or its index and shards, as
    /// `transformers` writes them; `demo`, which is embedded; or a repository of the Hugging Face Hub, `org/name` or
    /// `org/name@revision`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] says what was looked for, [`ErrorKind::Engine`] what of the model is not computed here,
    /// which tensor is missing, of another shape, or one too many, and that there is no such device.
    pub fn load(name: &str, device: CandleDevice) -> Result<Self> {
        let device = match device {
            CandleDevice::Cpu => Device::Cpu,
            CandleDevice::Cuda(_) if !candle_core::utils::cuda_is_available() => {
                let what = "this metatok is built without CUDA; build it with --features cuda";
                return Err(ErrorKind::Engine(what.into()).into());
            }
            CandleDevice::Cuda(number) => Device::new_cuda(number).map_err(failed)?,
        };
        let load = || {
            let config = weights::config(name)?;
            let config = Config::new(&config).at("config.json")?;
            let transformer = Transformer::new(&config, Weights::load(name, &device)?, &device)?;
            let (max_seq_len, vocab_size) = (config.max_seq_len(), config.vocab_size);
            Ok(Self { transformer, device: device.clone(), max_seq_len, vocab_size })
        };
        load().map_err(|error: Error| error.at(name))
    }

    /// The embedded model, which knows the answers to the demo's conversations, on the CPU.
    ///
    /// # Errors
    /// None that a user could cause.
    pub fn demo() -> Result<Self> {
        Self::load("demo", CandleDevice::Cpu)
    }

    /// The logits behind every token: prompts, tokens, vocabulary. Those of padding mean nothing.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideVocabulary`] names an id that the model does not have, [`ErrorKind::Engine`] says that a
    /// row is longer than the context.
    pub fn logits(&self, batch: &Batch<u32>) -> Result<Array3<f32>> {
        self.logits_of(batch.input_ids.view(), batch.position_ids().view(), batch.attention_mask().view())
    }

    /// The logits behind every token of prompts that share rows: rows, tokens, vocabulary. No prompt sees another.
    ///
    /// # Errors
    /// As [`Self::logits`].
    pub fn packed_logits(&self, pack: &Pack<u32>) -> Result<Array3<f32>> {
        let mut numbers = Array2::zeros(pack.input_ids.dim());
        for (&Place { row, start, len }, number) in pack.places.iter().zip(1..) {
            numbers.row_mut(row).slice_axis_mut(Axis(0), Slice::from(start..start + len)).fill(number);
        }
        self.logits_of(pack.input_ids.view(), pack.position_ids.view(), numbers.view())
    }

    /// `numbers` say which tokens of a row belong together, and zero which are padding.
    fn logits_of(
        &self,
        input_ids: ArrayView2<'_, u32>,
        position_ids: ArrayView2<'_, u32>,
        numbers: ArrayView2<'_, u32>,
    ) -> Result<Array3<f32>> {
        let (rows, tokens) = input_ids.dim();
        if rows * tokens == 0 {
            return Ok(Array3::zeros((rows, tokens, self.vocab_size)));
        }
        self.check(input_ids.iter().zip(numbers).filter(|(_, number)| **number != 0).map(|(id, _)| *id), tokens)?;
        let mut logits = Array3::zeros((rows, tokens, self.vocab_size));
        let mut start = 0;
        let mut add = |hidden: &Tensor| -> candle_core::Result<()> {
            let piece = self.transformer.logits(hidden)?;
            let end = start + piece.dim(1)?;
            let numbers = piece.flatten_all()?.to_vec1::<f32>()?;
            let mut place = logits.slice_axis_mut(Axis(1), Slice::from(start..end));
            place.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
            start = end;
            Ok(())
        };
        self.read(input_ids, position_ids, numbers, &mut self.transformer.cache(), &mut add).map_err(failed)?;
        Ok(logits)
    }

    /// Reads prompts into the cache, in pieces, and hands over what the last layer makes of each.
    fn read(
        &self,
        input_ids: ArrayView2<'_, u32>,
        position_ids: ArrayView2<'_, u32>,
        numbers: ArrayView2<'_, u32>,
        cache: &mut Cache,
        each: &mut dyn FnMut(&Tensor) -> candle_core::Result<()>,
    ) -> candle_core::Result<()> {
        let (rows, tokens) = input_ids.dim();
        let piece = (ATTENTION_NUMBERS / (rows * self.transformer.heads() * tokens)).clamp(1, tokens);
        for start in (0..tokens).step_by(piece) {
            let end = tokens.min(start + piece);
            let tensor = |array: ArrayView2<'_, u32>| {
                let piece = array.slice_axis(Axis(1), Slice::from(start..end)).iter().copied().collect();
                // What pads may be no id of the model at all.
                Tensor::from_vec(piece, (rows, end - start), &self.device)
            };
            let known = Zip::from(input_ids).and(numbers).map_collect(|id, number| id * u32::from(*number != 0));
            let mask = mask::causal(numbers, start, end, &self.device)?;
            let (ids, positions) = (tensor(known.view())?, tensor(position_ids)?);
            each(&self.transformer.forward(&ids, &positions, Some(&mask), cache)?)?;
        }
        Ok(())
    }

    /// Refuses ids that the model does not have, and what is longer than its context.
    fn check(&self, mut ids: impl Iterator<Item = TokenId>, tokens: usize) -> Result<()> {
        if let Some(id) = ids.find(|id| *id as usize >= self.vocab_size) {
            return Err(ErrorKind::OutsideVocabulary { id: id.into(), size: self.vocab_size }.into());
        }
        if tokens > self.max_seq_len {
            let what = format!("{tokens} tokens are more than the {} of the model's context", self.max_seq_len);
            return Err(ErrorKind::Engine(what).into());
        }
        Ok(())
    }
}

/// An answer that is being written.
struct Live {
    request: usize,
    sampler: Sampler,
    padding: usize,
    tokens: usize,
}

impl Engine for CandleEngine {
    fn max_seq_len(&self) -> Option<usize> {
        Some(self.max_seq_len)
    }

    fn generate(&self, requests: &[Request<'_>], on_token: &mut OnToken<'_>) -> Result<()> {
        for (i, request) in requests.iter().enumerate() {
            let place = format_args!("request {i}");
            if request.input_ids.is_empty() {
                return Err(ErrorKind::Engine("there is no token to continue".into())).at(place);
            }
            self.check(request.input_ids.iter().copied(), request.input_ids.len()).at(place)?;
        }
        let mut live = Vec::with_capacity(requests.len());
        for (i, request) in requests.iter().enumerate().filter(|(_, request)| request.max_new_tokens > 0) {
            live.push(Live { request: i, sampler: Sampler::new(request.sampling)?, padding: 0, tokens: 0 });
        }
        let prompts: Vec<&[TokenId]> = live.iter().map(|live| requests[live.request].input_ids).collect();
        if prompts.is_empty() {
            return Ok(());
        }
        let batch: Batch<u32> = Batch::new(&prompts, Padding::new(0));
        let width = batch.input_ids.ncols();
        for (live, length) in live.iter_mut().zip(batch.lengths()) {
            live.padding = width - length;
        }
        let mut cache = self.transformer.cache();
        let mut hidden = None;
        let mut last = |piece: &Tensor| -> candle_core::Result<()> {
            hidden = Some(piece.narrow(1, piece.dim(1)? - 1, 1)?);
            Ok(())
        };
        let (positions, numbers) = (batch.position_ids(), batch.attention_mask());
        self.read(batch.input_ids.view(), positions.view(), numbers.view(), &mut cache, &mut last).map_err(failed)?;
        while let Some(rows) = hidden.take() {
            let logits = self.transformer.logits(&rows).and_then(|logits| logits.squeeze(1)?.to_vec2::<f32>());
            let (mut next, mut kept) = (Vec::new(), Vec::new());
            let mut going = Vec::with_capacity(live.len());
            for (row, (mut live, logits)) in (0..).zip(live.into_iter().zip(logits.map_err(failed)?)) {
                let request = &requests[live.request];
                let id = live.sampler.sample(&logits)?;
                live.tokens += 1;
                let is_full =
                    live.tokens == request.max_new_tokens || request.input_ids.len() + live.tokens >= self.max_seq_len;
                if on_token(live.request, id)?.is_continue() && !is_full {
                    next.push(id);
                    kept.push(row);
                    going.push(live);
                }
            }
            let has_ended = going.len() < cache_rows(&rows);
            live = going;
            if !live.is_empty() {
                if has_ended {
                    cache.keep(&kept, &self.device).map_err(failed)?;
                }
                hidden = Some(self.step(&live, next, &mut cache).map_err(failed)?);
            }
        }
        Ok(())
    }
}

/// How many prompts stand side by side.
fn cache_rows(hidden: &Tensor) -> usize {
    hidden.dims().first().copied().unwrap_or_default()
}

impl CandleEngine {
    /// Reads one further token of each.
    fn step(&self, live: &[Live], next: Vec<TokenId>, cache: &mut Cache) -> candle_core::Result<Tensor> {
        let tokens = cache.len() + 1;
        let padding: Vec<usize> = live.iter().map(|live| live.padding).collect();
        let positions = padding.iter().map(|padding| (tokens - 1 - padding) as u32).collect();
        let mask = mask::behind(&padding, tokens, &self.device)?;
        let column = |numbers: Vec<u32>| Tensor::from_vec(numbers, (live.len(), 1), &self.device);
        self.transformer.forward(&column(next)?, &column(positions)?, mask.as_ref(), cache)
    }
}

/// What candle says.
fn failed(error: candle_core::Error) -> Error {
    ErrorKind::Engine(error.to_string()).into()
}
