//! How a program can react to a kind of error: its code, whose fault it is, and the way out.

use std::io;

use serde::{Deserialize, Serialize};

use crate::error::kind::is_tool;
use crate::error::{ErrorKind, Setting, WayOut, way_out};

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fault {
    /// The conversation, row or line. Others in the same input may be fine.
    Input,
    /// The files of the model or its tokenizer.
    Model,
    /// The file of the dataset.
    Dataset,
    /// The options, or a file that they name.
    Usage,
    /// The machine, the network, the way this library was built, or your own renderer, engine or retriever.
    System,
}

impl ErrorKind {
    /// A stable name of the kind, in kebab case. Each kind has its own.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io(_) => "io",
            Self::NotUtf8(_) => "not-utf8",
            Self::OtherEncoding(_) => "other-encoding",
            Self::Parse(_) => "parse",
            Self::Invalid(_) => "invalid",
            Self::WrongFile(_) => "wrong-file",
            Self::LineTooLong(_) => "line-too-long",
            Self::RowTooLong(_) => "row-too-long",
            Self::RowTooSlow(_) => "row-too-slow",
            Self::EmptyInput => "empty-input",
            Self::NoRows => "no-rows",
            Self::OutsideVocabulary { .. } => "outside-vocabulary",
            Self::UnusedTokenId(_) => "unused-token-id",
            Self::NotOneToken { .. } => "not-one-token",
            Self::DuplicateRole { .. } => "duplicate-role",
            Self::ReservedOnly(_) => "reserved-only",
            Self::NoEffect { .. } => "no-effect",
            Self::UnknownMergeInto { .. } => "unknown-merge-into",
            Self::NoTurnToMergeInto { .. } => "no-turn-to-merge-into",
            Self::RefusedRole { .. } => "refused-role",
            Self::UnknownRole { .. } => "unknown-role",
            Self::RoleOutsideRound { .. } => "role-outside-round",
            Self::WouldBeLost { .. } => "would-be-lost",
            Self::EmptyConversation => "empty-conversation",
            Self::EmptyPrompt { .. } => "empty-prompt",
            Self::Sections(_) => "sections",
            Self::Conversation(_) => "conversation",
            Self::Template(_) => "template",
            Self::Dataset(_) => "dataset",
            Self::Row(_) => "row",
            Self::MissingColumn { .. } => "missing-column",
            Self::Media { .. } => "media",
            Self::TooLong { .. } => "too-long",
            Self::Usage(_) => "usage",
            Self::UnknownName { .. } => "unknown-name",
            Self::OutOfMemory(_) => "out-of-memory",
            Self::MissingFeature { .. } => "missing-feature",
            Self::ReservedInContent { .. } => "reserved-in-content",
            Self::UnsupportedTokenizer(_) => "unsupported-tokenizer",
            Self::Encode(_) => "encode",
            Self::NoGeneratingRole(_) => "no-generating-role",
            Self::MetaTemplateDiffers(_) => "meta-template-differs",
            Self::UnsupportedModel(_) => "unsupported-model",
            Self::ContextFull { .. } => "context-full",
            Self::Engine(_) => "engine",
            Self::NotFound(_) => "not-found",
            Self::HubMissing(_) => "hub-missing",
            Self::HubAccess(_) => "hub-access",
            Self::Offline(_) => "offline",
            Self::Hub(_) => "hub",
            Self::Other(_) => "other",
        }
    }

    /// Whose fault it is, unless the place says otherwise.
    pub(super) fn fault(&self) -> Fault {
        match self {
            Self::Io(error) => fault_of_io(error),
            Self::WrongFile(_)
            | Self::Usage(_)
            | Self::UnknownName { .. }
            | Self::NotFound(_)
            | Self::HubMissing(_)
            | Self::HubAccess(_) => Fault::Usage,
            Self::OutOfMemory(_)
            | Self::MissingFeature { .. }
            | Self::Engine(_)
            | Self::Offline(_)
            | Self::Hub(_)
            | Self::Other(_) => Fault::System,
            Self::Dataset(_) => Fault::Dataset,
            Self::NotOneToken { .. }
            | Self::DuplicateRole { .. }
            | Self::ReservedOnly(_)
            | Self::NoEffect { .. }
            | Self::UnknownMergeInto { .. }
            | Self::Template(_)
            | Self::UnsupportedTokenizer(_)
            | Self::Encode(_)
            | Self::NoGeneratingRole(_)
            | Self::MetaTemplateDiffers(_)
            | Self::UnsupportedModel(_) => Fault::Model,
            _ => Fault::Input,
        }
    }

    /// What to do about it, if that is the same everywhere.
    pub(super) fn way_out(&self) -> Option<WayOut> {
        Some(match self {
            Self::OtherEncoding(encoding) => {
                let name = encoding.split(' ').next().unwrap_or(encoding);
                way_out![format!("convert it first, for example with `iconv -f {name} -t UTF-8`")]
            }
            Self::LineTooLong(_) => way_out!["raise ", Setting::MAX_LINE_BYTES, " if that is intended"],
            Self::RowTooLong(_) => way_out![
                "set substitution = \"single-pass\" in the template, or raise ",
                Setting::MAX_ROW_BYTES,
                " if that is intended"
            ],
            Self::RowTooSlow(_) => way_out![
                "remove columns, set substitution = \"single-pass\" in the template, or raise ",
                Setting::MAX_ROW_BYTES
            ],
            Self::EmptyInput => {
                way_out!["a line looks like {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}]}"]
            }
            Self::NoRows => {
                way_out!["a line looks like {\"question\": \"…\"}; in a CSV file, rows follow the header"]
            }
            Self::NotOneToken { near, .. } => {
                let near = near.as_ref().map_or_else(String::new, |near| format!("did you mean `{near}`? otherwise "));
                way_out![format!("{near}name an existing token, or write it as text in a template")]
            }
            Self::ReservedOnly(_) => way_out!["move it to reserved_roles, or remove the key"],
            Self::RefusedRole { .. } => way_out!["leave the message out, or put its text in a message of another role"],
            Self::NoTurnToMergeInto { is_left_out: true, .. } => way_out![
                "leave the message out, or keep that turn with ",
                Setting::CONTINUE_FINAL_MESSAGE,
                " or ",
                Setting::MODE.set_to("ppl")
            ],
            Self::NoTurnToMergeInto { merge_into, .. } => {
                way_out![format!("add a message of role {merge_into:?} after it")]
            }
            Self::UnknownRole { role, fallback: None, .. } => return of_unknown_role(role),
            Self::RoleOutsideRound { role, has_fallback, .. } => of_role_outside_round(role, *has_fallback),
            Self::EmptyConversation => {
                way_out!["leave it out, or add a message: {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}]}"]
            }
            Self::EmptyPrompt { .. } => way_out!["leave it out"],
            Self::MetaTemplateDiffers(_) => {
                way_out!["build again with ", Setting::ALWAYS_RENDER, ", and report this chat template"]
            }
            Self::TooLong { .. } => {
                way_out!["shorten it, or choose with ", Setting::TRUNCATE, " what to drop"]
            }
            Self::MissingFeature { feature, .. } => way_out![format!("build it with the cargo feature `{feature}`")],
            Self::ReservedInContent { is_listed: true, .. } => {
                way_out!["change the text, or remove the token from ", Setting::RESERVE, " if content may write it"]
            }
            Self::ReservedInContent { .. } => {
                way_out!["change the text, or name the token in ", Setting::UNRESERVE, " if content may write it"]
            }
            _ => return None,
        })
    }
}

