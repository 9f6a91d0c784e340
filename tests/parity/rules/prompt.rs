//! Conditions on the prompt, or on the chats in its place.

use serde::Deserialize;
use serde_json::Value;

use crate::rules::job::{chats, prompting};
use crate::rules::messages::{has_no_role, has_wrong_type, is_odd_message, is_parts, spoken};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PromptCondition {
    /// The section `end` is opened by a closing marker.
    EndOpenedByClosing,
    /// OpenAI-style messages.
    RawMessages,
    /// A prompt list.
    IsList,
    /// A marker of a section, or with a `pos`, that does not exist.
    UnknownMarker,
    /// Strings that all contain "role" and "content".
    StringsLikeMessages,
    /// A message in a round has a reserved role, and one to fall back to.
    ReservedInRound,
    /// A string is empty, or has the word "section" in it.
    TextLikeMarker,
    /// A chat has an odd number of messages.
    ChatIsOdd,
    /// In a chat, the model has nothing to answer.
    ChatHasNoTurn,
    /// A message of a chat has content parts.
    ChatHasParts,
    /// A plain list before a prompt list.
    PlainListFirst,
    /// A message is made of parts.
    HasParts,
    /// A chat without a message.
    EmptyChat,
    /// A section begins and never ends.
    SectionLeftOpen,
    /// A section begins in a round that has messages.
    SectionInRound,
    /// A chat names a role as the template does, not as OpenAI-style messages.
    ChatNamesRole,
    /// OpenAI-style messages of which there are none, alone or in a batch.
    NoMessages,
    /// A key of a message in a prompt list is of another type than it can be, or stands in a marker.
    WrongType,
    /// An OpenAI-style message is none: it has no content, or keys of a prompt list.
    OddMessages,
    /// A prompt list, or one in a batch, in which nobody says anything.
    NothingSaid,
    /// A message of a prompt list has no role.
    HasNoRole,
    /// A message of a chat has no role, or no content.
    ChatLacksKey,
    /// A message of a prompt list says nothing, not even an empty text.
    HasNoPrompt,
    /// A message of a prompt list has an `api_role` of its own.
    HasApiRole,
    /// A message of a prompt list has text and parts.
    HasTextAndParts,
}

