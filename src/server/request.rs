//! The common parts of all engines' requests: the id, the sampling, the stops, and the checks.

use serde_json::{Map, Value};

use crate::assemble::IGNORE_INDEX;
use crate::builder::PromptBuilder;
use crate::conversation::Mode;
use crate::error::{ErrorKind, Result, Setting, Warning, way_out};
use crate::server::engine_keys::EngineKeys;
use crate::server::nested_params::NestedParams;
use crate::server::object::Object;
use crate::server::request_id::request_id;
use crate::sink::{
    BuiltPrompt, PromptKey, RequestOptions, no_place_for_scores, refuse_choices_and_media, refuse_unless_plain,
    write_ids, write_json,
};
use crate::stop::{StopId, StopSource};
use crate::tokenizer::TokenId;

/// The sampling of an answer, with a value for every parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sampled {
    pub(super) max_tokens: u64,
    pub(super) temperature: f64,
    pub(super) top_p: f64,
    pub(super) top_k: i64,
    pub(super) seed: Option<u64>,
}

/// The requests for one engine.
#[derive(Debug)]
pub(super) struct Requests {
    pub(super) engine: &'static EngineKeys,
    pub(super) options: RequestOptions,
    /// The user's own keys, where each is written.
    pub(super) params: NestedParams,
    /// The limit on new tokens if prompts are texts to score.
    scored_max_tokens: Option<u64>,
    pub(super) stop_token_ids: Vec<TokenId>,
    /// As JSON. They are the same for every request.
    stop: Vec<u8>,
    has_stop: bool,
    pub(super) warnings: Vec<Warning>,
}

impl Requests {
    /// Requests for the prompts of a builder.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for options that the engine does not take, and for texts to score if it scores none.
    pub(super) fn new(engine: &'static EngineKeys, builder: &PromptBuilder, options: RequestOptions) -> Result<Self> {
        options.check()?;
        // Servers refuse options of a stream for an answer in one piece.
        let stream = options.stream && options.params.get("stream").is_none_or(|stream| *stream == Value::Bool(true));
        let options = RequestOptions { stream, ..options };
        check_model(engine, &options)?;
        check_params(engine, &options.params)?;
        let warnings = check_seed(engine, options.seed)?.into_iter().collect();
        let scored_max_tokens = match builder.mode() {
            Mode::Generate => None,
            Mode::Score => Some(engine.scored_max_tokens.ok_or_else(|| no_place_for_scores(engine.name))?),
        };
        let stops = builder.stop();
        let mut stop = Vec::new();
        write_json(stops.strings(), &mut stop);
        Ok(Self {
            engine,
            params: NestedParams::new(&options.params, engine.request_keys),
            options,
            scored_max_tokens,
            stop_token_ids: stops.stop_token_ids().collect(),
            stop,
            has_stop: !stops.strings().is_empty(),
            warnings,
        })
    }

    /// Adds a warning about stop strings, if there are any.
    pub(super) fn warn_of_strings(mut self, what: &str) -> Self {
        if self.has_stop && !self.options.params.contains_key("stop") {
            self.warnings.push(Warning::new("stop-strings", what));
        }
        self
    }

    /// Leaves out stop strings beyond those that the engine takes, or adds a warning.
    pub(super) fn at_most_strings(mut self, builder: &PromptBuilder, most: usize) -> Self {
        let strings = builder.stop().strings();
        let count = strings.len();
        if count <= most {
            return self;
        }
        if self.options.few_stops {
            self.stop.clear();
            write_json(&strings[..most], &mut self.stop);
            return self;
        }
        let name = self.engine.name;
        self.warn_of_strings(&format!(
            "{name} answers 400 to a request with more than {most} stop strings, and there are {count}"
        ))
    }

    /// Adds a warning about the stop ids that a server ignores: it stops only at the end tokens of its own files, which
    /// were taken from the tokenizer's. Trimming finds them in the ids of its answers.
    pub(super) fn warn_of_ignored_ids(self, builder: &PromptBuilder) -> Self {
        self.warn_of_ids(builder, |what| Warning::new("stop-ids-ignored", format!("{what}; trimming cuts at them")))
    }

