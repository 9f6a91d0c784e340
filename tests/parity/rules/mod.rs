//! The exceptions: when a case may differ from what is recorded.

mod conversation;
mod filled;
mod job;
mod messages;
mod meta;
mod prompt;
mod recorded;
mod template;

use conversation::{MessageCondition, SystemTemplateCondition};
use job::{inferencer, listed};
use meta::MetaCondition;
use prompt::PromptCondition;
use recorded::RecordedCondition;
use serde::Deserialize;
use serde_json::Value;
use template::TemplateCondition;

/// When a case may differ: every condition that the rule gives must hold for what the case holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) name: String,
    #[allow(dead_code, reason = "for readers")]
    reason: String,
    /// What is recorded is an exception of one of these types.
    #[serde(default)]
    recorded_error: Vec<String>,
    /// What is recorded is so.
    recorded: Option<RecordedCondition>,
    /// Something in the meta template is so.
    meta: Option<MetaCondition>,
    /// Something in the prompt is so.
    prompt: Option<PromptCondition>,
    /// Something in a dataset's template is so.
    template: Option<TemplateCondition>,
    /// Whether metatok gives an error.
    refused: Option<bool>,
    /// One of these inferencers asks; the parsers of a chat are ChatInferencer's.
    inferencer: Option<Vec<String>>,
    /// The conversation has images, and one of these styles.
    images_in: Option<Vec<String>>,
    /// Something in a message of the conversation is so.
    message: Option<MessageCondition>,
    /// The conversation template has no `sep`, and one of these styles.
    no_sep_in: Option<Vec<String>>,
    /// Something in the template of the system message is so.
    system_template: Option<SystemTemplateCondition>,
    /// The conversation template has at most so many roles.
    roles: Option<usize>,
    /// The conversation template's offset is below nothing.
    #[serde(default)]
    negative_offset: bool,
    /// UltraFeedback's script is this one, and the model's name has this in it.
    script: Option<(String, String)>,
    /// This is so in a case about where output ends.
    stop: Option<String>,
    /// One of these wrappers cuts the middle out of a text.
    cuts_text_by: Option<Vec<String>>,
}

impl Rule {
    pub(crate) fn matches(&self, job: &Value, expected: &Value) -> bool {
        self.fits_error(expected)
            && self.fits_inferencer(job)
            && self.fits_wrapper(job)
            && self.fits_conversation(job)
            && self.stop.as_ref().is_none_or(|fact| listed(job, "stop").any(|known| known == fact.as_str()))
            && self.refused.is_none_or(|refused| refused == (job["refused"] == true))
            && self.recorded.as_ref().is_none_or(|condition| condition.holds(job, expected))
            && self.meta.as_ref().is_none_or(|condition| condition.holds(job))
            && self.prompt.as_ref().is_none_or(|condition| condition.holds(job, expected))
            && self.template.as_ref().is_none_or(|condition| condition.holds(job))
            && self.message.as_ref().is_none_or(|condition| condition.holds(job, expected))
            && self.system_template.as_ref().is_none_or(|condition| condition.holds(job))
    }

    fn fits_error(&self, expected: &Value) -> bool {
        let error = expected.get("$error").and_then(Value::as_str);
        self.recorded_error.is_empty()
            || error.is_some_and(|error| self.recorded_error.iter().any(|known| known == error))
    }

    fn fits_inferencer(&self, job: &Value) -> bool {
        self.inferencer.as_ref().is_none_or(|known| known.iter().any(|name| inferencer(job) == Some(name)))
    }

    fn fits_wrapper(&self, job: &Value) -> bool {
        let cuts = |wrapper: &String| job["cuts_text_by"] == **wrapper;
        self.cuts_text_by.as_ref().is_none_or(|wrappers| wrappers.iter().any(cuts))
    }

    /// Whether what it says about the conversation template, its style and its script is so.
    fn fits_conversation(&self, job: &Value) -> bool {
        let is_in = |styles: &Vec<String>| styles.iter().any(|style| job["sep_style"] == **style);
        let has_images = || listed(job, "messages").any(|message| message["images"].as_u64().is_some_and(|n| n > 0));
        let is_by = |(script, model): &(String, String)| {
            let is_of_model = |name: &str| name.contains(model.as_str());
            job["script"] == **script && job["model_type"].as_str().is_some_and(is_of_model)
        };
        self.images_in.as_ref().is_none_or(|styles| is_in(styles) && has_images())
            && self.no_sep_in.as_ref().is_none_or(|styles| job["sep"].is_null() && is_in(styles))
            && self.roles.is_none_or(|n| job["roles"].as_array().is_some_and(|roles| roles.len() <= n))
            && (!self.negative_offset || job["offset"].as_i64().is_some_and(|offset| offset < 0))
            && self.script.as_ref().is_none_or(is_by)
    }
}
