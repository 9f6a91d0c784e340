//! The options of a request to a server: sampling, limits and ids.

use serde_json::{Map, Value};

use crate::dataset::SamplingParams;
use crate::engine::Sampling;
use crate::error::Result;

/// The default limit on an answer's tokens. Servers' own defaults range from 16 to no limit.
pub const DEFAULT_MAX_OUT_LEN: usize = 512;

/// The options of requests to a server: how answers are sampled, how long they may be, and how the ids of requests
/// begin. The default is greedy.
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
/// let (id, mut line) = (serde_json::value::to_raw_value(&3)?, Vec::new());
/// sink.write(&PromptKey::of(&id), &(&prompt).into(), &mut line)?;
/// let request: serde_json::Value = serde_json::from_slice(&line).expect("it is JSON");
/// assert_eq!((&request["request_id"], &request["seed"], &request["temperature"]), (&"night-3".into(), &7.into(), &0.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// Sampling parameters. Each overrides the dataset's value, see [`PromptKey`](crate::sink::PromptKey).
    pub sampling: SamplingParams,
    /// The seed of the samples, if any.
    pub seed: Option<u64>,
    /// More keys of a request, with their values. They override all others.
    pub params: Map<String, Value>,
    /// The limit on an answer's tokens, if its prompt has none.
    pub max_out_len: u64,
    /// The prefix of all requests' ids, so that those of two runs differ.
    pub run_id: Option<String>,
    /// The model's name on the server.
    pub served_model_name: Option<String>,
    /// Whether to stream answers.
    pub stream: bool,
    /// Whether to leave out stop strings beyond those that the server takes, because whoever sends the requests looks for
    /// all of them.
    pub few_stops: bool,
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
            few_stops: false,
        }
    }
}

impl RequestOptions {
    /// Checks the range of each parameter.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for a temperature or `top_p` out of range.
    pub fn check(&self) -> Result<()> {
        Sampling::default().with(self.sampling).check()
    }
}
