//! A builder of its parts: a model or a format of your own, a tokenizer, and options.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::assemble::{ContentTrust, Detail, Placeholders};
use crate::builder::options::BuilderOptions;
use crate::builder::reserving::assembler;
use crate::builder::stops::add_stops;
use crate::builder::{PromptBuilder, Shared, Shortcut};
use crate::compile::{CompiledTemplate, Compiler};
use crate::dialect::{ChatTemplateRenderer, ConversationRenderer, Model, ModelChoice};
use crate::error::{At, Fault, OfFile, Place, Result, Setting, Warning, WayOut, way_out};
use crate::idle::Idle;
use crate::render::{EachMessage, MetaRenderer, Plain, Renderer, TemplateCut};
use crate::template::MetaTemplate;
use crate::tokenizer::{TokenId, Tokenizer, is_model};
use crate::wording::and_more;

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
    /// Combines a model and a tokenizer. A builder with a chat template builds many prompts faster after
    /// [`accelerate`](crate::import::accelerate).
    ///
    /// # Errors
    /// Names what in the template does not fit the tokenizer, see [`CompiledTemplate::new`], or a reserved or stop
    /// token that does not exist.
    pub fn new(model: &Model, tokenizer: Arc<Tokenizer>, options: &BuilderOptions) -> Result<Self> {
        if let Some(template) = &model.conversation_template {
            let renderer = ConversationRenderer::new(template, &tokenizer).at(Place::file(&model.name))?;
            return Self::from_parts(Box::new(renderer), model, tokenizer, options, Vec::new());
        }
        if let Some(template) = &model.chat_template {
            // A bare Jinja template uses the special tokens of this tokenizer.
            let renderer = match template.special_tokens.is_empty() {
                true => ChatTemplateRenderer::new(&template.clone().with_special_tokens_of(&tokenizer)?, &tokenizer)?,
                false => ChatTemplateRenderer::new(template, &tokenizer)?,
            };
            let renderer = match options.content {
                ContentTrust::Data if options.reserve.is_empty() => renderer,
                ContentTrust::Data => renderer.reserving_text(),
                ContentTrust::Trusted => renderer.trusting_content(),
            };
            let unread = template.unread_variables().map(unread_variable);
            let warnings = unread.chain(unknown_tokens(&template.unknown_tokens(&tokenizer)?)).collect();
            return Self::from_parts(Box::new(renderer), model, tokenizer, options, warnings);
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
        Self::from_parts(renderer, model, tokenizer, options, warnings)
    }

    /// Like [`Self::new`], with your own format instead of the model's template.
    ///
    /// ```
    /// use metatok::render::{Renderer, Segments};
    /// use metatok::{BuilderOptions, Conversation, ErrorKind, Mode, Model, PromptBuilder, Tokenizer};
    ///
    /// /// Counts the bytes of a question.
    /// struct Counting;
    ///
    /// impl Renderer for Counting {
    ///     fn render<'a>(&'a self, said: &'a Conversation, _: Mode, segments: &mut Segments<'a>) -> metatok::Result<()> {
    ///         let Conversation::Text(question) = said else {
    ///             return Err(ErrorKind::Conversation("only strings".into()).into());
    ///         };
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
        Self::from_parts(renderer, model, tokenizer, options, Vec::new())
    }

    fn from_parts(
        renderer: Box<dyn Renderer>,
        model: &Model,
        tokenizer: Arc<Tokenizer>,
        options: &BuilderOptions,
        mut warnings: Vec<Warning>,
    ) -> Result<Self> {
        warnings.extend(tokenizer.grave_conflicts().map(|conflict| Warning::new("ids-disagree", conflict)));
        let shortcut_of = |template| Shortcut::of(template, &*renderer, &tokenizer, options);
        let shortcut = model.chat_template.as_ref().map(shortcut_of).unwrap_or_default();
        let mut stop = renderer.stop();
        add_stops(&mut stop, model, &tokenizer, options)?;
        let pad = pad_token(model, &tokenizer)?;
        let mut compiler = Compiler::new(&tokenizer);
        let placeholders = Placeholders::new(&model.multimodal, &mut compiler).at(Place::file(&model.name))?;
        let template_cut = renderer.template_cut().min(TemplateCut::compiled(compiler.open_seams));
        let mut used = renderer.used_tokens();
        used.extend(compiler.used);
        let assembler = assembler(tokenizer, &used, template_cut, model, options)?;
        let shared = Shared {
            renderer,
            placeholders,
            assembler,
            mode: options.mode,
            compat: options.compat,
            chat_wrapper: options
                .chat_wrapper
                .or(model.chat_wrapper)
                .map(|wrapper| (wrapper.template(), options.each_message)),
            open_answer: options.open_answer,
            allow_empty_prompts: options.allow_empty_prompts,
            pad,
            stop,
            trimmer: OnceLock::new(),
            warnings,
            refused: OnceLock::new(),
            own_roles: OnceLock::new(),
            idle: Idle::default(),
            shortcut,
        };
        let BuilderOptions { spans, offsets, text, continue_final_message, .. } = *options;
        let detail = Detail { spans, offsets, text, ..Detail::default() };
        Ok(Self {
            shared: Arc::new(shared),
            detail,
            continue_final_message,
            takes_prepared: false,
            keeps_last_answer: false,
        })
    }

    /// Loads a model and its tokenizer by name, as [`Model::load`] and [`Tokenizer::load`] find them, or a folder or
    /// GGUF file with a tokenizer that has its own chat template. [`ModelChoice`] has more to choose from.
    ///
    /// # Errors
    /// Errors of loading either, or of [`Self::new`].
    pub fn load(model: &str) -> Result<Self> {
        Self::load_with(model, &BuilderOptions::default())
    }

    /// Loads a model and its tokenizer by name, as [`Self::load`] does, with options.
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
        let (model, tokenizer) = match Model::load(model) {
            Ok(model) => {
                let tokenizer = model.load_tokenizer()?;
                (model, tokenizer)
            }
            Err(_) if is_model(Path::new(model)) => {
                ModelChoice { tokenizer: Some(model), ..ModelChoice::default() }.load()?
            }
            Err(error) => return Err(error),
        };
        Self::new(&model, Arc::new(tokenizer), options)
    }

    /// The embedded demo model: a small tokenizer and its template, for trying things without a network.
    ///
    /// # Errors
    /// None that a user could cause.
    pub fn demo() -> Result<Self> {
        Self::load("demo")
    }
}

