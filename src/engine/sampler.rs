//! Choosing the next token from the model's logits.

use std::borrow::Cow;
use std::collections::HashSet;
use std::num::NonZeroUsize;

use rand_mt::Mt64;

use crate::dataset::SamplingParams;
use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;

/// How tokens are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Divides the logits; at zero, the likeliest token is always chosen.
    pub temperature: f64,
    /// Only the likeliest tokens are sampled whose probabilities add up to this.
    pub top_p: f64,
    /// Draws only from this many of the likeliest tokens, before [`Self::top_p`]. None means all.
    pub top_k: Option<NonZeroUsize>,
    /// Makes tokens less likely that the prompt or the answer has already, as in transformers: their logits are divided
    /// by it, or multiplied where they are negative. 1 changes nothing.
    pub repetition_penalty: f64,
    /// What is drawn depends on this and on [`Self::stream`] alone.
    pub seed: u64,
    /// Distinguishes prompts with the same seed.
    pub stream: u64,
}

impl Default for Sampling {
    /// Always the likeliest token.
    fn default() -> Self {
        Self { temperature: 0.0, top_p: 1.0, top_k: None, repetition_penalty: 1.0, seed: 0, stream: 0 }
    }
}

impl Sampling {
    /// These values, replaced by the parameters that are given.
    ///
    /// ```
    /// use metatok::dataset::prompter::SamplingParams;
    /// use metatok::engine::Sampling;
    ///
    /// let usual = Sampling { top_p: 0.8, top_k: std::num::NonZeroUsize::new(20), ..Sampling::default() };
    /// let params = SamplingParams { temperature: Some(0.7), top_k: Some(-1), ..SamplingParams::default() };
    /// let sampling = usual.with(params);
    /// assert_eq!((sampling.temperature, sampling.top_p, sampling.top_k), (0.7, 0.8, None));
    /// ```
    #[must_use]
    pub fn with(self, params: SamplingParams) -> Self {
        let SamplingParams { temperature, top_p, top_k } = params;
        // 0 and -1 are all tokens.
        let number = |top_k: i64| usize::try_from(top_k).ok().and_then(NonZeroUsize::new);
        Self {
            temperature: temperature.unwrap_or(self.temperature),
            top_p: top_p.unwrap_or(self.top_p),
            top_k: top_k.map_or(self.top_k, number),
            ..self
        }
    }

    /// Whether the values are valid.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] names a temperature, `top_p` or repetition penalty out of range.
    pub fn check(&self) -> Result<()> {
        let what = if !(0.0..=f64::MAX).contains(&self.temperature) {
            format!("temperature is {}, but must be a finite number, 0 or more", self.temperature)
        } else if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            format!("top_p is {}, but must be above 0 and at most 1", self.top_p)
        } else if !(self.repetition_penalty > 0.0 && self.repetition_penalty <= f64::MAX) {
            format!("repetition_penalty is {}, but must be a finite number above 0", self.repetition_penalty)
        } else {
            return Ok(());
        };
        Err(ErrorKind::Usage(what).into())
    }
}

/// Chooses the tokens of one answer.
///
/// ```
/// use metatok::engine::{Sampler, Sampling};
///
/// let mut greedy = Sampler::new(Sampling::default())?;
/// assert_eq!(greedy.sample(&[0.1, 2.0, 2.0, -1.0])?, 1);
/// // Half of it all is token 1 alone.
/// let mut nucleus = Sampler::new(Sampling { temperature: 1.0, top_p: 0.5, ..Sampling::default() })?;
/// assert_eq!(nucleus.sample(&[0.1, 3.0, 2.0, -1.0])?, 1);
/// let likeliest = Sampling { temperature: 9.0, top_k: std::num::NonZeroUsize::new(1), ..Sampling::default() };
/// assert_eq!(Sampler::new(likeliest)?.sample(&[0.1, 3.0, 2.0, -1.0])?, 1);
/// let penalty = Sampling { repetition_penalty: 4.0, ..Sampling::default() };
/// let mut sampler = Sampler::new(penalty)?;
/// sampler.see(&[1]);
/// assert_eq!([sampler.sample(&[0.1, 3.0, 2.0, -1.0])?, sampler.sample(&[0.1, 3.0, 2.0, -1.0])?], [2, 1]);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug)]
pub struct Sampler {
    sampling: Sampling,
    random: Mt64,
    /// The tokens that the repetition penalty is for.
    seen: HashSet<TokenId>,
    /// Tokens and their probabilities, kept to reuse the memory.
    drawn_from: Vec<(TokenId, f64)>,
}

