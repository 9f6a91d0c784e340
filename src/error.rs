//! The one error type: what went wrong, and where.
//!
//! Inner code says *what* with an [`ErrorKind`]; each boundary on the way out adds *where* with
//! [`Error::at`], so a message reads from the outside in:
//! `models/x.toml: meta_template.round[1].end[0]: token id 99999 is outside the vocabulary (92544 tokens)`.

use std::fmt::{self, Display};

/// A [`std::result::Result`] with metatok's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong ([`ErrorKind`]) and where (file, line, key path), outermost place first.
#[derive(Debug)]
pub struct Error {
    place: String,
    kind: Box<ErrorKind>,
}

impl Error {
    /// Puts `place` in front of where the error is said to be.
    #[must_use]
    pub fn at(mut self, place: impl Display) -> Self {
        self.place.insert_str(0, &format!("{place}: "));
        self
    }

    /// An error of a [`Renderer`](crate::render::Renderer) of one's own.
    pub fn renderer(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ErrorKind::Renderer(error.into()).into()
    }

    /// What went wrong, for programs that want to tell errors apart.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind.source()
    }
}

impl<K: Into<ErrorKind>> From<K> for Error {
    fn from(kind: K) -> Self {
        Self { place: String::new(), kind: Box::new(kind.into()) }
    }
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or stream could not be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Bytes that are not UTF-8.
    #[error("not UTF-8: the byte at offset {0} starts no valid character")]
    NotUtf8(usize),
    /// A byte order mark of an encoding other than UTF-8.
    #[error("this is {0}, metatok reads UTF-8; convert it first, for example with `iconv -t UTF-8`")]
    OtherEncoding(&'static str),
    /// Text that is not the JSON or TOML it should be; the message is the parser's.
    #[error("{0}")]
    Parse(String),
    /// A line longer than the limit. Only its beginning was read.
    #[error("the line is longer than {0} bytes; raise --max-line-bytes if that is intended")]
    LineTooLong(usize),
    /// A row that is longer than the limit once its columns are filled in. Nothing so long was made.
    #[error(
        "filled in, the row's text is longer than {0} bytes, perhaps because its columns bring in one another; write substitution = \"single-pass\" into the template, or raise --max-row-bytes if that is intended"
    )]
    RowTooLong(usize),
    /// A row of so many columns, in so long a text, that filling them in would take minutes.
    #[error(
        "filling in the row's columns takes too long, with texts of up to {0} bytes: leave out columns, write substitution = \"single-pass\" into the template, or raise --max-row-bytes"
    )]
    RowTooSlow(usize),
    /// An input without a single conversation.
    #[error("no conversation in it; a line is {{\"messages\": [{{\"role\": \"user\", \"content\": \"…\"}}]}}")]
    EmptyInput,
    /// An input without a single row.
    #[error("no row in it; a line is {{\"question\": \"…\"}}, or a record below the names of a CSV file")]
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
    #[error("token id {0} is a gap in the vocabulary: no token has it")]
    UnusedTokenId(u32),
    /// A `{ token = "…" }`, or a string of `--reserve` or `--unreserve` that is not one vocabulary entry.
    #[error(
        "{token:?} is not one vocabulary entry but {pieces}; {}write it as a plain string, or name a token that exists",
        did_you_mean(.near.as_deref())
    )]
    NotOneToken {
        /// The string as written.
        token: String,
        /// How the tokenizer splits it.
        pieces: String,
        /// A token that it may have been meant to be.
        near: Option<String>,
    },
    /// Two roles of one name.
    #[error(
        "role {role:?} is defined twice, first as {first}; role names must be unique over round and reserved_roles"
    )]
    DuplicateRole {
        /// The name.
        role: String,
        /// Key path of the first definition.
        first: String,
    },
    /// A key of reserved roles on a role of the round.
    #[error(
        "{0:?} is for reserved roles, and this role has its turn in every round; move it to reserved_roles, or leave the key out"
    )]
    ReservedOnly(&'static str),
    /// A `merge_into` that names no role of the round.
    #[error("merge_into: the round has no role {role:?}; its roles are {}", quoted(.known))]
    UnknownMergeInto {
        /// The name as written.
        role: String,
        /// The roles of the round.
        known: Vec<String>,
    },
    /// A message that is merged into a turn that never comes.
    #[error(
        "role {role:?} is merged into the next turn of {merge_into:?}, and no such turn comes; let a message of {merge_into:?} follow"
    )]
    NoTurnToMergeInto {
        /// The message's role.
        role: String,
        /// The role whose turn it is merged into.
        merge_into: String,
    },
    /// A message whose role, and fallback role, the template does not have.
    #[error("{}", unknown_role(.role, .fallback.as_deref(), .known))]
    UnknownRole {
        /// The message's role.
        role: String,
        /// The message's fallback role.
        fallback: Option<String>,
        /// The roles that the template has.
        known: Vec<String>,
    },
    /// A message inside a round whose role is not one of the template's `round`.
    #[error(
        "role {role:?} cannot stand inside a round, whose roles are {}; move the message to the begin section{}{}",
        quoted(.known),
        if role == "SYSTEM" { ", or take --as opencompass-chat, by which it speaks as the user" } else { "" },
        if *.has_fallback { ", or turn on round_fallback to let its fallback_role speak there" } else { "" }
    )]
    RoleOutsideRound {
        /// The message's role.
        role: String,
        /// The roles of the template's round.
        known: Vec<String>,
        /// Whether `round_fallback` would help.
        has_fallback: bool,
    },
    /// Something of a conversation that would change the prompt, and that a template has no place for.
    #[error("{key:?} would be lost: {way_out}")]
    WouldBeLost {
        /// Its key.
        key: &'static str,
        /// What to do about it.
        way_out: &'static str,
    },
    /// A conversation with nothing in it.
    #[error(
        "the conversation is empty; leave it out, or let somebody speak: {{\"messages\": [{{\"role\": \"user\", \"content\": \"…\"}}]}}"
    )]
    EmptyConversation,
    /// A prompt without a single token, which no engine takes.
    #[error("the prompt has no token: nobody says anything in it, and the template writes nothing; leave it out")]
    EmptyPrompt,
    /// Section markers that do not nest, or a message outside every section.
    #[error("{0}")]
    Sections(String),
    /// A dataset's template, or a row, with which no prompt can be made.
    #[error("{0}")]
    Template(String),
    /// An image, audio or video that cannot be what it says.
    #[error("the {kind} {shortened} {what}")]
    Media {
        /// `image`, `audio` or `video`.
        kind: &'static str,
        /// Its source, shortened.
        shortened: String,
        /// What is wrong with it.
        what: String,
    },
    /// A prompt that leaves no room for its answer.
    #[error(
        "the prompt has {tokens} tokens; {max_seq_len} fit, of which {max_out_len} are for the answer: shorten it, or let more go (--truncate)"
    )]
    TooLong {
        /// How many tokens it has when all has gone that can.
        tokens: usize,
        /// The context.
        max_seq_len: usize,
        /// The answer's share of it.
        max_out_len: usize,
    },
    /// Two options that cannot both hold, or an option that makes no sense here.
    #[error("{0}")]
    Usage(String),

    /// Content produced an id that only the template may produce.
    #[error(
        "content produces the reserved token {token:?} (id {id}) around {excerpt:?}: ordinary merges reach it; change the text, or set content = \"trusted\" if it may control the prompt"
    )]
    ReservedInContent {
        /// The reserved id.
        id: u32,
        /// Its string.
        token: String,
        /// The text around it.
        excerpt: String,
    },

    /// A renderer of one's own failed.
    #[error("the renderer failed: {0}")]
    Renderer(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// A `tokenizer.json` that neither library can load.
    #[error("cannot load this tokenizer: {0}")]
    UnsupportedTokenizer(String),
    /// A tokenizer library failed on a text.
    #[error("the tokenizer failed: {0}")]
    Encode(String),
    /// An engine cannot compute a model, or failed.
    #[error("{0}")]
    Engine(String),
    /// Nothing of that name: no directory, file, built-in model or repository.
    #[error("{0}")]
    NotFound(String),
    /// The Hugging Face Hub said no, or could not be reached.
    #[error("{0}")]
    Hub(String),
}

