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

mod build;
mod placeholder;

use std::fmt;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use crate::error::{At, ErrorKind, Result};
pub use placeholder::{Multimodal, Placeholder};

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

/// How a role speaks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleTemplate {
    /// The role's name. It never appears in a prompt.
    pub role: String,
    /// The role's name for API models: HUMAN, BOT or SYSTEM. OpenAI-style messages find their role by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_role: Option<String>,
    /// Written before the role's content.
    #[serde(default, skip_serializing_if = "Affix::is_empty")]
    pub begin: Affix,
    /// The role's content if a conversation has none for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Written after the role's content.
    #[serde(default, skip_serializing_if = "Affix::is_empty")]
    pub end: Affix,
    /// Whether the model plays this role, so that a prompt to be continued ends where it begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generate: bool,
    /// The end of a prompt to be continued, if that is not `begin`: `"ASSISTANT:"` and `"ASSISTANT: "` are different
    /// tokens, and many formats need both. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_prompt: Option<Affix>,
    /// For a reserved role: it has no turn of its own. Its content is written in the next turn of this role of the
    /// round, right after that turn's `begin`. This is how Llama 2 and Gemma put a system message in the first
    /// question. Not in OpenCompass.
    #[serde(default, alias = "within", skip_serializing_if = "Option::is_none")]
    pub merge_into: Option<String>,
    /// For a reserved role: it opens every conversation in which it has no message, with its `prompt`. This is how
    /// Qwen2.5 and Vicuna have their own system message. Not in OpenCompass.
    #[serde(default, alias = "always", skip_serializing_if = "std::ops::Not::not")]
    pub default_prompt: bool,
}

/// Text before or after something: a string, or a list of strings, token ids and `{ token = "<|im_end|>" }`, freely
/// mixed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affix(pub Vec<AffixItem>);

/// An element of an [`Affix`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AffixItem {
    /// Text, in which the tokenizer's added tokens are recognized. Adjacent strings are one text.
    Text(String),
    /// A token by its id. Kept as written, so that the error can show an invalid id.
    Id(i64),
    /// A token by its string, which must be one entry of the vocabulary.
    Token(String),
}

impl Affix {
    /// Whether it adds nothing to a prompt.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|item| matches!(item, AffixItem::Text(text) if text.is_empty()))
    }
}

/// One token id or a list of them, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenIds(pub Vec<i64>);

impl TokenIds {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl MetaTemplate {
    /// Whether it only declares what an API calls the roles, and writes no text.
    pub(crate) fn names_roles_only(&self) -> bool {
        let is_silent = |role: &RoleTemplate| {
            let prompt = role.generation_prompt.as_ref();
            role.begin.is_empty() && role.end.is_empty() && role.prompt.is_empty() && prompt.is_none_or(Affix::is_empty)
        };
        let all = || self.round.iter().filter_map(RoundItem::role).chain(&self.reserved_roles);
        let has_text = self.round.iter().any(|item| item.role().is_none());
        let is_empty = self.begin.is_empty() && self.end.is_empty() && !has_text;
        is_empty && all().all(is_silent) && all().any(|role| role.api_role.is_some())
    }

    /// The role templates of round and reserved_roles with their key paths, in OpenCompass's order.
    pub fn roles(&self) -> impl Iterator<Item = (String, &RoleTemplate)> {
        let round = self.round.iter().enumerate();
        let round = round.filter_map(|(i, item)| item.role().map(|role| (format!("round[{i}]"), role)));
        let reserved = self.reserved_roles.iter().enumerate();
        round.chain(reserved.map(|(i, role)| (format!("reserved_roles[{i}]"), role)))
    }

