//! What a server did in a run: how many tokens went there and back, and how long that took.

use std::time::Duration;

use crate::client::{FailedRequest, Finished};

/// What a server did in a run.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ServerTotals {
    /// How many requests were answered.
    pub requests: u64,
    /// How many requests have no answer after all attempts.
    pub failed: u64,
    /// How many attempts failed and were made again.
    pub retries: u64,
    /// How many tokens the prompts had.
    pub prompt_tokens: u64,
    /// How many tokens the server gave, as far as they are known.
    pub completion_tokens: u64,
    /// How many answers have neither ids nor a count of their tokens.
    pub uncounted: u64,
    /// How many tokens of the prompts it knew already, where it tells.
    pub cached_tokens: Option<u64>,
    /// In milliseconds, to the first piece of an answer.
    to_first_token: Vec<f32>,
    /// In milliseconds, to the end of an answer.
    latency: Vec<f32>,
}

impl ServerTotals {
    pub(super) fn see(&mut self, prompt_tokens: usize, finished: &Finished) {
        let milliseconds = |time: Duration| time.as_secs_f32() * 1e3;
        self.requests += 1;
        self.retries += u64::from(finished.attempts - 1);
        self.prompt_tokens += prompt_tokens as u64;
        let tokens = finished.answer.tokens().or(finished.answer.usage.completion_tokens);
        self.completion_tokens += tokens.unwrap_or_default() as u64;
        self.uncounted += u64::from(tokens.is_none());
        if let Some(cached) = finished.answer.usage.cached_tokens {
            *self.cached_tokens.get_or_insert_default() += cached as u64;
        }
        self.to_first_token.push(milliseconds(finished.to_first_token));
        self.latency.push(milliseconds(finished.latency));
    }

    pub(super) fn see_failed(&mut self, failed: &FailedRequest) {
        self.failed += 1;
        self.retries += u64::from(failed.attempts.saturating_sub(1));
    }

    /// The time to the first piece of an answer that this share of the requests, from 0 to 1, did not exceed.
    pub fn to_first_token(&mut self, share: f64) -> Option<Duration> {
        quantile(&mut self.to_first_token, share)
    }

    /// The time to the end of an answer that this share of the requests, from 0 to 1, did not exceed.
    pub fn latency(&mut self, share: f64) -> Option<Duration> {
        quantile(&mut self.latency, share)
    }
}

fn quantile(milliseconds: &mut [f32], share: f64) -> Option<Duration> {
    let last = milliseconds.len().checked_sub(1)?;
    let place = (share * last as f64).round() as usize;
    let (_, found, _) = milliseconds.select_nth_unstable_by(place.min(last), f32::total_cmp);
    Some(Duration::from_secs_f32(*found / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let of = |times: &[f32], share| quantile(&mut times.to_vec(), share).map(|time| time.as_millis());
        assert_eq!(of(&[], 0.5), None);
        assert_eq!(of(&[7.0], 0.99), Some(7));
        assert_eq!(of(&[3.0, 1.0, 2.0], 0.5), Some(2));
        assert_eq!(of(&[3.0, 1.0, 2.0], 0.99), Some(3));
        assert_eq!(of(&[3.0, 1.0, 2.0], 0.0), Some(1));
    }
}
