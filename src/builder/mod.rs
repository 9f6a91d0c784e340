//! The facade: load once per model, build per prompt.

mod buffers;
mod building;
mod by_message;
mod combine;
mod join;
mod options;
mod plain_chat;
mod rendering;
mod reserving;
mod run_counts;
mod scored_part;
mod session;
mod shortcut;
mod stops;
mod text_encoder;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;

use crate::assemble::{Assembler, Detail, Placeholders, Respelled};
pub use crate::assemble::{ContentTrust, IGNORE_INDEX, MediaSpan, Span, TokenizedPrompt};
use crate::conversation::Mode;
use crate::dataset::records::OwnRoles;
use crate::dataset::{InputFormat, ReadsFor, RecordReader};
use crate::dialect::{ChatTemplate, Day};
use crate::error::{Result, Warning};
use crate::idle::Idle;
use crate::render::{ApiTemplate, Renderer};
use crate::stop::{Completion, StopCriteria, Trimmer};
use crate::tokenizer::{AddedToken, TokenId, Tokenizer};
use buffers::Buffers;
pub(crate) use combine::{ROLES_ONLY, name_a_template};
pub use join::JoinSession;
pub use options::BuilderOptions;
use plain_chat::MOST_MESSAGES;
pub(crate) use plain_chat::{alternating_chat, plain_chat};
pub use run_counts::RunCounts;
pub use session::Session;
pub use text_encoder::TextEncoder;

/// Builds prompts for one model: a template, a tokenizer and options. Cloning it is cheap, and clones share their
/// caches.
///
/// ```
/// use metatok::{ChatMessage, Conversation, PromptBuilder};
///
/// let builder = PromptBuilder::demo()?;
/// let prompt = builder.build(&Conversation::Messages(vec![ChatMessage::new("user", "Hi!")]))?;
/// assert_eq!(
///     builder.tokenizer().decode(&prompt.input_ids, false)?,
///     "<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n",
/// );
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Clone)]
pub struct PromptBuilder {
    shared: Arc<Shared>,
    detail: Detail,
    continue_final_message: bool,
    /// Whether its conversations are prepared already.
    takes_prepared: bool,
    /// Whether all of a conversation is said, also an answer at its end.
    keeps_last_answer: bool,
}

/// What all clones of a builder share.
struct Shared {
    renderer: Box<dyn Renderer>,
    placeholders: Placeholders,
    assembler: Assembler,
    mode: Mode,
    compat: bool,
    /// Which chat wrapper converts conversations to messages first, and whether each message by itself.
    chat_wrapper: Option<(ApiTemplate, bool)>,
    open_answer: bool,
    allow_empty_prompts: bool,
    pad: Option<TokenId>,
    stop: StopCriteria,
    /// Computed on first use, because it reads the whole vocabulary.
    trimmer: OnceLock<Trimmer>,
    warnings: Vec<Warning>,
    /// Warnings about content that is rejected, computed on first use.
    refused: OnceLock<Option<Warning>>,
    /// Computed on first use, because a chat template is rendered for it.
    own_roles: OnceLock<OwnRoles>,
    /// In boxes, because sessions take them and give them back: only a pointer is moved.
    idle: Idle<Box<Buffers>>,
    shortcut: Shortcut,
}

/// The builder's shortcut, if any, and the template it is made from.
#[derive(Default)]
struct Shortcut {
    source: Option<Box<ShortcutSource>>,
    ready: OnceLock<ReadyShortcut>,
    built: AtomicU64,
    /// Whether it gave other ids after all, and is not used any more.
    is_wrong: AtomicBool,
}

/// A second builder, for plain chats, and the chats for which it is right.
struct ReadyShortcut {
    builder: PromptBuilder,
    /// What the template looks for in content, and then may do anything.
    sought: AhoCorasick,
    /// The only day on which it is right, if the template tells the day.
    day: Option<Day>,
    /// Whether it gives the ids of the template for chats of each number of turns, without a system message and with one.
    is_right_for: Box<[[OnceLock<bool>; MOST_MESSAGES]; 2]>,
}

/// What a shortcut is made of.
pub(crate) struct ShortcutSource {
    pub(crate) template: ChatTemplate,
    /// For the builder of the shortcut.
    pub(crate) options: BuilderOptions,
}

impl PromptBuilder {
    /// Whether prompts record where each token comes from.
    #[must_use]
    pub fn spans(mut self, spans: bool) -> Self {
        self.detail.spans = spans;
        self
    }

    /// Whether a last message of the assistant is the beginning of the answer, see
    /// [`BuilderOptions::continue_final_message`].
    ///
    /// ```
    /// let builder = metatok::PromptBuilder::demo()?;
    /// let begun = [("user", "Which planet is red?"), ("assistant", "Mars")];
    /// let prompt = builder.clone().continue_final_message(true).build_messages(&begun)?;
    /// assert!(builder.tokenizer().decode(&prompt.input_ids, false)?.ends_with("<|im_start|>assistant\nMars"));
    /// // Otherwise it is left out, and the model starts a new answer.
    /// assert!(builder.build_messages(&begun)?.answer_omitted);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    #[must_use]
    pub fn continue_final_message(mut self, continues: bool) -> Self {
        self.continue_final_message = continues;
        self
    }

