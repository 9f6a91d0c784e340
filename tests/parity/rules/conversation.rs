//! Conditions on conversation templates and their messages.

use serde::Deserialize;
use serde_json::Value;

use crate::rules::job::listed;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MessageCondition {
    /// A pair of text and images has no image.
    PairWithoutImages,
    /// A pair of text and images has no text.
    PairWithoutText,
    /// It has the label "user" or "assistant", which is not the template's for that role; the prompts differ only in it.
    LabelNamesRole,
}

impl MessageCondition {
    pub(super) fn holds(&self, job: &Value, expected: &Value) -> bool {
        let mut messages = listed(job, "messages");
        match self {
            Self::PairWithoutImages => messages.any(|message| message["images"] == 0),
            Self::PairWithoutText => {
                messages.any(|message| message["images"].is_number() && message["content"].is_null())
            }
            Self::LabelNamesRole => messages.any(|message| {
                let role = ["user", "assistant"].iter().position(|role| message["label"] == *role);
                let is_by_role = job["found"]["prompt"] == job["labelled"]["by_role"];
                let is_literal = expected["prompt"] == job["labelled"]["literally"];
                let stops = ["stop_str", "stop_token_ids"];
                let has_stops = stops.iter().all(|key| job["found"][key] == expected[key]);
                let is_other = role.is_some_and(|role| message["label"] != job["roles"][role]);
                is_other && is_by_role && is_literal && has_stops
            }),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SystemTemplateCondition {
    /// Its field has a format, a conversion, an index or an attribute.
    FieldIsFormatted,
}

impl SystemTemplateCondition {
    pub(super) fn holds(&self, job: &Value) -> bool {
        match self {
            Self::FieldIsFormatted => {
                let text = job["system_template"].as_str().unwrap_or_default();
                [":", "!", "[", "."].iter().any(|then| text.contains(&format!("{{system_message{then}")))
            }
        }
    }
}