fn fault_of_io(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::PermissionDenied => Fault::Usage,
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => Fault::Input,
        _ => Fault::System,
    }
}

fn of_unknown_role(role: &str) -> Option<WayOut> {
    let other_way = match role {
        "developer" => "write \"system\", or use ",
        _ if is_tool(role) => "add this role to the template, use another role, or use ",
        "user" => return Some(of_unnamed_role("HUMAN")),
        "assistant" => return Some(of_unnamed_role("BOT")),
        "system" => return Some(of_unnamed_role("SYSTEM")),
        // Roles of templates are in capitals.
        role if role.chars().any(char::is_lowercase) => {
            return Some(way_out!["messages may be of the roles user, assistant and system, too"]);
        }
        _ => return None,
    };
    Some(way_out![other_way, Setting::FORMAT.set_to("messages"), " for a server that applies the template"])
}

fn of_unnamed_role(api_role: &str) -> WayOut {
    way_out![format!("set `api_role = {api_role:?}` in the template's role that speaks for it")]
}

fn of_role_outside_round(role: &str, has_fallback: bool) -> WayOut {
    let mut way_out = way_out!["move the message to the begin section"];
    if role == "SYSTEM" {
        let wrapper = Setting::CHAT_WRAPPER.set_to("opencompass-chat");
        way_out = way_out.and(", or use ").and(wrapper).and(", which makes it a user message");
    }
    if has_fallback {
        way_out = way_out.and(", or turn on round_fallback to use its fallback_role there");
    }
    way_out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::error::{Error, Place};

    #[test]
    fn each_kind_has_a_code_of_its_own() {
        let source = include_str!("class.rs");
        let codes = source.split("pub fn code").nth(1).and_then(|rest| rest.split("\n    }\n").next());
        let codes: Vec<&str> = codes.unwrap_or_default().split('"').skip(1).step_by(2).collect();
        assert!(codes.len() > 40, "{codes:?}");
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len(), "{codes:?}");
        let is_kebab = |code: &str| code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        assert!(codes.iter().all(|code| is_kebab(code)), "{codes:?}");
    }

    #[test]
    fn whose_fault_by_kind_and_place() {
        let id = || Error::from(ErrorKind::OutsideVocabulary { id: 9, size: 5 });
        let not_found = || Error::from(io::Error::from(io::ErrorKind::NotFound));
        for (error, fault) in [
            (id(), Fault::Input),
            (id().of_file(Fault::Model), Fault::Model),
            (id().at(Setting::STOP_TOKEN_IDS), Fault::Usage),
            (not_found().at(Place::file("x.jsonl")), Fault::Usage),
            (io::Error::from(io::ErrorKind::StorageFull).into(), Fault::System),
            (ErrorKind::Parse("expected value".into()).into(), Fault::Input),
            (Error::from(ErrorKind::Parse("expected value".into())).of_file(Fault::Model), Fault::Model),
            (not_found().of_file(Fault::Model), Fault::Usage),
            (Error::other("a database is away"), Fault::System),
            (Error::other("no such question").with_fault(Fault::Input), Fault::Input),
        ] {
            assert_eq!(error.fault(), fault, "{error}");
        }
    }
}
