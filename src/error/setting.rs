//! Options under the library's own names, for messages that tell the user which one to change.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

/// An option under the library's name, optionally with a value.
///
/// ```
/// use metatok::error::Setting;
///
/// assert_eq!(Setting::MAX_ROW_BYTES.to_string(), "`max_row_bytes`");
/// assert_eq!(Setting::SPECIAL_TOKENS.set_to("always").to_string(), r#"`special_tokens = "always"`"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Setting {
    name: &'static str,
    value: Option<Cow<'static, str>>,
}

macro_rules! settings {
    ($($(#[$about:meta])* $constant:ident = $name:literal;)*) => {
        impl Setting {
            $($(#[$about])* pub const $constant: Self = Self::new($name);)*
            /// Every setting that messages mention.
            pub const ALL: &[Self] = &[$(Self::$constant),*];
        }
    };
}

settings! {
    /// Models' answers to earlier turns.
    ANSWERS = "answers";
    /// The choices of a question.
    CHOICES = "choices";
    /// Whether a chat template renders every prompt.
    ALWAYS_RENDER = "always_render";
    /// The chat template, if not the tokenizer's own.
    CHAT_TEMPLATE = "chat_template";
    /// Which chat wrapper turns prompts into messages.
    CHAT_WRAPPER = "chat_wrapper";
    /// The column names of a file without a header.
    COLUMNS = "columns";
    /// Whether the quirks of the reference implementation are kept.
    COMPAT = "compat";
    /// Whether content may write control tokens.
    CONTENT = "content";
    /// Whether the model continues a last message of the assistant.
    CONTINUE_FINAL_MESSAGE = "continue_final_message";
    /// The conversation template, in place of the model's.
    CONVERSATION_TEMPLATE = "conversation_template";
    /// The dataset.
    DATASET = "dataset";
    /// The field of a file's object that lists the records.
    FIELD = "field";
    /// The output format.
    FORMAT = "format";
    /// The column with the rows' ids.
    ID_COLUMN = "id_column";
    /// Which turns of a dialogue are generated.
    INFER_MODE = "infer_mode";
    /// The format of the input's records.
    INPUT_FORMAT = "input_format";
    /// Models' answers that a judge evaluates.
    JUDGE = "judge";
    /// Columns that the output keeps.
    KEEP = "keep";
    /// Which of a row's labels a prompt is for.
    LABEL = "label";
    /// Whether texts to score come with labels.
    LABELS = "labels";
    /// How examples and the question become messages.
    LAYOUT = "layout";
    /// The longest line that is read.
    MAX_LINE_BYTES = "max_line_bytes";
    /// How many tokens an answer may have.
    MAX_OUT_LEN = "max_out_len";
    /// The longest text of a row.
    MAX_ROW_BYTES = "max_row_bytes";
    /// Whether to build prompts to continue, or texts to score.
    MODE = "mode";
    /// The model.
    MODEL = "model";
    /// Which examples are nearest to each row.
    NEIGHBOURS = "neighbours";
    /// The length by which likelihoods are divided.
    NORMALIZE_BY = "normalize_by";
    /// How many in-context examples a row has.
    NUM_FEWSHOT = "num_fewshot";
    /// The output file.
    OUTPUT = "output";
    /// Padded prompts are as long as a multiple of this.
    PAD_TO_MULTIPLE_OF = "pad_to_multiple_of";
    /// Which prompt of the input is shown.
    PROMPT = "prompt";
    /// What quotes in CSV and TSV files are.
    QUOTES = "quotes";
    /// The requests of answers.
    REQUESTS = "requests";
    /// Tokens that content must not produce.
    RESERVE = "reserve";
    /// Whether an interrupted run continues.
    RESUME = "resume";
    /// Whether a resumed run asks again for what has an error instead of an answer.
    RETRY_ERRORS = "retry_errors";
    /// What the ids of a run's requests begin with.
    RUN_ID = "run_id";
    /// The model's name at a server.
    SERVED_MODEL_NAME = "served_model_name";
    /// Whether special tokens are added.
    SPECIAL_TOKENS = "special_tokens";
    /// Strings at which output ends.
    STOP_STRINGS = "stop_strings";
    /// Ids at which output ends.
    STOP_TOKEN_IDS = "stop_token_ids";
    /// Whether doubtful rows are rejected.
    STRICT = "strict";
    /// Variables of the chat template.
    TEMPLATE_KWARGS = "template_kwargs";
    /// The tokenizer.
    TOKENIZER = "tokenizer";
    /// The rows that in-context examples come from.
    TRAIN = "train";
    /// What is dropped from a prompt that is too long.
    TRUNCATE = "truncate";
    /// Which turn of a dialogue a prompt is for.
    TURN = "turn";
    /// Reserved tokens that content may produce.
    UNRESERVE = "unreserve";
}

impl Setting {
    /// An option of your own program.
    pub const fn new(name: &'static str) -> Self {
        Self { name, value: None }
    }

    /// This option with a value.
    #[must_use]
    pub fn set_to(mut self, value: impl Into<Cow<'static, str>>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// The library's name for it, in snake case.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The value that the message mentions.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.value() {
            None => write!(f, "`{name}`"),
            Some(value) if value.parse::<f64>().is_ok() || matches!(value, "true" | "false") => {
                write!(f, "`{name} = {value}`")
            }
            Some(value) => write!(f, "`{name} = {value:?}`"),
        }
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