fn unknown_role(role: &str, fallback: Option<&str>, known: &[String]) -> String {
    let known = quoted(known);
    match fallback {
        None if role == "developer" => format!(
            "the template has no role \"developer\", a newer name for \"system\": write that, or use --format messages for a server that has the template; its roles are {known}"
        ),
        None if matches!(role, "tool" | "function") => format!(
            "the template has no role {role:?}; its roles are {known}; give the template such a role, let another one say it, or use --format messages for a server that has the template"
        ),
        None => format!("the template has no role {role:?} and the message no fallback_role; its roles are {known}"),
        Some(fallback) => {
            format!("the template has neither role {role:?} nor its fallback_role {fallback:?}; its roles are {known}")
        }
    }
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("did you mean `{near}`? else "))
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

/// `1 token`, `2 tokens`.
pub(crate) fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    format!("{number} {what}{}", if number == N::from(1) { "" } else { "s" })
}

/// Adds the place to the error of a result.
pub(crate) trait At<T> {
    /// [`Error::at`] on the error, if there is one.
    fn at(self, place: impl Display) -> Result<T>;
}

impl<T, E: Into<Error>> At<T> for std::result::Result<T, E> {
    fn at(self, place: impl Display) -> Result<T> {
        self.map_err(|error| error.into().at(place))
    }
}
