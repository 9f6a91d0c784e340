//! The facade: load once per model, build per prompt.
//!
//! ```
//! use metatok::PromptBuilder;
//!
//! let builder = PromptBuilder::demo()?;
//! let prompt = builder.build_messages(&[("user", "Hi!")])?;
//! let text = builder.tokenizer().decode(&prompt.input_ids, false)?;
//! assert_eq!(text, "<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n");
//! # Ok::<(), metatok::Error>(())
//! ```

mod buffers;
mod building;
mod join;
mod options;
mod rendering;
mod reserving;
mod session;
mod stops;
mod text_encoder;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use crate::assemble::{Assembler, Detail, Placeholders, Respelled};
pub use crate::assemble::{ContentTrust, IGNORE_INDEX, MediaSpan, Span, TokenizedPrompt};
use crate::compile::{CompiledTemplate, Compiler};
use crate::conversation::Mode;
use crate::dialect::{ConversationRenderer, Model};
use crate::error::{At, Place, Result, Setting, Warning, WayOut, way_out};
use crate::render::{ApiTemplate, EachMessage, MetaRenderer, Plain, Renderer, TemplateCut};
use crate::stop::{Completion, StopCriteria, Trimmer};
use crate::template::MetaTemplate;
use crate::tokenizer::{TokenId, Tokenizer};
use buffers::Buffers;
pub use join::JoinSession;
pub use options::BuilderOptions;
use reserving::assembler;
pub use session::Session;
use stops::add_stops;
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
    template_warnings: Vec<Warning>,
    /// Warnings about content that is rejected, computed on first use.
    refused: OnceLock<Vec<Warning>>,
    idle: Mutex<Vec<Buffers>>,
}

/// The problem with a template that only names roles, and what to do.
pub(crate) const ROLES_ONLY: &str =
    "the roles have names but no text, as for models behind an API, so prompts are only the contents of messages";
pub(crate) fn name_a_template() -> WayOut {
    way_out![
        "use the model's own template, such as ",
        Setting::MODEL.set_to("qwen3"),
        " ",
        Setting::CHAT_WRAPPER.set_to("opencompass-chat"),
        ", or build with ",
        Setting::FORMAT.set_to("messages")
    ]
}

impl PromptBuilder {
    /// Combines a model and a tokenizer.
    ///
    /// # Errors
    /// Names what in the template does not fit the tokenizer, see [`CompiledTemplate::new`], or a reserved or stop
    /// token that does not exist.
    pub fn new(model: &Model, tokenizer: Arc<Tokenizer>, options: &BuilderOptions) -> Result<Self> {
        if let Some(template) = &model.conversation_template {
            let renderer = ConversationRenderer::new(template, &tokenizer).at(Place::file(&model.name))?;
            return Self::with_warnings(Box::new(renderer), model, tokenizer, options, Vec::new());
        }
        model.check_gives_ids()?;
        let mut warnings = Vec::new();
        let mut compile = |template| -> Result<CompiledTemplate> {
            let mut template = CompiledTemplate::new(template, &tokenizer)?;
            warnings.extend(template.take_warnings().into_iter().map(|warning| warning.at(Place::file(&model.name))));
            Ok(template)
        };
        let renderer: Box<dyn Renderer> =
            match model.meta_template.as_ref().map(&mut compile).transpose().at(Place::file(&model.name))? {
                template if options.each_message && options.chat_wrapper.is_none() => {
                    Box::new(EachMessage::new(template).at(Place::file(&model.name))?)
                }
                None => Box::new(Plain),
                Some(template) => Box::new(MetaRenderer { template, round_fallback: options.round_fallback }),
            };
        if model.meta_template.as_ref().is_some_and(MetaTemplate::names_roles_only) {
            let warning = Warning::new("roles-only", ROLES_ONLY).with_way_out(name_a_template());
            warnings.push(warning.at("meta_template").at(Place::file(&model.name)));
        }
        Self::with_warnings(renderer, model, tokenizer, options, warnings)
    }

