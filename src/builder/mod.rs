//! The facade: load once per model, build per prompt.

mod join;
mod options;
mod reserving;
mod session;
mod stops;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use crate::assemble::{Assembler, Detail, Placeholders, Respelled};
pub use crate::assemble::{ContentTrust, IGNORE_INDEX, MediaSpan, Span, TokenizedPrompt};
use crate::batch::{Batch, Padding};
use crate::compile::{CompiledTemplate, Compiler};
use crate::conversation::{Conversation, Mode};
use crate::dialect::{ConversationRenderer, Model};
use crate::error::{At, ErrorKind, Place, Result, Setting, Warning, WayOut, way_out};
use crate::render::{
    ApiTemplate, EachMessage, MetaRenderer, Plain, Renderer, Segment, is_answer, render_open_answer, render_to_continue,
};
use crate::stop::{Completion, StopCriteria, Trimmer};
use crate::template::MetaTemplate;
use crate::tokenizer::{TokenId, Tokenizer};
pub use options::BuilderOptions;
use reserving::assembler;
use session::Buffers;
pub use session::Session;
use stops::add_stops;

/// Builds prompts for one model: a template, a tokenizer and what was asked for. Cloning it is cheap, and clones share what
/// they have built.
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
}

/// What all clones of a builder have in common.
struct Shared {
    renderer: Box<dyn Renderer>,
    placeholders: Placeholders,
    assembler: Assembler,
    mode: Mode,
    compat: bool,
    /// What makes messages of conversations first, and whether of each message by itself.
    chat_wrapper: Option<(ApiTemplate, bool)>,
    continue_final_message: bool,
    open_answer: bool,
    pad: Option<TokenId>,
    stop: StopCriteria,
    /// Once somebody has asked for it: it reads the whole vocabulary.
    trimmer: OnceLock<Trimmer>,
    template_warnings: Vec<Warning>,
    /// Warnings of content that is refused, once somebody has asked for them.
    refused: OnceLock<Vec<Warning>>,
    idle: Mutex<Vec<Buffers>>,
}

/// What is wrong with a template that only names roles, and what to do.
pub(crate) const ROLES_ONLY: &str =
    "the roles have names and no text, as for models behind an API, so that prompts are only what is said";
pub(crate) fn name_a_template() -> WayOut {
    way_out![
        "name the model's own template, such as ",
        Setting::MODEL.set_to("qwen3"),
        " ",
        Setting::CHAT_WRAPPER.set_to("opencompass-chat"),
        ", or build with ",
        Setting::FORMAT.set_to("messages")
    ]
}

impl PromptBuilder {
    /// Brings a model and a tokenizer together.
    ///
    /// # Errors
    /// Names what in the template does not fit the tokenizer, see [`CompiledTemplate::new`], and a
    /// reserved or stop token that does not exist.
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

