//! Meta templates: how a model's dialogue is written, as data. The format is OpenCompass's.
//!
//! ```
//! use metatok::template::RoleTemplate;
//! use metatok::{BuilderOptions, MetaTemplate, PromptBuilder, Tokenizer};
//!
//! let template = MetaTemplate::new([
//!     RoleTemplate::new("HUMAN").begin((1051, "user\n")).end("<|im_end|>\n"),
//!     RoleTemplate::new("BOT").begin((1051, "assistant\n")).end("<|im_end|>\n").generate(),
//! ]);
//! let builder = PromptBuilder::new(&template.into(), Tokenizer::demo()?.into(), &BuilderOptions::default())?;
//! let prompt = builder.build_messages(&[("user", "Hi!")])?;
//! assert_eq!(prompt.input_ids[0], 1051);
//! # Ok::<(), metatok::Error>(())
//! ```

mod affix;
mod build;
mod placeholder;
mod role;
mod validate;

use serde::de;
use serde::{Deserialize, Serialize};

use crate::by_form::deserialize_by_form;
pub use affix::{Affix, AffixItem, TokenIds};
pub use placeholder::{Multimodal, Placeholder};
pub use role::{EmptyContent, MergeAt, RoleTemplate, Trim};

/// How a model's dialogue is written: the text around a whole prompt, and how each role speaks.
///
/// The keys are those of OpenCompass's `meta_template`. Its documentation promises, but its code rejects, a `begin` or
/// `end` that mixes strings and token ids; here this works.
///
/// ```
/// let template: metatok::MetaTemplate = serde_json::from_str(r#"{
///     "round": [
///         {"role": "HUMAN", "begin": [151644, "user\n"], "end": [151645, "\n"]},
///         {"role": "BOT", "begin": [151644, "assistant\n"], "end": [151645, "\n"], "generate": true}
///     ],
///     "eos_token_id": 151645
/// }"#)?;
/// assert_eq!(template.round.len(), 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetaTemplate {
    /// Always written before everything.
    #[serde(default, skip_serializing_if = "Affix::is_empty")]
    pub begin: Affix,
    /// One round of dialogue: every role in the order in which it speaks. Each round is written completely, including
    /// the roles for which a conversation has no message.
    pub round: Vec<RoundItem>,
    /// Written between rounds: before every round but the first of a prompt. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "Affix::is_empty")]
    pub between: Affix,
    /// Roles that are not part of a round but may speak in the sections begin and end, such as SYSTEM.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserved_roles: Vec<RoleTemplate>,
    /// Written after everything, unless the prompt was cut for generation.
    #[serde(default, skip_serializing_if = "Affix::is_empty")]
    pub end: Affix,
    /// The id, or ids, at which the model's output ends. Normally the first id of the generating role's `end`.
    #[serde(default, skip_serializing_if = "TokenIds::is_empty")]
    pub eos_token_id: TokenIds,
}

/// An entry of [`MetaTemplate::round`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RoundItem {
    /// A role speaks.
    Role(Box<RoleTemplate>),
    /// A fixed string between roles.
    Text(String),
}

impl RoundItem {
    /// The role, if it is one.
    pub fn role(&self) -> Option<&RoleTemplate> {
        match self {
            Self::Role(role) => Some(role),
            Self::Text(_) => None,
        }
    }
}

impl MetaTemplate {
    /// Whether it only declares what an API calls the roles, and writes no text.
    pub(crate) fn names_roles_only(&self) -> bool {
        let is_silent = |role: &RoleTemplate| {
            let mut others = role.generation_prompt.iter().chain(&role.last_begin);
            role.begin.is_empty() && role.end.is_empty() && role.prompt_text().is_empty() && others.all(Affix::is_empty)
        };
        let all = || self.round.iter().filter_map(RoundItem::role).chain(&self.reserved_roles);
        let has_text = self.round.iter().any(|item| item.role().is_none());
        let is_empty = [&self.begin, &self.between, &self.end].into_iter().all(Affix::is_empty) && !has_text;
        is_empty && all().all(is_silent) && all().any(|role| role.api_role.is_some())
    }

    /// The role templates of round and reserved_roles with their key paths, in OpenCompass's order.
    pub fn roles(&self) -> impl Iterator<Item = (String, &RoleTemplate)> {
        let round = self.round.iter().enumerate();
        let round = round.filter_map(|(i, item)| item.role().map(|role| (format!("round[{i}]"), role)));
        let reserved = self.reserved_roles.iter().enumerate();
        round.chain(reserved.map(|(i, role)| (format!("reserved_roles[{i}]"), role)))
    }
}

deserialize_by_form!(RoundItem, "a role { role = \"…\", … } or a string", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<RoundItem, E> {
        Ok(RoundItem::Text(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<RoundItem, A::Error> {
        let role = RoleTemplate::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(RoundItem::Role(Box::new(role)))
    }
});
