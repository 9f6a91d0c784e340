//! What can go wrong, in words. Codes, faults and ways out are in [`super::class`].

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or stream could not be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Bytes that are not UTF-8.
    #[error("not UTF-8: there is no valid character at byte offset {0}")]
    NotUtf8(usize),
    /// A byte order mark of an encoding other than UTF-8.
    #[error("this is {0}, but metatok only reads UTF-8")]
    OtherEncoding(&'static str),
    /// Text that is not valid JSON, TOML or other expected format, or whose values are not those of a record or a file: a
    /// number for a role, or no content. The message is the parser's.
    #[error("{0}")]
    Parse(String),
    /// JSON, TOML or another format that was read, with contents that do not fit together, such as an unknown key.
    #[error("{0}")]
    Invalid(String),
    /// A file of another kind, such as a dataset where a model is expected.
    #[error("this is {0}")]
    WrongFile(String),
    /// A line longer than the limit. Only its beginning was read.
    #[error("the line is longer than {0} bytes")]
    LineTooLong(usize),
    /// A row that is longer than the limit after its columns are filled in. The full text was never allocated.
    #[error(
        "the row's text is longer than {0} bytes after its columns are filled in; perhaps they refer to each other"
    )]
    RowTooLong(usize),
    /// A row whose columns are too many, and whose text is too long: filling them in would take minutes.
    #[error("filling in the row's columns would take too long, with text of up to {0} bytes")]
    RowTooSlow(usize),
    /// An input without any conversation.
    #[error("no conversations found")]
    EmptyInput,
    /// An input without any row.
    #[error("no rows found")]
    NoRows,

    /// A token id that the tokenizer does not have.
    #[error("token id {id} is outside the vocabulary ({size} tokens)")]
    OutsideVocabulary {
        /// The id as written, which may be negative or larger than any id.
        id: i128,
        /// One more than the tokenizer's largest id.
        size: usize,
    },
    /// A token id in a gap of the vocabulary.
    #[error("token id {0} is in a gap of the vocabulary: no token has this id")]
    UnusedTokenId(u32),
    /// A `{ token = "…" }`, or a string of [`BuilderOptions::reserve`](crate::BuilderOptions::reserve) or
    /// [`unreserve`](crate::BuilderOptions::unreserve), that is not one vocabulary entry.
    #[error("{token:?} is not a token in this vocabulary; {}", split(.pieces))]
    NotOneToken {
        /// The string as written.
        token: String,
        /// The tokens that the tokenizer splits it into, as displayed.
        pieces: Vec<String>,
        /// A token that was perhaps meant.
        near: Option<String>,
    },
    /// Two roles with the same name.
    #[error(
        "role {role:?} is defined twice, first as {first}; role names must be unique across round and reserved_roles"
    )]
    DuplicateRole {
        /// The name.
        role: String,
        /// Key path of the first definition.
        first: String,
    },
    /// A key for reserved roles on a role of the round.
    #[error("{0:?} is only for reserved roles, but this role is part of the round")]
    ReservedOnly(&'static str),
    /// A key of a template that changes nothing where it is.
    #[error("{key} has no effect: {why}")]
    NoEffect {
        /// The key.
        key: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A `merge_into` that does not name a role of the round.
    #[error("merge_into: the round has no role {role:?}; its roles are {}", quoted(.known))]
    UnknownMergeInto {
        /// The name as written.
        role: String,
        /// The roles of the round.
        known: Vec<String>,
    },
    /// A message that should be merged into a turn that never comes.
    #[error("role {role:?} is merged into the {} turn of {merge_into:?}, but {}", which_turn(*.is_last), why_no_turn(*.is_left_out))]
    NoTurnToMergeInto {
        /// The message's role.
        role: String,
        /// The role whose turn it is merged into.
        merge_into: String,
        /// Whether that is its last turn, and not its next one.
        is_last: bool,
        /// Whether such a turn is left out of the prompt, because the model generates it.
        is_left_out: bool,
    },
    /// A message of a role that the template refuses.
    #[error("the template refuses messages of role {role:?}: {reason}")]
    RefusedRole {
        /// The message's role.
        role: String,
        /// `refuse` of the role.
        reason: String,
    },
    /// A message whose role and fallback role are both missing from the template.
    #[error("{}", unknown_role(.role, .fallback.as_deref(), .known))]
    UnknownRole {
        /// The message's role.
        role: String,
        /// The message's fallback role.
        fallback: Option<String>,
        /// The template's roles.
        known: Vec<String>,
    },
    /// A message inside a round whose role is not in the template's `round`.
    #[error("role {role:?} cannot speak inside a round; the round's roles are {}", quoted(.known))]
    RoleOutsideRound {
        /// The message's role.
        role: String,
        /// The roles of the template's round.
        known: Vec<String>,
        /// Whether `round_fallback` would help.
        has_fallback: bool,
    },
    /// Part of a conversation that would change the prompt but has no place in the template.
    #[error("{key:?} would be lost: {why}")]
    WouldBeLost {
        /// Its key.
        key: &'static str,
        /// Why it has no place.
        why: &'static str,
    },
    /// A conversation without any content.
    #[error("the conversation is empty")]
    EmptyConversation,
    /// A prompt without tokens, which no engine accepts.
    #[error("the prompt has no tokens: {}", if *.has_text { "the tokenizer has none for its text" } else { "the messages are empty, and the template adds no text" })]
    EmptyPrompt {
        /// Whether it has text, for which the tokenizer has no tokens.
        has_text: bool,
    },
    /// Section markers that do not nest, or a message outside every section.
    #[error("{0}")]
    Sections(String),
    /// A conversation that cannot become a prompt with this template.
    #[error("{0}")]
    Conversation(String),
    /// A model's template that cannot be used to build prompts.
    #[error("{0}")]
    Template(String),
    /// A dataset's configuration that cannot be used to build prompts.
    #[error("{0}")]
    Dataset(String),
    /// A row that cannot become a prompt with this dataset.
    #[error("{0}")]
    Row(String),
    /// A column that a row does not have.
    #[error("there is no column {column:?} (columns: {columns})")]
    MissingColumn {
        /// The column.
        column: String,
        /// The row's columns, as displayed.
        columns: String,
    },
    /// An image, audio or video that is not what it claims to be.
    #[error("the {kind} {shortened} {what}")]
    Media {
        /// `image`, `audio` or `video`.
        kind: &'static str,
        /// Its source, shortened.
        shortened: String,
        /// What is wrong with it, as the rest of the sentence.
        what: String,
    },
    /// A prompt that leaves no room for its answer.
    #[error("the prompt has {tokens} tokens, but only {} fit {}", max_seq_len.saturating_sub(*.max_out_len), room(*.max_seq_len, *.max_out_len))]
    TooLong {
        /// How many tokens it has after everything that may be dropped is dropped.
        tokens: usize,
        /// The context.
        max_seq_len: usize,
        /// The part of it that is kept for the answer.
        max_out_len: usize,
    },
    /// Two options that exclude each other, or an option that does not apply.
    #[error("{0}")]
    Usage(String),
    /// A name that does not exist.
    #[error("unknown {what} {name:?}; choose one of {}", .known.join(", "))]
    UnknownName {
        /// What kind of name it is.
        what: &'static str,
        /// The name as written.
        name: String,
        /// The names that exist.
        known: Vec<&'static str>,
    },
    /// Arrays that do not fit into memory. They were never allocated.
    #[error("{0}")]
    OutOfMemory(String),
    /// Something that this build of the library cannot do.
    #[error("this build of metatok does not include {what}")]
    MissingFeature {
        /// What it lacks.
        what: &'static str,
        /// The cargo feature that adds it.
        feature: &'static str,
    },

    /// Content produced an id that only the template may produce.
    #[error("content produces the reserved token {token:?} (id {id}) around {excerpt:?} by ordinary merges")]
    ReservedInContent {
        /// The reserved id.
        id: u32,
        /// Its string.
        token: String,
        /// The text around it.
        excerpt: String,
        /// Whether it is reserved by name, in [`BuilderOptions::reserve`](crate::BuilderOptions::reserve).
        is_listed: bool,
    },

    /// A `tokenizer.json` that no tokenizer library can load.
    #[error("cannot load this tokenizer: {0}")]
    UnsupportedTokenizer(String),
    /// A tokenizer library failed to encode or decode a text.
    #[error("the tokenizer failed: {0}")]
    Encode(String),
    /// A meta template in which the model speaks as a role that does not generate.
    #[error("{0}")]
    NoGeneratingRole(String),
    /// What a meta template that was made of a chat template does otherwise after all.
    #[error("the meta template that was made of the chat template {0}, so prompts before it may be wrong too")]
    MetaTemplateDiffers(String),
    /// A model that the engine does not support, or whose files do not match each other.
    #[error("{0}")]
    UnsupportedModel(String),
    /// A prompt that is longer than the model's context.
    #[error("there are {tokens} tokens, but the model's context has room for only {max_seq_len}")]
    ContextFull {
        /// How many tokens there are.
        tokens: usize,
        /// How many fit.
        max_seq_len: usize,
    },
    /// An engine failed.
    #[error("{0}")]
    Engine(String),
    /// No directory, file, built-in model or repository has this name.
    #[error("{0}")]
    NotFound(String),
    /// The Hugging Face Hub has no such repository or file.
    #[error("{0}")]
    HubMissing(String),
    /// The Hugging Face Hub requires an access token, or a different one.
    #[error("{0}")]
    HubAccess(String),
    /// A file of the Hugging Face Hub is not in the cache and may not be downloaded.
    #[error("{0}")]
    Offline(String),
    /// The Hugging Face Hub could not be reached, or failed.
    #[error("{0}")]
    Hub(String),
    /// An error from your own renderer, engine or retriever.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

fn room(max_seq_len: usize, max_out_len: usize) -> String {
    match max_out_len {
        0 => format!("(context {max_seq_len})"),
        _ => format!("(context {max_seq_len}, minus {max_out_len} for the answer)"),
    }
}

fn why_no_turn(is_left_out: bool) -> &'static str {
    if is_left_out { "that turn is left out, because the model generates it" } else { "no such turn follows" }
}

fn which_turn(is_last: bool) -> &'static str {
    if is_last { "last" } else { "next" }
}

fn unknown_role(role: &str, fallback: Option<&str>, known: &[String]) -> String {
    if known.is_empty() {
        return format!("the template has no roles, and the message is of role {role:?}");
    }
    let known = quoted(known);
    match fallback {
        None if role == "developer" => {
            format!("the template has no role \"developer\" (a newer name for \"system\"); its roles are {known}")
        }
        None if is_tool(role) => format!("the template has no role {role:?}; its roles are {known}"),
        None => format!(
            "the template has no role {role:?} and the message has no fallback_role; the template's roles are {known}"
        ),
        Some(fallback) => {
            format!("the template has neither role {role:?} nor its fallback_role {fallback:?}; its roles are {known}")
        }
    }
}

fn split(pieces: &[String]) -> String {
    match pieces {
        [] => "it produces no tokens".into(),
        [one] => format!("it is encoded as {one}"),
        several => format!("it is split into {}", several.join(" ")),
    }
}

pub(super) fn is_tool(role: &str) -> bool {
    matches!(role, "tool" | "function")
}
