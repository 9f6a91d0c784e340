//! What a request to a server asks for, beside its prompt.

use serde_json::{Map, Value};

use crate::dataset::SamplingParams;
use crate::engine::Sampling;
use crate::error::Result;

/// How many tokens an answer may have where nobody says: servers' own defaults differ, from 16 to no limit at all.
pub const DEFAULT_MAX_OUT_LEN: usize = 512;

/// What requests to a server ask for, beside their prompts: how answers are sampled, how long they may be, and by what id they
/// are told apart. The default is greedy.
///
/// ```
/// use metatok::server::RequestOptions;
/// use metatok::sink::{FormOptions, OutputForm, PromptKey, Sink};
/// use metatok::{Conversation, PromptBuilder};
///
/// let builder = PromptBuilder::demo()?;
/// let request = RequestOptions { seed: Some(7), run_id: Some("night".into()), ..RequestOptions::default() };
/// let options = FormOptions { request, ..FormOptions::default() };
/// let Sink::Lines(sink) = OutputForm::find("vllm")?.open(&builder, options)? else { panic!("its files are lines") };
/// let prompt = builder.build(&Conversation::Text("Once".into()))?;
/// let mut line = Vec::new();
/// sink.write(&PromptKey::of("3"), &(&prompt).into(), &mut line)?;
/// let request: serde_json::Value = serde_json::from_slice(&line).expect("it is JSON");
/// assert_eq!((&request["request_id"], &request["seed"], &request["temperature"]), (&"night-3".into(), &7.into(), &0.into()));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// How answers are sampled. Each of these wins over what the dataset says, see [`PromptKey`](crate::sink::PromptKey).
    pub sampling: SamplingParams,
    /// The seed of the samples, where one is wanted.
    pub seed: Option<u64>,
    /// Further keys of a request, with their values. They win over every other.
    pub params: Map<String, Value>,
    /// How many tokens an answer may have, where its prompt does not say.
    pub max_out_len: u64,
    /// What the ids of all requests begin with, so that those of two runs differ.
    pub run_id: Option<String>,
    /// The model's name at the server.
    pub served_model_name: Option<String>,
    /// Whether answers are streamed.
    pub stream: bool,
}

impl Default for RequestOptions {
    fn default() -> Self {
        Self {
            sampling: SamplingParams::default(),
            seed: None,
            params: Map::new(),
            max_out_len: DEFAULT_MAX_OUT_LEN as u64,
            run_id: None,
            served_model_name: None,
            stream: false,
        }
    }
}

impl RequestOptions {
    /// Whether answers can be sampled so.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) names a temperature or `top_p` out of range.
    pub fn check(&self) -> Result<()> {
        let SamplingParams { temperature, top_p, .. } = self.sampling;
        let greedy = Sampling::default();
        Sampling {
            temperature: temperature.unwrap_or(greedy.temperature),
            top_p: top_p.unwrap_or(greedy.top_p),
            ..greedy
        }
        .check()
    }
}
