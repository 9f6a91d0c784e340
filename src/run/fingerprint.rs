//! What the answers of a run depend on, as a fingerprint: no journal mixes answers with different settings.

use std::path::PathBuf;

use crate::build::InputOptions;
#[cfg(feature = "http")]
use crate::client::Client;
#[cfg(feature = "http")]
use crate::dataset::SamplingParams;
use crate::engine::Sampling;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::input::digest_of_file;
use crate::prepared::PreparedDataset;
use crate::run::RunOptions;
#[cfg(feature = "http")]
use crate::truncate::Truncation;

/// What answers a run. An engine need not be loaded yet.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AnsweredBy<'a> {
    /// An engine in this process.
    Engine {
        /// The files that it loads.
        files: Vec<PathBuf>,
        /// The device that it runs on.
        device: &'a str,
    },
    /// A server.
    #[cfg(feature = "http")]
    Server(&'a Client),
}

impl RunOptions {
    /// The fingerprint of a builder, with everything else that answers depend on. `inputs` are the digests of the inputs,
    /// see [`digest_of_input`](crate::input::digest_of_input).
    ///
    /// ```
    /// use metatok::run::{AnsweredBy, RunOptions};
    /// use metatok::{BuilderOptions, Fingerprint, Model, Tokenizer};
    ///
    /// let builder = Fingerprint::new(&Model::load("demo")?, &Tokenizer::demo()?, &BuilderOptions::default());
    /// let fingerprint = |max_out_len| {
    ///     let options = RunOptions { max_out_len, ..RunOptions::default() };
    ///     let answered_by = AnsweredBy::Engine { files: Vec::new(), device: "cpu" };
    ///     options.fingerprint(builder.clone(), None, answered_by, vec!["memory".into()])
    /// };
    /// assert_eq!(fingerprint(None)?, fingerprint(Some(512))?);
    /// assert_eq!(fingerprint(None)?.differences(&fingerprint(Some(9))?)[0].part, "max_out_len");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`InputOptions::fingerprint`]; errors of reading the engine's files.
    pub fn fingerprint(
        &self,
        builder: Fingerprint,
        dataset: Option<&PreparedDataset>,
        answered_by: AnsweredBy<'_>,
        inputs: Vec<String>,
    ) -> Result<Fingerprint> {
        let mut fingerprint = self.input(dataset).fingerprint(builder)?;
        if let Some(dataset) = dataset {
            fingerprint = dataset.fingerprint_of_keys(fingerprint);
        }
        if let Some(limit) = self.limit {
            fingerprint = fingerprint.with("limit", limit);
        }
        if let Some(max_seq_len) = self.max_seq_len {
            fingerprint = fingerprint.with("max_seq_len", max_seq_len);
        }
        let fingerprint = fingerprint
            .with("max_out_len", self.max_out_len())
            .with("strip_thoughts", self.strip_thoughts)
            .with("max_line_bytes", self.max_line_bytes)
            .with("input", inputs);
        answered_by.fingerprint(self, fingerprint)
    }

    fn input<'d>(&self, dataset: Option<&'d PreparedDataset>) -> InputOptions<'d> {
        let Self { input_format, max_seq_len, max_out_len, truncation, .. } = *self;
        InputOptions { dataset, answers: None, input_format, max_seq_len, max_out_len, truncation: Some(truncation) }
    }
}

fn with_sampling(fingerprint: Fingerprint, sampling: &Sampling) -> Fingerprint {
    let Sampling { temperature, top_p, top_k, repetition_penalty, .. } = *sampling;
    let mut fingerprint = fingerprint.with("temperature", temperature).with("top_p", top_p);
    if let Some(top_k) = top_k {
        fingerprint = fingerprint.with("top_k", top_k.get());
    }
    if repetition_penalty != 1.0 {
        fingerprint = fingerprint.with("repetition_penalty", repetition_penalty);
    }
    fingerprint
}

/// The parameters that a server is asked for. Those of a dataset are in its own part.
#[cfg(feature = "http")]
fn with_given(mut fingerprint: Fingerprint, sampling: &SamplingParams) -> Fingerprint {
    let SamplingParams { temperature, top_p, top_k } = *sampling;
    for (name, value) in [("temperature", temperature), ("top_p", top_p)] {
        if let Some(value) = value {
            fingerprint = fingerprint.with(name, value);
        }
    }
    match top_k {
        Some(top_k) => fingerprint.with("top_k", top_k),
        None => fingerprint,
    }
}

impl AnsweredBy<'_> {
    /// A server may have another address when a run is resumed.
    fn fingerprint(self, options: &RunOptions, fingerprint: Fingerprint) -> Result<Fingerprint> {
        Ok(match self {
            Self::Engine { files, device } => {
                let digests = files.iter().map(|path| digest_of_file(path)).collect::<Result<Vec<_>>>()?;
                with_sampling(fingerprint, &options.sampling)
                    .with("seed", options.sampling.seed)
                    .with("weights", digests)
                    .with("device", device)
                    .with("batch_size", options.batch_size.get())
                    // Where rows shared one cache, they were rounded together: such a journal must not be continued.
                    .with("kv_cache", "per-sequence")
            }
            #[cfg(feature = "http")]
            Self::Server(client) => {
                let served = &client.notes().served;
                let mut fingerprint = with_given(fingerprint, &options.request.sampling)
                    .with("engine", client.protocol().name)
                    .with("served_model_name", served.model.as_deref().unwrap_or_default())
                    .with("params", serde_json::Value::Object(options.request.params.clone()))
                    .with("keep_raw", client.keeps_raw());
                // What is left of a prompt that is too long depends on it.
                if options.truncation != Truncation::Refuse
                    && options.max_seq_len.is_none()
                    && let Some(max_model_len) = served.max_model_len
                {
                    fingerprint = fingerprint.with("max_model_len", max_model_len);
                }
                match options.request.seed {
                    Some(seed) => fingerprint.with("seed", seed),
                    None => fingerprint,
                }
            }
        })
    }
}
