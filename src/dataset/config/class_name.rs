//! Class names in configurations, with or without their module, as OpenCompass's `Config.to_dict()` writes them.

use serde::de::value::{self, StrDeserializer};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, IntoDeserializer};

use crate::error::{ErrorKind, Result};

/// `GenInferencer`, or `opencompass.openicl.icl_inferencer.GenInferencer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct ClassName(String);

impl ClassName {
    /// The name without its module.
    pub(crate) fn bare(&self) -> &str {
        bare(&self.0)
    }

    /// The package of its module, if it has a module.
    pub(crate) fn package(&self) -> Option<&str> {
        self.0.split_once('.').map(|(package, _)| package)
    }

    /// The variant with the bare name.
    ///
    /// # Errors
    /// If there is no such variant.
    pub(crate) fn variant<T: DeserializeOwned, E: Error>(&self) -> std::result::Result<T, E> {
        let name: StrDeserializer<'_, value::Error> = self.bare().into_deserializer();
        T::deserialize(name).map_err(E::custom)
    }
}

/// The name of a class without its module.
pub(crate) fn bare(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or_default()
}

/// Reads the variant that a class names.
pub(crate) fn variant<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> std::result::Result<T, D::Error> {
    ClassName::deserialize(deserializer)?.variant()
}

/// Rejects the OpenCompass classes whose prompts cannot be built, before any of their keys is reported as unknown.
///
/// # Errors
/// [`ErrorKind::Dataset`] says why, and what to do instead.
pub(crate) fn check(class: &str) -> Result<()> {
    let class = bare(class);
    let why = match class {
        "AgentInferencer" => "lets the model call tools between its answers, so its prompts cannot be built in advance",
        "ChatMLInferencer" | "ParallelChatMLInferencer" => {
            "asks what the column chatml_question says, not a template, and has the user say the model's turns too; use ChatInferencer, or give these messages as conversations, without a dataset"
        }
        "GLMChoiceInferencer" => {
            "has GLM-130B compare choices in its own way, which other models do not have; use CLPInferencer, or PPLInferencer with the choices as labels"
        }
        "MinKPercentInferencer" => {
            "scores the least likely tokens of a text alone; use PPLOnlyInferencer, whose texts are the same"
        }
        "AttackInferencer" => "changes a prompt until the model fails, so its prompts cannot be built in advance",
        "ToTInferencer" => "lets the model choose among its own thoughts, so its prompts cannot be built in advance",
        "SWCELossInferencer" => {
            "scores windows of a text, which are not prompts; use PPLOnlyInferencer with the windows as rows"
        }
        _ => return Ok(()),
    };
    Err(ErrorKind::Dataset(format!("{class} {why}")).into())
}
