//! The inferencer of a dataset file, with the keys that OpenCompass's and AISBench's inferencers accept.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::conversation::Mode;
use crate::dataset::config::class_name::ClassName;
use crate::dataset::prompter::{InferMode, Inferencer, InferencerKind, SamplingParams};
use crate::dataset::rows::Value;

/// An inferencer as written in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InferencerFile {
    #[serde(default, rename = "type")]
    class: Class,
    labels: Option<Vec<Value>>,
    labels_column: Option<String>,
    #[serde(default)]
    stopping_criteria: Vec<String>,
    #[serde(default)]
    gen_field_replace_token: String,
    normalizing_str: Option<String>,
    infer_mode: Option<InferMode>,
    /// Whether each empty turn of the model is generated.
    #[serde(default)]
    multiround: bool,
    max_out_len: Option<u64>,
    temperature: Option<f64>,
    do_sample: Option<bool>,
    generation_kwargs: Option<GenerationKwargs>,
    min_out_len: Option<Value>,
    sc_size: Option<Value>,
    // Settings of the model's run, not of its prompts. OpenCompass overwrites max_seq_len with the model's.
    #[serde(default, rename = "max_seq_len")]
    _max_seq_len: IgnoredAny,
    #[serde(default, rename = "batch_size")]
    _batch_size: IgnoredAny,
    #[serde(default, rename = "save_every")]
    _save_every: IgnoredAny,
    // In how many threads, and what is measured beside the answers.
    #[serde(default, rename = "max_infer_workers")]
    _max_infer_workers: IgnoredAny,
    #[serde(default, rename = "dump_timer")]
    _dump_timer: IgnoredAny,
    #[serde(default, rename = "dump_res_length")]
    _dump_res_length: IgnoredAny,
    // Which of SCInferencer's answers counts.
    #[serde(default, rename = "infer_type")]
    _infer_type: IgnoredAny,
}

/// Which inferencer, and from which package.
#[derive(Default)]
struct Class {
    name: ClassName,
    kind: InferencerKind,
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = ClassName::deserialize(deserializer)?;
        Ok(Self { kind: name.variant()?, name })
    }
}

/// The arguments of transformers' `generate`.
#[derive(Default, Deserialize)]
struct GenerationKwargs {
    do_sample: Option<bool>,
    #[serde(flatten)]
    params: SamplingParams,
    #[serde(flatten)]
    others: BTreeMap<String, Option<IgnoredAny>>,
}

impl InferencerFile {
    /// How often each prompt is asked. Other inferencers do not read this key.
    pub(super) fn sc_size(&self) -> Option<&Value> {
        self.sc_size.as_ref().filter(|_| self.class.name.bare() == "SCInferencer")
    }

    /// The keys on which answers may depend, and which are not passed on.
    fn unread_keys(&self) -> Vec<String> {
        let own = self.min_out_len.iter().map(|_| "min_out_len".to_owned());
        let others = self.generation_kwargs.iter().flat_map(|kwargs| &kwargs.others);
        let others = others.filter(|(key, value)| value.is_some() && *key != "use_cache");
        own.chain(others.map(|(key, _)| format!("generation_kwargs.{key}"))).collect()
    }

    /// The inferencer.
    pub(super) fn read(self) -> Inferencer {
        let unread_keys = self.unread_keys();
        let Self { class: Class { name, kind }, infer_mode, generation_kwargs, do_sample, temperature, .. } = self;
        let (kind, usual) = match kind {
            InferencerKind::Generate | InferencerKind::Turns if self.multiround => {
                (InferencerKind::Turns, InferMode::EveryEmpty)
            }
            // The last turn in OpenCompass, all in AISBench.
            InferencerKind::Chat if name.package() != Some("ais_bench") => (kind, InferMode::Last),
            _ => (kind, InferMode::Every),
        };
        let kwargs = generation_kwargs.unwrap_or_default();
        let params = SamplingParams { temperature: temperature.or(kwargs.params.temperature), ..kwargs.params };
        Inferencer {
            kind,
            labels: self.labels,
            labels_column: self.labels_column,
            // An empty one would end every answer before it begins.
            stopping_criteria: self.stopping_criteria.into_iter().filter(|string| !string.is_empty()).collect(),
            gen_field_replace_token: self.gen_field_replace_token,
            normalizing_str: self.normalizing_str,
            infer_mode: infer_mode.unwrap_or(usual),
            infer_mode_is_explicit: infer_mode.is_some() || name.package().is_some(),
            max_out_len: self.max_out_len.filter(|_| kind.mode() == Mode::Generate),
            unread_keys,
            sampling_params: params.of_transformers(do_sample.or(kwargs.do_sample)),
        }
    }
}
