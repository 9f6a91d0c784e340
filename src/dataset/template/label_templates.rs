//! The text of a prompt template: a string, a dialogue, or one of these for each label.

use crate::conversation::Conversation;
use crate::dataset::dataset_error;
use crate::dataset::rows::Value;
use crate::dataset::template::DialogueTemplate;
use crate::error::{At, Result};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Template {
    Text(String),
    Dialogue(DialogueTemplate),
    /// A template for each label. OpenCompass calls it "origin".
    Labels(Vec<(Value, LabelTemplate)>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum LabelTemplate {
    Text(String),
    Dialogue(DialogueTemplate),
    /// A list is accepted as a template until it is used.
    List,
}

/// A template that was chosen for a row.
pub(super) enum Chosen<'t> {
    Text(&'t str),
    Dialogue(&'t DialogueTemplate),
}

impl Template {
    pub(super) fn new(template: &Value) -> Result<Self> {
        match template {
            Value::Text(text) => Ok(Self::Text(text.clone())),
            Value::Dict(entries) => {
                if DialogueTemplate::is_one(entries) {
                    return Ok(Self::Dialogue(DialogueTemplate::new(template)?));
                }
                let label = |(label, template): &(Value, Value)| {
                    let template = match template {
                        Value::Text(text) => LabelTemplate::Text(text.clone()),
                        Value::Dict(_) => {
                            LabelTemplate::Dialogue(DialogueTemplate::new(template).at(label.text().as_ref())?)
                        }
                        Value::List(_) => LabelTemplate::List,
                        other => {
                            let what = format!("a template must be a string or a dialogue, not {}", other.shown());
                            return Err(dataset_error(&what).at(label.text().as_ref()));
                        }
                    };
                    Ok((label.clone(), template))
                };
                Ok(Self::Labels(entries.iter().map(label).collect::<Result<_>>()?))
            }
            other => Err(dataset_error(&format!(
                "a template must be a string, a dialogue {{begin, round, end}} or a dict from labels to these, not {}",
                other.shown()
            ))),
        }
    }

    /// Strings, also those of labels, must contain the token; dialogues may have it anywhere.
    pub(super) fn must_hold(&self, token: &str) -> Result<()> {
        let lacks = |text: &str, place: &str| -> Result<()> {
            if text.contains(token) {
                return Ok(());
            }
            Err(dataset_error(&format!("the ice_token {token:?} is not in the template {text:?}")).at(place))
        };
        match self {
            Self::Text(text) => lacks(text, "template"),
            Self::Dialogue(_) => Ok(()),
            Self::Labels(labels) => labels.iter().try_for_each(|(label, template)| match template {
                LabelTemplate::Text(text) => lacks(text, &label.text()),
                _ => Ok(()),
            }),
        }
    }
}

impl LabelTemplate {
    pub(super) fn choose(&self) -> Result<Chosen<'_>> {
        match self {
            Self::Text(text) => Ok(Chosen::Text(text)),
            Self::Dialogue(dialogue) => Ok(Chosen::Dialogue(dialogue)),
            Self::List => Err(dataset_error("a list is not a template; write {round = [ … ]}")),
        }
    }
}

/// The prompt before it is filled; for an example only the round.
pub(super) fn encode(chosen: Chosen<'_>, is_example: bool) -> Result<Conversation> {
    Ok(match chosen {
        Chosen::Text(text) => Conversation::Text(text.to_owned()),
        Chosen::Dialogue(dialogue) if is_example => Conversation::List(dialogue.example()?),
        Chosen::Dialogue(dialogue) => Conversation::List(dialogue.items()?),
    })
}