    /// The id for padding batches: the model file's, or the tokenizer's pad token, or its eos.
    pub fn pad_token_id(&self) -> Option<TokenId> {
        self.shared.pad
    }

    /// Reads records of this format as its template needs them: with tools and documents if it writes them.
    ///
    /// ```
    /// use metatok::dataset::records::InputFormat;
    ///
    /// let reader = metatok::PromptBuilder::demo()?.record_reader(InputFormat::Auto);
    /// let error = reader.parse(r#"{"messages": [{"role": "user", "content": "Hi!"}], "tools": [{}]}"#).unwrap_err();
    /// assert!(error.to_string().contains("templates have no place for tool descriptions"));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn record_reader(&self, format: InputFormat) -> RecordReader {
        RecordReader::new(format)
            .reads_for(ReadsFor::template(self.writes_all_keys()))
            .keeps_roles(*self.shared.own_roles.get_or_init(|| OwnRoles::of(|role| self.knows_role(role))))
            .makes_messages(self.shared.chat_wrapper.is_some())
    }

    /// Whether messages of a role with this name have a place in its template.
    pub(crate) fn knows_role(&self, role: &str) -> bool {
        self.shared.renderer.knows_role(role)
    }

    /// Whether its template writes contents that are token ids, as chat templates do not.
    pub(crate) fn writes_ids(&self) -> bool {
        self.shared.renderer.writes_ids()
    }

    /// Whether its template writes all keys of messages, tools and documents, as chat templates do.
    pub(crate) fn writes_all_keys(&self) -> bool {
        self.shared.renderer.writes_all_keys()
    }

    /// What its prompts contain in addition to the ids.
    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// This builder with other detail.
    pub(crate) fn with_detail(&self, detail: Detail) -> Self {
        Self { detail, ..self.clone() }
    }

    /// The purpose of the prompts: to continue, or to score.
    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    /// The reserved tokens that content could produce by spelling them out, by ordinary merges, each with the tokens
    /// that are written instead; none if such content is rejected.
    pub(crate) fn reachable(&self) -> Result<Vec<(TokenId, Respelled)>> {
        let reachable = self.shared.assembler.reachable()?;
        Ok(reachable.into_iter().map(|id| (id, self.shared.assembler.respelled(id))).collect())
    }

    /// Where the model's output ends, with the sources of each stop.
    pub fn stop(&self) -> &StopCriteria {
        &self.shared.stop
    }

    /// Trims the model's output to where it should have ended. The first call reads the whole vocabulary and keeps it.
    ///
    /// # Errors
    /// The same as for [`StopCriteria::matcher`].
    pub fn trimmer(&self) -> Result<Trimmer> {
        if let Some(trimmer) = self.shared.trimmer.get() {
            return Ok(trimmer.clone());
        }
        // What models write, too, is not taken for padding.
        let is_text = |id: &TokenId| self.tokenizer().added_token(*id).is_some_and(AddedToken::is_ordinary_text);
        let pad = self.shared.pad.filter(|pad| !is_text(pad));
        let trimmer = Trimmer::new(&self.shared.stop, self.tokenizer())?.pad_token_id(pad);
        Ok(self.shared.trimmer.get_or_init(|| trimmer).clone())
    }

    /// The model's output, trimmed.
    ///
    /// # Errors
    /// The same as for [`Trimmer::complete`].
    pub fn complete(&self, ids: &[TokenId]) -> Result<Completion> {
        self.trimmer()?.complete(ids)
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.shared.assembler.tokenizer
    }

    /// The names that [`crate::render::Part::role`] refers to.
    pub fn role_names(&self) -> Vec<&str> {
        self.shared.renderer.role_names()
    }

    /// Warnings about the model and the files of its tokenizer.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        // Each reserved token is encoded for it, and building a single prompt need not wait for that.
        let refused = self.shared.refused.get_or_init(|| self.shared.assembler.refused());
        self.shared.warnings.iter().chain(refused)
    }

    /// Whether it is a control token: an added token that is not ordinary text, or one that content must not produce.
    pub(crate) fn is_control(&self, id: TokenId) -> bool {
        self.tokenizer().added_token(id).is_some_and(|token| !token.is_ordinary_text()) || self.is_reserved(id)
    }

    /// Whether only the template may produce any of these ids.
    pub(crate) fn has_reserved(&self, ids: &[TokenId]) -> bool {
        self.shared.assembler.reserved.any(ids)
    }

    /// Whether only the template may produce this id.
    pub fn is_reserved(&self, id: TokenId) -> bool {
        self.shared.assembler.reserved.contains(id)
    }
}

impl fmt::Debug for PromptBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { mode, pad, stop, .. } = &*self.shared;
        let mut debug = f.debug_struct("PromptBuilder");
        debug.field("tokenizer", self.tokenizer()).field("mode", mode).field("roles", &self.role_names());
        debug.field("stop", stop).field("pad_token_id", pad).finish_non_exhaustive()
    }
}