impl Sampler {
    /// For one answer.
    ///
    /// # Errors
    /// The same as for [`Sampling::check`].
    pub fn new(sampling: Sampling) -> Result<Self> {
        sampling.check()?;
        let random = Mt64::new_with_key([sampling.seed, sampling.stream]);
        Ok(Self { sampling, random, seen: HashSet::new(), drawn_from: Vec::new() })
    }

    /// Takes the prompt, for the repetition penalty. Answer tokens are recorded by [`Self::sample`].
    pub fn see(&mut self, ids: &[TokenId]) {
        if self.sampling.repetition_penalty != 1.0 {
            self.seen.extend(ids);
        }
    }

    /// The next token, whose id is its index among the logits. If several are likeliest, the first one.
    ///
    /// # Errors
    /// [`ErrorKind::Engine`] if the largest logit is infinite, or none is a number.
    pub fn sample(&mut self, logits: &[f32]) -> Result<TokenId> {
        let id = self.choose(&self.penalized(logits))?;
        self.see(&[id]);
        Ok(id)
    }

    fn penalized<'l>(&self, logits: &'l [f32]) -> Cow<'l, [f32]> {
        let penalty = self.sampling.repetition_penalty as f32;
        let mut logits = Cow::Borrowed(logits);
        for &id in &self.seen {
            if let Some(logit) = logits.to_mut().get_mut(id as usize) {
                *logit = if *logit < 0.0 { *logit * penalty } else { *logit / penalty };
            }
        }
        logits
    }

    fn choose(&mut self, logits: &[f32]) -> Result<TokenId> {
        let numbers = (0..).zip(logits.iter().copied()).filter(|(_, logit)| !logit.is_nan());
        let likeliest = numbers.clone().reduce(|best, next| if next.1 > best.1 { next } else { best });
        let (likeliest, max) = likeliest.unwrap_or((0, f32::NAN));
        if !max.is_finite() {
            let what =
                format!("the model's largest logit is {max}: its weights are damaged, or their type is too small");
            return Err(ErrorKind::Engine(what).into());
        }
        let Sampling { temperature, top_p, top_k, .. } = self.sampling;
        if temperature == 0.0 {
            return Ok(likeliest);
        }
        let weight = |logit: f32| ((f64::from(logit) - f64::from(max)) / temperature).exp();
        let total: f64 = numbers.clone().map(|(_, logit)| weight(logit)).sum();
        self.drawn_from.clear();
        self.drawn_from.extend(numbers.map(|(id, logit)| (id, weight(logit) / total)));
        if let Some(top_k) = top_k {
            self.keep_likeliest(top_k.get());
        }
        if top_p < 1.0 {
            // The probabilities below add up to less than what is left out, so that few are sorted.
            let least = (1.0 - top_p) / self.drawn_from.len() as f64;
            self.drawn_from.retain(|(_, probability)| *probability >= least);
            self.drawn_from.sort_by(|a, b| b.1.total_cmp(&a.1));
            let mut sum = 0.0;
            let enough = self.drawn_from.iter().position(|(_, probability)| {
                sum += probability;
                sum >= top_p
            });
            self.drawn_from.truncate(enough.map_or(usize::MAX, |last| last + 1));
        }
        let total: f64 = self.drawn_from.iter().map(|(_, probability)| probability).sum();
        let mut left = self.uniform() * total;
        let drawn = self.drawn_from.iter().find(|(_, probability)| {
            left -= probability;
            left < 0.0
        });
        Ok(drawn.map_or(likeliest, |(id, _)| *id))
    }

    /// Keeps this many of the likeliest tokens, and scales their probabilities to a sum of 1.
    fn keep_likeliest(&mut self, count: usize) {
        let drawn_from = &mut self.drawn_from;
        let likelier = |a: &(TokenId, f64), b: &(TokenId, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if count < drawn_from.len() {
            drawn_from.select_nth_unstable_by(count, likelier);
            drawn_from.truncate(count);
        }
        // What is left is in no order that could be relied on.
        drawn_from.sort_by(likelier);
        let total: f64 = drawn_from.iter().map(|(_, probability)| probability).sum();
        drawn_from.iter_mut().for_each(|(_, probability)| *probability /= total);
    }

    /// From 0 to below 1, in steps of 2^-53.
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