impl PromptCondition {
    pub(super) fn holds(&self, job: &Value, expected: &Value) -> bool {
        // A prompt list, or each in a batch.
        let lists = || {
            let batch = job["prompt"].as_array().into_iter().flatten().chain([&job["prompt"]]);
            batch.filter_map(|prompt| prompt["$pl"].as_array())
        };
        let items = || lists().flatten();
        let nestings = || lists().map(|items| Nesting::of(items));
        let all_chats = chats(job);
        let chats = || all_chats.iter().copied();
        match self {
            Self::IsList => job["prompt"]["$pl"].is_array(),
            Self::RawMessages => job["prompt"].is_array(),
            Self::UnknownMarker => {
                let is_known = |key: &Value, known: &[&str]| key.is_null() || known.iter().any(|name| key == name);
                items().any(|item| {
                    !is_known(&item["pos"], &["begin", "end"])
                        || !is_known(&item["section"], &["begin", "round", "ice", "end"])
                })
            }
            Self::StringsLikeMessages => job["prompt"].as_array().is_some_and(|items| {
                items
                    .iter()
                    .all(|item| item.as_str().is_some_and(|item| item.contains("role") && item.contains("content")))
            }),
            Self::ReservedInRound => {
                let reserved = job["meta"]["reserved_roles"].as_array().into_iter().flatten();
                let reserved: Vec<&Value> = reserved.map(|role| &role["role"]).collect();
                // The parser that gives text does not lose it.
                !expected.is_string()
                    && items().any(|item| item.get("fallback_role").is_some() && reserved.contains(&&item["role"]))
            }
            Self::TextLikeMarker => {
                items().any(|item| item.as_str().is_some_and(|text| text.is_empty() || text.contains("section")))
            }
            Self::HasParts => items().any(|item| item.get("prompt_mm").is_some()),
            Self::SectionLeftOpen => nestings().any(|nesting| nesting.left_open),
            Self::SectionInRound => nestings().any(|nesting| nesting.in_round),
            Self::ChatNamesRole => {
                let is_name = |message: &Value| ["HUMAN", "BOT", "SYSTEM"].iter().any(|name| message["role"] == *name);
                chats().flatten().any(is_name)
            }
            Self::NoMessages => {
                let is_empty = |prompt: &Value| prompt.as_array().is_some_and(Vec::is_empty);
                is_empty(&job["prompt"]) || job["prompt"].as_array().into_iter().flatten().any(is_empty)
            }
            Self::WrongType => {
                items().any(|item| has_wrong_type(item) || item.get("prompt_mm").is_some_and(|parts| !is_parts(parts)))
            }
            Self::OddMessages => {
                let batch = job["prompt"].as_array().into_iter().flatten();
                let messages = batch.flat_map(|item| item.as_array().map_or(std::slice::from_ref(item), Vec::as_slice));
                messages.filter(|item| item.get("role").is_some()).any(is_odd_message)
            }
            Self::NothingSaid => {
                let has_parts = |item: &Value| item["prompt_mm"].as_array().is_some_and(|parts| !parts.is_empty());
                let has_text = |text: &Value| text.as_str().is_some_and(|text| !text.is_empty());
                let is_said = |item: &Value| has_text(item) || has_text(&item["prompt"]) || has_parts(item);
                lists().any(|items| !items.iter().any(is_said))
            }
            Self::EmptyChat => job["chat"].as_array().is_some_and(Vec::is_empty),
            Self::ChatIsOdd => chats().any(|chat| chat.len() % 2 == 1),
            Self::ChatHasNoTurn => {
                // One that opens the chat answers nothing.
                let has_turn = |chat: &Vec<Value>| chat.iter().skip(1).any(|message| message["role"] == "assistant");
                // A template's chat ends with the row's answer, if not with the model.
                let is_alone = matches!(&spoken(&prompting(job)["template"])[..], [only] if only["role"] == "BOT");
                is_alone || !chats().all(has_turn)
            }
            Self::ChatHasParts => chats().flatten().any(|message| is_parts(&message["content"])),
            Self::HasNoRole => items().any(has_no_role),
            Self::HasApiRole => items().any(|item| item.get("api_role").is_some()),
            Self::HasTextAndParts => {
                items().any(|item| item.get("prompt").is_some() && item.get("prompt_mm").is_some())
            }
            Self::HasNoPrompt => items().any(|item| item.get("role").is_some() && item.get("prompt").is_none()),
            Self::ChatLacksKey => {
                let is_message = |message: &Value| message["role"].is_string() && message["content"].is_string();
                chats().flatten().any(|message| !is_message(message))
            }
            Self::PlainListFirst => job["fn"] == "radd" && job["b"].is_array(),
            Self::EndOpenedByClosing => lists().any(|items| {
                let marker = items.iter().find(|item| item["section"] == "end");
                marker.is_some_and(|marker| marker["pos"] == "end")
            }),
        }
    }
}

/// Where sections of a prompt list do not close.
#[derive(Default)]
struct Nesting {
    left_open: bool,
    in_round: bool,
}

impl Nesting {
    fn of(items: &[Value]) -> Self {
        let (mut nesting, mut open, mut has_said) = (Self::default(), Vec::new(), false);
        for item in items {
            let section = &item["section"];
            match item["pos"].as_str() {
                Some("begin") => {
                    let is_round = |section: &&Value| *section == "round" || *section == "ice";
                    nesting.in_round |= has_said && open.last().is_some_and(is_round);
                    open.push(section);
                    has_said = false;
                }
                Some(_) => {
                    // The section `end` may be opened by a closing marker.
                    if open.pop().is_none() && section == "end" {
                        open.push(section);
                    }
                    has_said = false;
                }
                None => has_said |= item.get("role").is_some(),
            }
        }
        nesting.left_open = !open.is_empty();
        nesting
    }
}