/// The token that pads prompts: the model's own, or else the tokenizer's.
fn pad_token(model: &Model, tokenizer: &Tokenizer) -> Result<Option<TokenId>> {
    let own =
        |id: i64| tokenizer.check_id(id.into()).at("pad_token_id").at(Place::file(&model.name)).of_file(Fault::Model);
    let special = tokenizer.special_token_ids();
    Ok(model.pad_token_id.map(own).transpose()?.or(special.pad).or(special.eos))
}

/// A chat template may be of another tokenizer.
fn unknown_tokens(unknown: &BTreeSet<&str>) -> Option<Warning> {
    const LISTED: usize = 3;
    if unknown.is_empty() {
        return None;
    }
    let listed: Vec<String> = unknown.iter().take(LISTED).map(|token| format!("{token:?}")).collect();
    let more = and_more(unknown.len().saturating_sub(LISTED));
    let (listed, they) = (listed.join(", "), if unknown.len() == 1 { "is no token" } else { "are no tokens" });
    let what = format!("the chat template has {listed}{more}, which {they} of this tokenizer but ordinary text");
    let way_out = way_out!["use the tokenizer that the template was made for"];
    Some(Warning::new("unknown-control-token", what).with_way_out(way_out))
}

/// A variable may be misspelt.
fn unread_variable(name: &str) -> Warning {
    Warning::new("unread-variable", format!("the chat template does not read {name:?}")).at(Setting::TEMPLATE_KWARGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_brings_its_chat_template() {
        let folder = tempfile::tempdir().expect("there is room");
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo");
        std::fs::copy(demo.join("tokenizer.json"), folder.path().join("tokenizer.json")).expect("it is there");
        let name = folder.path().to_string_lossy();
        let error = PromptBuilder::load(&name).expect_err("there is no template").to_string();
        assert!(error.contains("chat template"), "{error}");
        let template = "{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}";
        std::fs::write(folder.path().join("chat_template.jinja"), template).expect("there is room");
        let builder = PromptBuilder::load(&name).expect("it has a template");
        assert_eq!(builder.build_messages(&[("user", "Mars")]).expect("it builds").input_ids, [1051, 44, 695]);
    }
}
