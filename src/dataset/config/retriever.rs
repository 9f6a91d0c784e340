//! The retriever of a dataset file, with the keys that OpenCompass's retrievers accept.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::dataset::config::class_name;
use crate::dataset::retriever::{MOST_EXAMPLES, RetrieverConfig, RetrieverKind, too_many};
use crate::error::{ErrorKind, Result};

/// A retriever as written in the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetrieverFile {
    #[serde(default, rename = "type", deserialize_with = "class_name::variant")]
    class: Class,
    fix_id_list: Option<Vec<i64>>,
    ice_num: Option<usize>,
    seed: Option<u32>,
    leave_out_row: Option<bool>,
    neighbours: Option<PathBuf>,
    k: Option<usize>,
    ice_separator: Option<String>,
    ice_eos_token: Option<String>,
    // How OpenCompass finds rows by their embeddings, and chooses among them.
    #[serde(default, rename = "sentence_transformers_model_name")]
    _sentence_transformers_model_name: IgnoredAny,
    #[serde(default, rename = "tokenizer_name")]
    _tokenizer_name: IgnoredAny,
    #[serde(default, rename = "batch_size")]
    _batch_size: IgnoredAny,
    #[serde(default, rename = "candidate_num")]
    _candidate_num: IgnoredAny,
    #[serde(default, rename = "ce_model_name")]
    _ce_model_name: IgnoredAny,
    #[serde(default, rename = "ice_template")]
    _ice_template: IgnoredAny,
    #[serde(default, rename = "labels")]
    _labels: IgnoredAny,
    #[serde(default, rename = "prompt_template")]
    _prompt_template: IgnoredAny,
    #[serde(default, rename = "select_time")]
    _select_time: IgnoredAny,
    #[serde(default, rename = "scale_factor")]
    _scale_factor: IgnoredAny,
    #[serde(default, rename = "votek_k")]
    _votek_k: IgnoredAny,
    // The user names the files of the splits.
    #[serde(default, rename = "index_split")]
    _index_split: IgnoredAny,
    #[serde(default, rename = "test_split")]
    _test_split: IgnoredAny,
}

#[derive(Default, Clone, Copy, Deserialize)]
enum Class {
    #[default]
    #[serde(rename = "ZeroRetriever", alias = "zero")]
    Zero,
    #[serde(rename = "FixKRetriever", alias = "fixed")]
    Fixed,
    #[serde(rename = "RandomRetriever", alias = "random")]
    Random,
    #[serde(rename = "ContextSampler", alias = "context-sampler")]
    Sampled,
    #[serde(rename = "FirstNSampler", alias = "first-n")]
    FirstN,
    #[serde(rename = "BM25Retriever", alias = "bm25")]
    Bm25,
    #[serde(rename = "TopkRetriever", alias = "top-k")]
    // These choose with other models, or by the columns of their rows, and record their choice in the same way.
    #[serde(alias = "DPPRetriever", alias = "MDLRetriever", alias = "VotekRetriever", alias = "XiezhiRetriever")]
    TopK,
    #[serde(rename = "SlidingWindowRetriever", alias = "sliding-window")]
    SlidingWindow,
}

/// OpenCompass's retrievers, and lm-evaluation-harness's.
const DEFAULT_SEED: u32 = 43;
const DEFAULT_FEWSHOT_SEED: u32 = 1234;

impl RetrieverFile {
    pub(super) fn read(self) -> Result<RetrieverConfig> {
        let Self { class, fix_id_list, ice_num, seed, neighbours, k, ice_separator, ice_eos_token, .. } = self;
        let ice_num = ice_num.unwrap_or(1);
        if self.leave_out_row.is_some() && !matches!(class, Class::Sampled | Class::FirstN) {
            let what = "leave_out_row only applies to type = \"ContextSampler\" and \"FirstNSampler\"; remove it";
            return Err(ErrorKind::Dataset(what.into()).into());
        }
        let leave_out_row = self.leave_out_row.unwrap_or_default();
        let missing = |key: &str| ErrorKind::Dataset(format!("the key `{key}` is missing"));
        let kind = match class {
            Class::Zero => RetrieverKind::Zero,
            Class::Fixed => RetrieverKind::Fixed { fix_id_list: fix_id_list.ok_or_else(|| missing("fix_id_list"))? },
            Class::Random => RetrieverKind::Random { ice_num, seed: seed.unwrap_or(DEFAULT_SEED) },
            Class::Sampled => {
                RetrieverKind::Sampled { ice_num, seed: seed.unwrap_or(DEFAULT_FEWSHOT_SEED), leave_out_row }
            }
            Class::FirstN if ice_num > MOST_EXAMPLES => return Err(too_many("ice_num", ice_num).into()),
            Class::FirstN if leave_out_row => RetrieverKind::FirstOthers { ice_num },
            Class::FirstN => RetrieverKind::First { ice_num },
            Class::Bm25 => RetrieverKind::Bm25 { ice_num },
            Class::TopK => RetrieverKind::TopK { ice_num, neighbours },
            Class::SlidingWindow => RetrieverKind::SlidingWindow { k: k.ok_or_else(|| missing("k"))? },
        };
        Ok(RetrieverConfig { kind, ice_separator, ice_eos_token })
    }
}
