//! Prompts one behind the other in memory, for files that are one only when all prompts are there.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::builder::PromptBuilder;
use crate::error::{ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::sink::form::Accepts;
use crate::sink::jsonl::write_key;
use crate::sink::{BuiltPrompt, PromptKey};
use crate::tokenizer::TokenId;

/// What files that are one only when all prompts are there have a place for: no columns.
pub(super) const FILE: Accepts = Accepts { columns: false, ..Accepts::LINE };

/// The name under which a file says what stands beside its prompts.
pub(super) const METADATA: &str = "metatok";

/// Where prompts stop, and what built them, which is the same for all of a file.
#[derive(Debug, Serialize)]
pub(super) struct Origin {
    stop_token_ids: Vec<TokenId>,
    stop: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
}

impl Origin {
    pub(super) fn new(builder: &PromptBuilder, fingerprint: Option<Fingerprint>) -> Self {
        let stop = builder.stop();
        Self { stop_token_ids: stop.stop_token_ids().collect(), stop: stop.strings().to_vec(), fingerprint }
    }
}

/// A file has nothing under [`METADATA`].
pub(super) fn not_ours() -> ErrorKind {
    ErrorKind::Parse("it was not written by metatok: it says nothing of its prompts".into())
}

/// Appends a record: two lengths, the key, the ids.
pub(super) fn write(key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    write_key(key, out);
    out.push(b'}');
    let key_len = out.len() - start - 8;
    out.extend(built.prompt.input_ids.iter().flat_map(|id| id.to_le_bytes()));
    for (at, len) in [(0, key_len), (4, built.prompt.input_ids.len())] {
        let len = u32::try_from(len).map_err(|_| ErrorKind::Usage("a prompt has more tokens than fit".into()))?;
        out[start + at..start + at + 4].copy_from_slice(&len.to_le_bytes());
    }
    Ok(())
}

/// The prompts that were appended, each with what tells it apart: a JSON object.
pub(super) fn read(mut records: &[u8]) -> (Vec<&RawValue>, Vec<Vec<TokenId>>) {
    let (mut keys, mut prompts) = (Vec::new(), Vec::new());
    while let Some((lengths, behind)) = records.split_first_chunk::<8>() {
        let length = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| lengths[at + byte])) as usize;
        let (key, behind) = behind.split_at(length(0));
        let (ids, behind) = behind.split_at(4 * length(4));
        keys.push(serde_json::from_slice(key).expect("`write` makes them"));
        prompts.push(ids.chunks_exact(4).map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]])).collect());
        records = behind;
    }
    (keys, prompts)
}
