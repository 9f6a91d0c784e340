//! Conditions on the meta template.

use serde::Deserialize;
use serde_json::Value;

use crate::api::is_none;
use crate::rules::messages::{has_unknown_key, is_odd_message, is_parts};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MetaCondition {
    /// A `begin` or `end` is a list.
    AffixIsList,
    /// `begin` is a dict, as API models have it.
    BeginIsDict,
    /// A role, or a `begin`, `prompt` or `end`, is null or of another type than it can be.
    WrongType,
    /// A role's `api_role` is none of HUMAN, BOT and SYSTEM.
    OtherApiRole,
    /// It is a list of messages, and one of them is of another role than system, user and assistant.
    MessageOfOtherRole,
    /// It is a list, and an item of it is no OpenAI-style message: it has no role, no content, or keys of a prompt list.
    OddMessages,
    /// It is a list of messages, and a content there or in the prompt is a list of parts.
    MessagesHaveParts,
    /// `begin` is a string, or a list.
    BeginIsText,
    /// There is none.
    IsNone,
    /// A role has an `api_role`, it is a list of messages, or the parser is that for APIs.
    IsForApi,
    /// It is a list of messages.
    IsMessages,
    /// A `generate` is neither true nor false.
    GenerateIsNoBool,
    /// The round has no roles.
    RoundIsEmpty,
    /// It has no round.
    HasNoRound,
    /// A role is defined twice.
    RoleTwice,
    /// It, or a role of it, has a key that nobody reads.
    HasUnknownKey,
}

impl MetaCondition {
    pub(super) fn holds(&self, job: &Value) -> bool {
        let meta = &job["meta"];
        let roles = ["round", "reserved_roles"].into_iter().filter_map(|key| meta[key].as_array()).flatten();
        let is_messages = meta.is_array() && !is_none(meta);
        match self {
            Self::AffixIsList => roles.chain([meta]).any(|place| place["begin"].is_array() || place["end"].is_array()),
            Self::WrongType => {
                let is_text = |value: Option<&Value>| value.is_none_or(Value::is_string);
                let is_affix = |value: Option<&Value>| is_text(value) || value.is_some_and(Value::is_array);
                // A role has a prompt of its own, and a template a begin that may be a turn.
                let is_right = |role: &Value| {
                    let texts = ["role", "api_role", "prompt"].iter().all(|key| is_text(role.get(key)));
                    role.is_object() && texts && ["begin", "end"].iter().all(|key| is_affix(role.get(key)))
                };
                let round = || meta["round"].as_array().into_iter().flatten();
                let reserved = || meta["reserved_roles"].as_array().into_iter().flatten();
                let begin = meta.get("begin").filter(|begin| !begin.is_object());
                !is_affix(begin)
                    || !is_affix(meta.get("end"))
                    || !round().filter(|item| !item.is_string()).chain(reserved()).all(is_right)
            }
            // Only messages for an API need its roles.
            Self::OtherApiRole => {
                let is_other = |role: &str| !["HUMAN", "BOT", "SYSTEM"].contains(&role);
                job["found"].is_array() && roles.filter_map(|role| role["api_role"].as_str()).any(is_other)
            }
            Self::MessageOfOtherRole => {
                let is_known = |role: &Value| ["system", "user", "assistant"].iter().any(|known| role == known);
                is_messages && meta.as_array().into_iter().flatten().any(|message| !is_known(&message["role"]))
            }
            Self::OddMessages => is_messages && meta.as_array().into_iter().flatten().any(is_odd_message),
            Self::MessagesHaveParts => {
                let all = [meta, &job["prompt"]].into_iter().filter_map(Value::as_array).flatten();
                is_messages && all.into_iter().any(|message| is_parts(&message["content"]))
            }
            Self::IsNone => is_none(meta),
            Self::IsForApi => {
                let has_api_role = roles.into_iter().any(|role| role.get("api_role").is_some());
                has_api_role || is_messages || job["parser"] == "api"
            }
            Self::IsMessages => is_messages,
            Self::BeginIsText => {
                meta["begin"].as_str().is_some_and(|begin| !begin.is_empty()) || meta["begin"].is_array()
            }
            Self::RoundIsEmpty => meta["round"].as_array().is_some_and(Vec::is_empty),
            Self::HasNoRound => meta.is_object() && meta.get("round").is_none(),
            Self::RoleTwice => {
                let names: Vec<&Value> = roles.filter_map(|role| role.get("role")).collect();
                (1..names.len()).any(|i| names[..i].contains(&names[i]))
            }
            Self::HasUnknownKey => {
                let role_keys = ["role", "api_role", "begin", "prompt", "end", "generate"];
                has_unknown_key(meta, &["begin", "round", "end", "reserved_roles", "eos_token_id"])
                    || roles.into_iter().any(|role| has_unknown_key(role, &role_keys))
            }
            Self::BeginIsDict => meta["begin"].is_object(),
            Self::GenerateIsNoBool => {
                roles.into_iter().any(|role| role.get("generate").is_some_and(|generate| !generate.is_boolean()))
            }
        }
    }
}