    /// As [`Self::new`], with a format of one's own in the place of the model's template.
    ///
    /// ```
    /// use metatok::compile::Atom;
    /// use metatok::render::{Part, Renderer, Segment};
    /// use metatok::{BuilderOptions, Conversation, Mode, Model, PromptBuilder, Tokenizer};
    ///
    /// /// Puts a question mark behind every string.
    /// struct Question;
    ///
    /// impl Renderer for Question {
    ///     fn render<'a>(&'a self, said: &'a Conversation, _: Mode, segments: &mut Vec<Segment<'a>>) -> metatok::Result<()> {
    ///         if let Conversation::Text(text) = said {
    ///             segments.extend([text.as_str(), "?"].map(|text| Segment { atom: Atom::Text(text), part: Part::default() }));
    ///         }
    ///         Ok(())
    ///     }
    ///
    ///     fn role_names(&self) -> Vec<&str> {
    ///         Vec::new()
    ///     }
    /// }
    ///
    /// let (model, options) = (Model::default(), BuilderOptions { text: true, ..BuilderOptions::default() });
    /// let builder = PromptBuilder::with_renderer(Box::new(Question), &model, Tokenizer::demo()?.into(), &options)?;
    /// assert_eq!(builder.build(&Conversation::Text("Really".into()))?.text.as_deref(), Some("Really?"));
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
        let has_open_seams = renderer.has_open_seams() || compiler.open_seams;
        let mut used = renderer.used_tokens();
        used.extend(compiler.used);
        let assembler = assembler(tokenizer, &used, has_open_seams, model, options)?;
        let shared = Shared {
            renderer,
            placeholders,
            assembler,
            mode: options.mode,
            compat: options.compat,
            chat_wrapper: options.chat_wrapper.map(|wrapper| (wrapper.template(), options.each_message)),
            continue_final_message: options.continue_final_message,
            open_answer: options.open_answer,
            pad,
            stop,
            trimmer: OnceLock::new(),
            template_warnings,
            refused: OnceLock::new(),
            idle: Mutex::default(),
        };
        let detail = Detail { spans: options.spans, offsets: options.offsets, text: options.text };
        Ok(Self { shared: Arc::new(shared), detail })
    }

    /// Loads a model and its tokenizer by name, as [`Model::load`] and [`Tokenizer::load`] find them.
    ///
    /// # Errors
    /// What loading either, or [`Self::new`], says.
    pub fn load(model: &str) -> Result<Self> {
        let model = Model::load(model)?;
        let tokenizer = Arc::new(model.load_tokenizer()?);
        Self::new(&model, tokenizer, &BuilderOptions::default())
    }

    /// The embedded demo model: a small tokenizer and its template, for trying things without a network.
    ///
    /// # Errors
    /// None that a user could cause.
    pub fn demo() -> Result<Self> {
        Self::load("demo")
    }

    /// Whether prompts know where each token comes from.
    #[must_use]
    pub fn spans(mut self, spans: bool) -> Self {
        self.detail.spans = spans;
        self
    }

    /// Builds one prompt.
    ///
    /// # Errors
    /// Names the item of the conversation that the template has no place for, and content that
    /// produces a reserved token.
    pub fn build(&self, conversation: &Conversation) -> Result<TokenizedPrompt> {
        self.session().build(conversation)
    }

    /// Builds prompts and puts them side by side, padded on the left.
    ///
    /// ```
    /// use metatok::{ChatMessage, Conversation, PromptBuilder};
    ///
    /// let builder = PromptBuilder::demo()?;
    /// let chat = |content: &str| Conversation::Messages(vec![ChatMessage::new("user", content)]);
    /// let batch = builder.build_batch(&[chat("Hi!"), chat("What is the Sun?")])?;
    /// assert_eq!(batch.input_ids.nrows(), 2);
    /// assert_eq!(batch.input_ids[[0, 0]], 1053, "<|pad|>");
    /// assert_eq!(batch.attention_mask()[[0, 0]], 0);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::build`], with the conversation's place, and [`ErrorKind::Usage`] if there is nothing to pad with,
    /// or not memory enough.
    pub fn build_batch(&self, conversations: &[Conversation]) -> Result<Batch> {
        let padding = self.padding()?;
        let mut session = self.session();
        let built = |(i, conversation)| session.build(conversation).at(Place::Conversation(i));
        let prompts = conversations.iter().enumerate().map(built).collect::<Result<Vec<_>>>()?;
        Batch::new(&prompts, padding)
    }

    /// The id that fills batches up: the model file's, or the tokenizer's pad token, or its eos.
    pub fn pad_token_id(&self) -> Option<TokenId> {
        self.shared.pad
    }

    /// Padding with [`Self::pad_token_id`] on the left, as models that go on want it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is nothing to pad with.
    pub fn padding(&self) -> Result<Padding> {
        let pad_token_id = self.pad_token_id().ok_or_else(|| {
            let what = "nothing is there to pad with: the tokenizer has neither a pad token nor an eos";
            ErrorKind::Usage(what.into()).with_way_out("name a pad_token_id in the model file")
        })?;
        Ok(Padding::new(pad_token_id))
    }

    /// Builds one prompt with this detail, whatever was asked of the builder.
    pub(crate) fn build_with(&self, conversation: &Conversation, detail: Detail) -> Result<TokenizedPrompt> {
        let mut prompt = TokenizedPrompt::default();
        self.session().build_with(conversation, detail, &mut prompt)?;
        Ok(prompt)
    }

    /// What its prompts have beside the ids.
    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// What is built: prompts to continue, or texts to score.
    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    /// What is built of a conversation: it itself, or what other systems make of it first.
    pub(crate) fn prepared<'c>(&self, conversation: &'c Conversation) -> Result<Cow<'c, Conversation>> {
        match &self.shared.chat_wrapper {
            Some((template, each_message)) => template.chat(conversation, self.shared.mode, *each_message),
            None if self.shared.compat => {
                Ok(conversation.without_parts().map_or(Cow::Borrowed(conversation), Cow::Owned))
            }
            None => Ok(Cow::Borrowed(conversation)),
        }
    }

    /// A prompt before it is encoded.
    pub(crate) fn segments<'a>(&'a self, conversation: &'a Conversation) -> Result<Vec<Segment<'a>>> {
        let mut segments = Vec::new();
        self.render(conversation, &mut segments)?;
        Ok(segments)
    }

    fn render<'a>(&'a self, conversation: &'a Conversation, segments: &mut Vec<Segment<'a>>) -> Result<()> {
        conversation.check_others()?;
        let Shared { renderer, mode, continue_final_message, open_answer, .. } = &*self.shared;
        match (*mode == Mode::Generate || *open_answer, *continue_final_message) {
            (true, true) => render_to_continue(&**renderer, conversation, segments)?,
            (true, false) if *mode == Mode::Score => render_open_answer(&**renderer, conversation, segments)?,
            _ => renderer.render(conversation, *mode, segments)?,
        }
        self.shared.placeholders.fill(segments, conversation)
    }

    /// Whether the last message is an answer that is left out because the model is to give it.
    fn omits_answer(&self, conversation: &Conversation) -> bool {
        let is_open = self.shared.mode == Mode::Generate && !self.shared.continue_final_message;
        is_open && is_answer(&*self.shared.renderer, conversation)
    }

    /// The reserved tokens that content would give by spelling them out, because ordinary merges reach them, each with
    /// the tokens that are written instead; none where such content is refused.
    pub(crate) fn reachable(&self) -> Result<Vec<(TokenId, Respelled)>> {
        let reachable = self.shared.assembler.reachable()?;
        Ok(reachable.into_iter().map(|id| (id, self.shared.assembler.respelled(id))).collect())
    }

    /// Where the model's output ends, and who says so.
    pub fn stop(&self) -> &StopCriteria {
        &self.shared.stop
    }

    /// Trims what the model gives to where it should have ended. The first one reads the whole vocabulary; it is kept.
    ///
    /// # Errors
    /// As [`StopCriteria::matcher`].
    pub fn trimmer(&self) -> Result<Trimmer> {
        if let Some(trimmer) = self.shared.trimmer.get() {
            return Ok(trimmer.clone());
        }
        let trimmer = Trimmer::new(&self.shared.stop, self.tokenizer())?.pad_token_id(self.shared.pad);
        Ok(self.shared.trimmer.get_or_init(|| trimmer).clone())
    }

    /// What the model gave, trimmed.
    ///
    /// # Errors
    /// As [`Trimmer::complete`].
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

    /// What is worth telling the author of the model file.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        // Each reserved token is encoded for it, which whoever builds one prompt need not wait for.
        let refused = self.shared.refused.get_or_init(|| self.shared.assembler.refused());
        self.shared.template_warnings.iter().chain(refused)
    }

    /// Whether it is a control token: an added token that is not white space, or one that content must not give.
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
