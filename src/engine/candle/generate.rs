//! Continuous batching: each step adds a token to every sequence, and where one ends the next request begins.

use std::num::NonZeroUsize;

use candle_core::Tensor;

use super::CandleEngine;
use super::attention::Separate;
use super::failed::failed;
use super::rows::Rows;
use super::slot::Slot;
use crate::batch::{Batch, Padding};
use crate::engine::{Engine, Request, Requests, Sampler};
use crate::error::{At, ErrorKind, Place, Result};

/// Every step computes a row for each slot, so more slots than this are a mistake.
const MOST_SLOTS: usize = 4096;

impl Engine for CandleEngine {
    fn max_seq_len(&self) -> Option<usize> {
        Some(self.max_seq_len)
    }

    fn generate(&self, requests: &mut dyn Requests, max_num_seqs: NonZeroUsize) -> Result<()> {
        if max_num_seqs.get() > MOST_SLOTS {
            let what = format!("{max_num_seqs} sequences side by side are too many; the most is {MOST_SLOTS}");
            return Err(ErrorKind::Usage(what).into());
        }
        let mut slots: Vec<Slot> = (0..max_num_seqs.get()).map(|_| Slot::new(self.transformer.cache())).collect();
        let mut begun = 0;
        loop {
            while slots.iter().any(Slot::is_free) && self.begin(&mut slots, begun, requests)? {
                begun += 1;
            }
            if slots.iter().all(Slot::is_free) {
                return Ok(());
            }
            let logits = self.step(&mut slots).map_err(failed)?;
            for (slot, logits) in slots.iter_mut().zip(logits) {
                slot.take(&logits, requests)?;
            }
        }
    }
}

impl CandleEngine {
    /// Reads the next request into a free slot. False if there is none.
    fn begin(&self, slots: &mut [Slot], number: usize, requests: &mut dyn Requests) -> Result<bool> {
        let Some(request) = requests.next()? else { return Ok(false) };
        self.check_request(&request).at(Place::Request(number))?;
        let mut sampler = Sampler::new(request.sampling)?;
        sampler.see(request.input_ids);
        // Where the prompt fills the context, one token is still known.
        let room = request.max_new_tokens.min((self.max_seq_len - request.input_ids.len()).max(1));
        match Slot::free_for(slots, request.dialogue) {
            Some(slot) if room > 0 => {
                let (cached_tokens, logits) = self.prefill(slot, &request)?;
                slot.run(number, sampler, room);
                requests.prefilled(number, cached_tokens)?;
                slot.take(&logits, requests)?;
            }
            _ => requests.end(number)?,
        }
        Ok(true)
    }

    fn check_request(&self, request: &Request<'_>) -> Result<()> {
        if request.input_ids.is_empty() {
            return Err(ErrorKind::Usage("there are no tokens to continue".into()).into());
        }
        self.check(request.input_ids.iter().copied(), request.input_ids.len())
    }

    /// Reads the part of a prompt that is not in the slot's cache. Returns how many tokens were in the cache, and the
    /// logits after the last token.
    fn prefill(&self, slot: &mut Slot, request: &Request<'_>) -> Result<(usize, Vec<f32>)> {
        let cached_tokens = slot.keep(request);
        // Alone, so that nothing is padded.
        let batch: Batch<u32> = Batch::new(&[request.input_ids], Padding::new(0))?;
        let mut last = None;
        let mut keep_last = |piece: &Tensor| -> candle_core::Result<()> {
            last = Some(piece.narrow(1, piece.dim(1)? - 1, 1)?);
            Ok(())
        };
        self.read(&Rows::of_batch(&batch), &mut slot.cache, &mut keep_last).map_err(failed)?;
        let last = last.ok_or_else(|| ErrorKind::Engine("nothing was left to read".into()))?;
        let logits = self.transformer.logits(&last).and_then(|logits| logits.flatten_all()?.to_vec1());
        Ok((cached_tokens, logits.map_err(failed)?))
    }