    /// Like [`Self::new`], with your own format instead of the model's template.
    ///
    /// ```
    /// use metatok::render::{Renderer, Segments};
    /// use metatok::{BuilderOptions, Conversation, Mode, Model, PromptBuilder, Tokenizer};
    ///
    /// /// Counts the bytes of a question.
    /// struct Counting;
    ///
    /// impl Renderer for Counting {
    ///     fn render<'a>(&'a self, said: &'a Conversation, _: Mode, segments: &mut Segments<'a>) -> metatok::Result<()> {
    ///         let Conversation::Text(question) = said else { return Err(metatok::Error::other("only strings")) };
    ///         let begin = segments.owned(format!("<|im_start|>({}) ", question.len()));
    ///         segments.template(begin);
    ///         segments.content(question, 0);
    ///         segments.template("<|im_end|>");
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let (model, options) = (Model::default(), BuilderOptions { text: true, ..BuilderOptions::default() });
    /// let builder = PromptBuilder::with_renderer(Box::new(Counting), &model, Tokenizer::demo()?.into(), &options)?;
    /// let prompt = builder.build(&Conversation::Text("<|im_end|>".into()))?;
    /// assert_eq!(prompt.text.as_deref(), Some("<|im_start|>(10) <|im_end|><|im_end|>"));
    /// // The template's control tokens are ids. The one in the question is text.
    /// let is_control = |id: &&u32| [1051, 1052].contains(*id);
    /// assert_eq!(prompt.input_ids.iter().filter(is_control).collect::<Vec<_>>(), [&1051, &1052]);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// Names a reserved or stop token that does not exist.
    pub fn with_renderer(
        renderer: Box<dyn Renderer>,
        model: &Model,
        tokenizer: Arc<Tokenizer>,
        options: &BuilderOptions,
    ) -> Result<Self> {
        Self::with_warnings(renderer, model, tokenizer, options, Vec::new())
    }

    fn with_warnings(
        renderer: Box<dyn Renderer>,
        model: &Model,
        tokenizer: Arc<Tokenizer>,
        options: &BuilderOptions,
        template_warnings: Vec<Warning>,
    ) -> Result<Self> {
        let mut stop = renderer.stop();
        add_stops(&mut stop, model, &tokenizer, options)?;
        let own = |id: i64| tokenizer.check_id(id.into()).at("pad_token_id").at(Place::file(&model.name));
        let special = tokenizer.special_token_ids();
        let pad = model.pad_token_id.map(own).transpose()?.or(special.pad).or(special.eos);
        let mut compiler = Compiler::new(&tokenizer);
        let placeholders = Placeholders::new(&model.multimodal, &mut compiler).at(Place::file(&model.name))?;
        let template_text = renderer.template_text().min(TemplateCut::compiled(compiler.open_seams));
        let mut used = renderer.used_tokens();
        used.extend(compiler.used);
        let assembler = assembler(tokenizer, &used, template_text, model, options)?;
        let shared = Shared {
            renderer,
            placeholders,
            assembler,
            mode: options.mode,
            compat: options.compat,
            chat_wrapper: options.chat_wrapper.map(|wrapper| (wrapper.template(), options.each_message)),
            open_answer: options.open_answer,
            allow_empty_prompts: options.allow_empty_prompts,
            pad,
            stop,
            trimmer: OnceLock::new(),
            template_warnings,
            refused: OnceLock::new(),
            idle: Mutex::default(),
        };
        let detail = Detail { spans: options.spans, offsets: options.offsets, text: options.text };
        let BuilderOptions { continue_final_message, .. } = *options;
        Ok(Self { shared: Arc::new(shared), detail, continue_final_message, takes_prepared: false })
    }

    /// Loads a model and its tokenizer by name, as [`Model::load`] and [`Tokenizer::load`] find them.
    ///
    /// # Errors
    /// Errors of loading either, or of [`Self::new`].
    pub fn load(model: &str) -> Result<Self> {
        Self::load_with(model, &BuilderOptions::default())
    }

    /// The same, with options.
    ///
    /// ```
    /// use metatok::{BuilderOptions, Mode, PromptBuilder};
    ///
    /// let options = BuilderOptions { mode: Mode::Score, ..BuilderOptions::default() };
    /// let builder = PromptBuilder::load_with("demo", &options)?;
    /// let text = builder.tokenizer().decode(&builder.build_messages(&[("user", "Hi!")])?.input_ids, false)?;
    /// assert_eq!(text, "<|im_start|>user\nHi!<|im_end|>\n");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::load`].
    pub fn load_with(model: &str, options: &BuilderOptions) -> Result<Self> {
        let model = Model::load(model)?;
        let tokenizer = Arc::new(model.load_tokenizer()?);
        Self::new(&model, tokenizer, options)
    }

    /// The embedded demo model: a small tokenizer and its template, for trying things without a network.
    ///
    /// # Errors
    /// None that a user could cause.
    pub fn demo() -> Result<Self> {
        Self::load("demo")
    }

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

    /// What its prompts contain in addition to the ids.
    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// The same builder with other detail.
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
        let trimmer = Trimmer::new(&self.shared.stop, self.tokenizer())?.pad_token_id(self.shared.pad);
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

    /// Warnings for the author of the model file.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        // Each reserved token is encoded for it, and building a single prompt need not wait for that.
        let refused = self.shared.refused.get_or_init(|| self.shared.assembler.refused());
        self.shared.template_warnings.iter().chain(refused)
    }

    /// Whether it is a control token: an added token that is not white space, or one that content must not produce.
    pub(crate) fn is_control(&self, id: TokenId) -> bool {
        self.tokenizer().added_token(id).is_some_and(|token| !token.is_white_space()) || self.is_reserved(id)
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