    /// Adds a warning about the stop ids that a server ignores, where nothing finds them in its answers, which are text.
    pub(super) fn warn_of_lost_ids(self, builder: &PromptBuilder) -> Self {
        self.warn_of_ids(builder, |what| {
            let what = format!("{what}; its answers are text, in which trimming cannot find them either");
            Warning::new("stop-ids-lost", what).with_way_out(way_out![
                "use the server's own form, or give the text of a stop with ",
                Setting::STOP_STRINGS
            ])
        })
    }

    fn warn_of_ids(mut self, builder: &PromptBuilder, warning: impl FnOnce(String) -> Warning) -> Self {
        let is_of_tokenizer = |stop: &&StopId| {
            let mut sources = stop.sources.iter();
            sources.any(|source| matches!(source, StopSource::TokenizerConfig | StopSource::GenerationConfig))
        };
        let token = |stop: &StopId| format!("{} (id {})", builder.tokenizer().quoted_token(stop.id), stop.id);
        let stops = builder.stop().ids().iter();
        let ignored: Vec<String> = stops.filter(|stop| !is_of_tokenizer(stop)).map(token).collect();
        if !ignored.is_empty() {
            let what = format!(
                "{} stops at its model's own end tokens and ignores the stop ids that the tokenizer's files do not name: {}",
                self.engine.name,
                ignored.join(", ")
            );
            self.warnings.push(warning(what));
        }
        self
    }