    /// Reads one further token of each sequence, and returns the logits after it. Free slots are computed too, because
    /// the shape of a matrix product affects its rounding.
    fn step(&self, slots: &mut [Slot]) -> candle_core::Result<Vec<Vec<f32>>> {
        let (ids, positions): (Vec<u32>, Vec<u32>) = slots.iter().map(Slot::next).unzip();
        let column = |numbers: Vec<u32>| Tensor::from_vec(numbers, (slots.len(), 1), &self.device);
        let (ids, positions) = (column(ids)?, column(positions)?);
        let mut attention = Separate { caches: slots.iter_mut().map(Slot::running_cache).collect() };
        let hidden = self.transformer.forward(&ids, &positions, &mut attention)?;
        slots.iter_mut().for_each(Slot::was_read);
        self.transformer.logits(&hidden)?.squeeze(1)?.to_vec2()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::ops::ControlFlow;

    use candle_core::Device;
    use rand_mt::Mt64;

    use super::super::config::Config;
    use super::super::transformer::Transformer;
    use super::super::weights::Weights;
    use super::*;
    use crate::engine::Sampling;
    use crate::tokenizer::TokenId;

    /// Weights that are large enough for every way in which matrix products are computed.
    fn engine() -> CandleEngine {
        let config = r#"{"architectures": ["LlamaForCausalLM"], "vocab_size": 1101, "hidden_size": 96, "hidden_act": "silu",
            "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-5,
            "max_position_embeddings": 512, "tie_word_embeddings": false}"#;
        let config = Config::new(config.as_bytes()).expect("it is one");
        let mut random = Mt64::new(3);
        let mut tensor = |dims: &[usize]| {
            let number = || (random.next_u64() >> 40) as f32 / (1 << 24) as f32 - 0.5;
            let numbers: Vec<f32> = std::iter::repeat_with(number).take(dims.iter().product()).collect();
            Tensor::from_vec(numbers, dims, &Device::Cpu).expect("the numbers fit")
        };
        let mut tensors = vec![
            ("model.embed_tokens.weight".to_owned(), tensor(&[1101, 96])),
            ("model.norm.weight".to_owned(), tensor(&[96])),
            ("lm_head.weight".to_owned(), tensor(&[1101, 96])),
        ];
        for layer in 0..2 {
            for (name, dims) in [
                ("input_layernorm", &[96][..]),
                ("self_attn.q_proj", &[96, 96]),
                ("self_attn.k_proj", &[32, 96]),
                ("self_attn.v_proj", &[32, 96]),
                ("self_attn.o_proj", &[96, 96]),
                ("post_attention_layernorm", &[96]),
                // A sum of this many products is computed in pieces.
                ("mlp.gate_proj", &[1101, 96]),
                ("mlp.up_proj", &[1101, 96]),
                ("mlp.down_proj", &[96, 1101]),
            ] {
                tensors.push((format!("model.layers.{layer}.{name}.weight"), tensor(dims)));
            }
        }
        let transformer = Transformer::new(&config, Weights::of(tensors), &Device::Cpu).expect("they fit");
        CandleEngine { transformer, device: Device::Cpu, max_seq_len: 512, vocab_size: 1101 }
    }

    fn prompt(seed: u32, len: u32) -> Vec<TokenId> {
        (0..len).map(|i| (i * i * 31 + seed * 97 + 5) % 1101).collect()
    }

    /// Lets a request run in this slot, for this many tokens.
    fn occupy(engine: &CandleEngine, slot: &mut Slot, input_ids: &[TokenId], tokens: usize) {
        engine.prefill(slot, &Request::new(input_ids, tokens)).expect("it is read");
        slot.run(0, Sampler::new(Sampling::default()).expect("greedy"), tokens);
    }

    /// Discards tokens.
    struct Sink;

    impl Requests for Sink {
        fn next(&mut self) -> Result<Option<Request<'_>>> {
            Ok(None)
        }

        fn token(&mut self, _: usize, _: TokenId) -> Result<ControlFlow<()>> {
            Ok(ControlFlow::Continue(()))
        }

        fn end(&mut self, _: usize) -> Result<()> {
            Ok(())
        }
    }

    /// The logits after each of 8 tokens of one sequence in this slot, as bits, while others come and go in the other
    /// slots.
    fn logits(engine: &CandleEngine, slots: usize, place: usize, mut company: VecDeque<(u32, u32)>) -> Vec<Vec<u32>> {
        let mut slots: Vec<Slot> = (0..slots).map(|_| Slot::new(engine.transformer.cache())).collect();
        occupy(engine, &mut slots[place], &prompt(1, 9), 40);
        let mut all = Vec::new();
        for _ in 0..8 {
            for slot in &mut slots {
                if slot.is_free()
                    && let Some((len, tokens)) = company.pop_front()
                {
                    occupy(engine, slot, &prompt(len, len), tokens as usize);
                }
            }
            let logits = engine.step(&mut slots).expect("it is computed");
            all.push(logits[place].iter().map(|logit| logit.to_bits()).collect());
            slots.iter_mut().zip(&logits).for_each(|(slot, logits)| slot.take(logits, &mut Sink).expect("it is taken"));
        }
        all
    }

    #[test]
    fn no_bit_depends_on_company_or_slot() {
        let engine = engine();
        let mut random = Mt64::new(9);
        let mut company = || (0..40).map(|_| (1 + random.next_u32() % 40, 1 + random.next_u32() % 4)).collect();
        for slots in [1, 2, 3, 5, 8, 13] {
            let alone = logits(&engine, slots, 0, VecDeque::new());
            for place in 0..slots {
                assert!(logits(&engine, slots, place, VecDeque::new()) == alone, "alone in slot {place} of {slots}");
                assert!(logits(&engine, slots, place, company()) == alone, "in company in slot {place} of {slots}");
            }
        }
    }
}