    /// Checks what does not need a tokenizer: that no two roles have the same name, and that only reserved roles have
    /// `merge_into` or `default_prompt`.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateRole`] with both places; [`ErrorKind::Usage`] for the latter.
    pub fn validate(&self) -> Result<()> {
        let roles: Vec<_> = self.roles().collect();
        for (i, (place, role)) in roles.iter().enumerate() {
            let place = format_args!("meta_template.{place}");
            if let Some((first, _)) = roles[..i].iter().find(|(_, other)| other.role == role.role) {
                let error = ErrorKind::DuplicateRole { role: role.role.clone(), first: first.clone() };
                return Err(crate::Error::from(error).at(place));
            }
            self.check_reserved_only(role).at(place)?;
        }
        Ok(())
    }

    fn check_reserved_only(&self, role: &RoleTemplate) -> Result<()> {
        let in_round = || self.round.iter().filter_map(RoundItem::role).map(|role| role.role.clone());
        if in_round().any(|name| name == role.role) {
            return match (&role.merge_into, role.default_prompt) {
                (None, false) => Ok(()),
                (Some(_), _) => Err(ErrorKind::ReservedOnly("merge_into").into()),
                (None, true) => Err(ErrorKind::ReservedOnly("default_prompt").into()),
            };
        }
        match &role.merge_into {
            Some(target) if !in_round().any(|name| name == *target) => {
                Err(ErrorKind::UnknownMergeInto { role: target.clone(), known: in_round().collect() }.into())
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Affix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match &self.0[..] {
            [AffixItem::Text(text)] => serializer.serialize_str(text),
            items => serializer.collect_seq(items),
        }
    }
}

impl Serialize for AffixItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Id(id) => serializer.serialize_i64(*id),
            Self::Token(token) => serializer.collect_map([("token", token)]),
        }
    }
}

impl Serialize for TokenIds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0[..] {
            [id] => serializer.serialize_i64(id),
            _ => serializer.collect_seq(&self.0),
        }
    }
}

/// Reads a value of one of several forms, with an error that lists these.
macro_rules! deserialize_by_form {
    ($type:ty, $expecting:literal, { $($method:tt)* }) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    $($method)*
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

deserialize_by_form!(Affix, "a string or a list of strings, token ids and { token = \"…\" }", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<Affix, E> {
        Ok(text.into())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Affix, A::Error> {
        let mut affix = Affix::default();
        while let Some(item) = items.next_element()? {
            affix.0.push(item);
        }
        Ok(affix)
    }
});

deserialize_by_form!(AffixItem, "a string, a token id or { token = \"…\" }", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<AffixItem, E> {
        Ok(AffixItem::Text(text.to_owned()))
    }

    fn visit_i64<E>(self, id: i64) -> std::result::Result<AffixItem, E> {
        Ok(AffixItem::Id(id))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> std::result::Result<AffixItem, E> {
        i64::try_from(id).map(AffixItem::Id).map_err(|_| out_of_range(id))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<AffixItem, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            token: String,
        }
        let named = Named::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(AffixItem::Token(named.token))
    }
});

deserialize_by_form!(TokenIds, "a token id or a list of token ids", {
    fn visit_unit<E>(self) -> std::result::Result<TokenIds, E> {
        Ok(TokenIds::default())
    }

    fn visit_i64<E>(self, id: i64) -> std::result::Result<TokenIds, E> {
        Ok(TokenIds(vec![id]))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> std::result::Result<TokenIds, E> {
        Ok(TokenIds(vec![i64::try_from(id).map_err(|_| out_of_range(id))?]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut ids: A) -> std::result::Result<TokenIds, A::Error> {
        let mut all = Vec::new();
        while let Some(id) = ids.next_element()? {
            all.push(id);
        }
        Ok(TokenIds(all))
    }
});

deserialize_by_form!(RoundItem, "a role { role = \"…\", … } or a string", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<RoundItem, E> {
        Ok(RoundItem::Text(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<RoundItem, A::Error> {
        let role = RoleTemplate::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(RoundItem::Role(Box::new(role)))
    }
});

fn out_of_range<E: de::Error>(id: u64) -> E {
    E::custom(format_args!("token id {id} is too large for a token id"))
}
