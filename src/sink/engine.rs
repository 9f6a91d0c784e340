//! What the forms of engines have in common: the stops, who asks, and what no such form has room for.

use crate::builder::PromptBuilder;
use crate::error::{ErrorKind, Result, Setting, way_out};
use crate::sink::json::{write_ids, write_json};
use crate::sink::{BuiltPrompt, PromptKey};

/// The stops of a model as JSON, which are the same for every request.
#[derive(Debug)]
pub(super) struct Stops {
    ids: Vec<u8>,
    strings: Vec<u8>,
}

impl Stops {
    pub(super) fn new(builder: &PromptBuilder) -> Self {
        let (mut ids, mut strings) = (Vec::new(), Vec::new());
        write_ids(builder.stop().stop_token_ids(), &mut ids);
        write_json(builder.stop().strings(), &mut strings);
        Self { ids, strings }
    }

    /// `"stop_token_ids":[…],"stop":[…]`
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"stop_token_ids\":");
        out.extend_from_slice(&self.ids);
        out.extend_from_slice(b",\"stop\":");
        out.extend_from_slice(&self.strings);
    }
}

/// The prompt's id as a string, with the numbers of the repeat and the turn, as engines take it.
pub(super) fn request_id(key: &PromptKey<'_>) -> String {
    let mut id: String = serde_json::from_str(key.id).unwrap_or_else(|_| key.id.to_owned());
    for (name, number) in [("repeat", key.repeat), ("turn", key.turn)] {
        id.extend(number.map(|number| format!("-{name}-{number}")));
    }
    id
}

/// `,"max_tokens":5,"temperature":0.7`, the limit in the engine's word for it.
pub(super) fn write_sampling(name: &str, key: &PromptKey<'_>, out: &mut Vec<u8>) {
    if let Some(limit) = key.max_out_len {
        out.extend_from_slice(format!(",\"{name}\":{limit}").as_bytes());
    }
    for (name, value) in key.sampling_params.said() {
        out.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
    }
}

/// Refuses what is no prompt to continue by any tokens, and images beside token ids.
pub(super) fn refuse_unless_plain(engine: &str, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<()> {
    let what = if key.label.is_some() || key.is_normalizing || built.labels.is_some() {
        "a text to score"
    } else if !built.choice_ids.is_empty() {
        "a choice among tokens"
    } else if !built.prompt.media.is_empty() {
        "an image, audio or video beside token ids"
    } else {
        return Ok(());
    };
    let way_out = way_out!["build with ", Setting::FORMAT.set_to("ids"), " and send it yourself"];
    Err(ErrorKind::Usage(format!("{engine}'s form has no place for {what}")).with_way_out(way_out))
}