    /// Rejects prompts that no server takes.
    pub(super) fn check(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<()> {
        match self.scores_texts() {
            true => refuse_choices_and_media(self.engine.name, built)?,
            false => refuse_unless_plain(self.engine.name, key, built)?,
        }
        match built.prompt.input_ids.is_empty() {
            true => {
                Err(ErrorKind::Row(format!("{} refuses an empty prompt, and this one has no tokens", self.engine.name))
                    .into())
            }
            false => Ok(()),
        }
    }

    /// Whether its prompts are texts to score.
    pub(super) fn scores_texts(&self) -> bool {
        self.scored_max_tokens.is_some()
    }

    pub(super) fn id(&self, key: &PromptKey<'_>) -> String {
        request_id(self.options.run_id.as_deref(), key)
    }

    /// How the answer to a prompt is sampled: by the user's parameters, then the dataset's, and otherwise greedily.
    pub(super) fn sampled(&self, key: &PromptKey<'_>) -> Sampled {
        let params = self.options.sampling.or(key.sampling_params);
        let temperature = params.temperature.unwrap_or(0.0);
        let is_greedy = self.options.params.get("temperature").map_or(temperature, own_temperature) == 0.0;
        Sampled {
            max_tokens: self.scored_max_tokens.or(key.max_out_len).unwrap_or(self.options.max_out_len),
            temperature,
            top_p: params.top_p.unwrap_or(1.0),
            top_k: match params.top_k {
                _ if is_greedy => self.engine.greedy_top_k,
                Some(top_k) if top_k > 0 => top_k,
                _ => self.engine.all_tokens,
            },
            seed: self.seed(key.repeat.unwrap_or_default() as u64),
        }
    }

    /// The seed of a prompt. Each repeat of a row has its own, because with the same one all samples would be the same.
    fn seed(&self, repeat: u64) -> Option<u64> {
        let (seed, (_, largest)) = (self.options.seed?, self.engine.seed?);
        let left = largest.saturating_sub(seed);
        // After the largest one comes 0.
        Some(if repeat > left { repeat - left - 1 } else { seed + repeat })
    }

    /// `"max_tokens":512,"temperature":0,…`
    pub(super) fn write_sampling(&self, key: &PromptKey<'_>, object: &mut Object<'_>) {
        let Sampled { max_tokens, temperature, top_p, top_k, seed } = self.sampled(key);
        object.json(self.engine.max_tokens, max_tokens);
        object.json("temperature", temperature);
        object.json("top_p", top_p);
        object.json("top_k", top_k);
        for (name, value) in self.engine.off {
            object.json(name, value);
        }
        if let (Some((name, _)), Some(seed)) = (self.engine.seed, seed) {
            object.json(name, seed);
        }
    }

    pub(super) fn write_model(&self, object: &mut Object<'_>) {
        if let Some(model) = &self.options.served_model_name {
            object.string("model", model);
        }
    }

    pub(super) fn write_prompt(&self, name: &str, built: &BuiltPrompt<'_>, object: &mut Object<'_>) {
        if let Some(out) = object.key(name) {
            write_ids(&built.prompt.input_ids, out);
        }
    }

    /// `"stop_token_ids":[…],"stop":[…]`
    pub(super) fn write_stops(&self, object: &mut Object<'_>) {
        self.write_stop_ids(object);
        if let Some(out) = object.key("stop") {
            out.extend_from_slice(&self.stop);
        }
    }

    /// Writes the stops for engines that reject an empty list of strings.
    pub(super) fn write_stops_if_any(&self, object: &mut Object<'_>) {
        if self.has_stop { self.write_stops(object) } else { self.write_stop_ids(object) }
    }

    /// `"stop":[…]`, for engines without stop ids that reject an empty list.
    pub(super) fn write_strings_if_any(&self, object: &mut Object<'_>) {
        if self.has_stop
            && let Some(out) = object.key("stop")
        {
            out.extend_from_slice(&self.stop);
        }
    }

    fn write_stop_ids(&self, object: &mut Object<'_>) {
        if let Some(out) = object.key("stop_token_ids") {
            write_ids(&self.stop_token_ids, out);
        }
    }

    pub(super) fn write_stream(&self, object: &mut Object<'_>) {
        if self.options.stream {
            object.json("stream", true);
        }
    }

    /// Writes the options of a stream for APIs like OpenAI's, which count tokens at the end only on request.
    pub(super) fn write_openai_stream(&self, object: &mut Object<'_>) {
        self.write_stream(object);
        if self.options.stream {
            object.json("stream_options", r#"{"include_usage":true}"#);
        }
    }
}

/// The temperature that a parameter of the request sets in place of metatok's: 1 if only the server knows it.
fn own_temperature(value: &Value) -> f64 {
    value.as_f64().unwrap_or(1.0)
}

/// The index of the first scored token of a text.
pub(super) fn first_scored(built: &BuiltPrompt<'_>) -> usize {
    let labels = built.labels.unwrap_or_default();
    labels.iter().position(|label| *label != IGNORE_INDEX).unwrap_or_default()
}

fn check_model(engine: &EngineKeys, options: &RequestOptions) -> Result<()> {
    if !engine.needs_model || options.served_model_name.is_some() || options.params.contains_key("model") {
        return Ok(());
    }
    let what = format!("a request to {} must name the model, but there is no name", engine.name);
    Err(ErrorKind::Usage(what).with_way_out(way_out!["set the server's name for it with ", Setting::SERVED_MODEL_NAME]))
}

fn check_params(engine: &EngineKeys, params: &Map<String, Value>) -> Result<()> {
    match engine.prompt_keys.iter().find(|key| params.contains_key(**key)) {
        Some(key) => {
            let what = format!(
                "{key:?} is set for each prompt in requests to {}, so no parameter can replace it; leave it out",
                engine.name
            );
            Err(ErrorKind::Usage(what).into())
        }
        None => Ok(()),
    }
}

fn check_seed(engine: &EngineKeys, seed: Option<u64>) -> Result<Option<Warning>> {
    match (seed, engine.seed) {
        (Some(seed), Some((_, largest))) if seed > largest => {
            let what = format!("the seed {seed} is larger than {largest}, the largest that {} takes", engine.name);
            Err(ErrorKind::Usage(what).into())
        }
        (Some(_), None) => {
            let what = format!("{}'s requests have no key for a seed, so its samples cannot be repeated", engine.name);
            Ok(Some(Warning::new("no-seed", what)))
        }
        _ => Ok(None),
    }
}
