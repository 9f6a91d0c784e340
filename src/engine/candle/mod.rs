//! An engine in this process: Llama-like models, computed by candle on the CPU or a GPU.

mod attention;
mod cache;
mod config;
mod failed;
mod generate;
mod rows;
mod slot;
mod transformer;
mod weights;

use std::fmt;
use std::path::PathBuf;

use candle_core::{Device, Tensor};
use ndarray::{Array3, Axis, Slice};

use crate::batch::{Batch, Pack};
use crate::engine::Sampling;
use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::tokenizer::TokenId;
use attention::Masked;
use cache::Cache;
use config::Config;
use failed::failed;
use rows::Rows;
use transformer::Transformer;
use weights::Weights;

/// How many attention scores are in memory at once: longer prompts are read in pieces.
const ATTENTION_NUMBERS: usize = 1 << 26;

/// The device of an engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CandleDevice {
    /// On all cores, in `f32`.
    #[default]
    Cpu,
    /// On the NVIDIA GPU with this number, in the type of the weights; needs the feature `cuda`.
    Cuda(usize),
}

/// A Llama-like model (Llama, Mistral, Qwen2, Qwen3) with its weights.
///
/// Prompts are continued side by side. Each is read alone and has its own cache, and every step computes `max_num_seqs`
/// rows, even if there are fewer sequences. On the CPU, an answer therefore has the same bits whatever else is
/// answered, as long as
/// `max_num_seqs` is the same. On a GPU, it is the same up to rounding.
///
/// The cache of a dialogue is kept: its next prompt is read from the first token that is not in it.
///
/// ```
/// use metatok::engine::{CandleEngine, Engine, Request};
/// use metatok::{ChatMessage, Conversation, PromptBuilder};
///
/// let (builder, engine) = (PromptBuilder::demo()?, CandleEngine::demo()?);
/// let question = ChatMessage::new("user", "What is the capital of France?");
/// let prompt = builder.build(&Conversation::Messages(vec![question]))?;
/// let request = Request::new(&prompt.input_ids, 20);
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

impl fmt::Debug for CandleEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, max_seq_len, vocab_size, .. } = self;
        let mut debug = f.debug_struct("CandleEngine");
        debug.field("device", device).field("max_seq_len", max_seq_len).field("vocab_size", vocab_size);
        debug.finish_non_exhaustive()
    }
}

impl CandleEngine {
    /// Loads weights by name: a folder with `config.json` and `model.safetensors`, or its index and shards, as written
    /// by `transformers`; `demo`, which is embedded; or a repository of the Hugging Face Hub, `org/name` or
    /// `org/name@revision`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] names what was looked for. [`ErrorKind::UnsupportedModel`] says what the engine does not
    /// support, which tensor is missing, unexpected or of another shape, or that there is no such device.
    pub fn load(name: &str, device: CandleDevice) -> Result<Self> {
        let device = match device {
            CandleDevice::Cpu => Device::Cpu,
            CandleDevice::Cuda(_) if !candle_core::utils::cuda_is_available() => {
                return Err(ErrorKind::MissingFeature { what: "CUDA", feature: "cuda" }.into());
            }
            CandleDevice::Cuda(number) => Device::new_cuda(number).map_err(failed)?,
        };
        let load = || {
            let config = weights::config(name)?;
            let config = Config::new(&config).at(Place::file("config.json"))?;
            let transformer = Transformer::new(&config, Weights::load(name, &device)?, &device)?;
            let (max_seq_len, vocab_size) = (config.max_seq_len(), config.vocab_size);
            Ok(Self { transformer, device: device.clone(), max_seq_len, vocab_size })
        };
        load().map_err(|error: Error| error.at(Place::file(name)))
    }

    /// The files that [`Self::load`] reads; none for `demo`. Those of a repository are downloaded.
    ///
    /// # Errors
    /// The same as for [`Self::load`] if there is no such file.
    pub fn files(name: &str) -> Result<Vec<PathBuf>> {
        weights::files(name).at(Place::file(name))
    }

    /// How the model's `generation_config.json` wants answers sampled. Without that file, greedily.
    ///
    /// # Errors
    /// The same as for [`Sampling::of_generation_config`], with the file; if there are no such weights.
    pub fn default_sampling(name: &str) -> Result<Sampling> {
        weights::generation_config(name)?.map_or_else(
            || Ok(Sampling::default()),
            |(place, json)| Sampling::of_generation_config(&json).at(Place::file(place)),
        )
    }

    /// The embedded model, which knows the answers to the demo's conversations, on the CPU.
    ///
    /// # Errors
    /// None that a user could cause.
    pub fn demo() -> Result<Self> {
        Self::load("demo", CandleDevice::Cpu)
    }

    /// The logits after every token: prompts, tokens, vocabulary. Those of padding have no meaning.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideVocabulary`] names an id that the model does not have. [`ErrorKind::ContextFull`] if a row
    /// is longer than the context.
    pub fn logits(&self, batch: &Batch<u32>) -> Result<Array3<f32>> {
        self.logits_of(&Rows::of_batch(batch))
    }

    /// The logits after every token of prompts that share rows: rows, tokens, vocabulary. No prompt sees another.
    ///
    /// # Errors
    /// The same as for [`Self::logits`].
    pub fn packed_logits(&self, pack: &Pack<u32>) -> Result<Array3<f32>> {
        self.logits_of(&Rows::of_pack(pack))
    }

    fn logits_of(&self, rows: &Rows) -> Result<Array3<f32>> {
        self.check(rows.ids(), rows.width())?;
        let mut logits = Array3::zeros((rows.len(), rows.width(), self.vocab_size));
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
        self.read(rows, &mut self.transformer.cache(), &mut add).map_err(failed)?;
        Ok(logits)
    }

    /// Reads what is not in the cache yet, in pieces, and passes on the last layer's output for each.
    fn read(
        &self,
        rows: &Rows,
        cache: &mut Cache,
        each: &mut dyn FnMut(&Tensor) -> candle_core::Result<()>,
    ) -> candle_core::Result<()> {
        if rows.len() * rows.width() == 0 {
            return Ok(());
        }
        let width = rows.width();
        let piece = (ATTENTION_NUMBERS / (rows.len() * self.transformer.heads() * width)).clamp(1, width);
        for start in (cache.len()..width).step_by(piece) {
            let (ids, positions, mask) = rows.piece(start, width.min(start + piece), &self.device)?;
            each(&self.transformer.forward(&ids, &positions, &mut Masked { cache, mask })?)?;
        }
        Ok(())
    }

    /// Rejects ids that the model does not have, and rows that are longer than its context.
    fn check(&self, mut ids: impl Iterator<Item = TokenId>, tokens: usize) -> Result<()> {
        if let Some(id) = ids.find(|id| *id as usize >= self.vocab_size) {
            return Err(ErrorKind::OutsideVocabulary { id: id.into(), size: self.vocab_size }.into());
        }
        if tokens > self.max_seq_len {
            return Err(ErrorKind::ContextFull { tokens, max_seq_len: self.max_seq_len }.into());
        }
        Ok(())
    }
}
