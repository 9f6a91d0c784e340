//! Models as files: the dialects in which a template can be written, and the built-in ones.
//!
//! ```
//! use metatok::Model;
//!
//! let file = br#"meta_template = { round = [{ role = "HUMAN" }, { role = "BOT", generate = true }] }"#;
//! let model = Model::parse("my.toml", file)?;
//! assert_eq!(model.meta_template.expect("it has one").round.len(), 2);
//! assert!(Model::load("qwen3")?.tokenizer.is_some());
//! # Ok::<(), metatok::Error>(())
//! ```

mod builtin;
mod chat_template;
mod choice;
mod fastchat;
mod model;
mod model_file;
mod named_tokenizer;
mod not_a_model;
mod opencompass;
mod opencompass_model;
mod syntax;
mod verification;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use builtin::near;
pub(crate) use builtin::{demo_conversations, near_among, similar_or_listed};
pub(crate) use chat_template::Day;
pub use chat_template::{ChatTemplate, ChatTemplateRenderer};
pub use choice::ModelChoice;
pub use fastchat::{ConversationRenderer, ConversationTemplate, SeparatorStyle, StopStrings, SystemPrompt};
pub use model::{Example, Model, StopConfig};
pub use named_tokenizer::{load_tokenizer, tokenizer_name};
pub(crate) use syntax::parse_file;
pub use verification::Verification;

use crate::error::{At, Error, ErrorKind, Fault, OfFile, Place, Result, Setting, way_out};
use crate::file_kind::{FileKind, head, head_of};
use crate::tokenizer::looks_like_a_repository;
use syntax::{Syntax, text_of};

/// The first dialect that recognizes a text reads it.
type Dialect = fn(&str, Syntax) -> Option<Result<Model>>;

const DIALECTS: [Dialect; 4] = [opencompass_model::read, opencompass::read, fastchat::read, model_file::read];

/// Whether there is a file of this name, or a pipe, as a shell makes for `<(…)`.
fn is_file_or_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;

        path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    path.is_file()
}

/// Whether a file is a chat template: by its name, or because Jinja begins it.
///
/// ```
/// assert!(!metatok::dialect::is_chat_template("Cargo.toml".as_ref()));
/// ```
pub fn is_chat_template(path: &Path) -> bool {
    let begins_so = || head(path).is_ok_and(|head| not_a_model::is_chat_template(path, &head));
    // A pipe can be read only once.
    not_a_model::is_named_chat_template(path) || path.is_file() && begins_so()
}

impl Model {
    /// Loads a model by name: a TOML or JSON file or a pipe of one, a built-in model, or a repository of the hub that belongs to a
    /// built-in model; the repository is then the tokenizer too.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] suggests similar names; other errors name file, key path and line.
    pub fn load(name: &str) -> Result<Self> {
        let path = Path::new(name);
        if is_file_or_pipe(path) {
            let mut file = File::open(path).at(Place::file(name))?;
            // Before reading all of it, because weights may be larger than the memory.
            let mut bytes = head_of(&mut file).at(Place::file(name))?;
            if let Some(error) = FileKind::of_bytes(&bytes).and_then(|kind| not_a_model::file(name, kind)) {
                return Err(error);
            }
            file.read_to_end(&mut bytes).at(Place::file(name))?;
            if not_a_model::is_chat_template(path, &bytes) {
                return Err(not_a_model::chat_template(name));
            }
            return Self::parse(name, &bytes);
        }
        match Self::find_builtin(name) {
            Err(_) if path.is_dir() => Err(not_a_model::folder(name)),
            found => found,
        }
    }

    /// A model with this conversation template, built in or a file, in place of a meta template. It names no tokenizer.
    ///
    /// ```
    /// use metatok::{BuilderOptions, Model, PromptBuilder, Tokenizer};
    ///
    /// let model = Model::of_conversation_template("vicuna_v1.1")?;
    /// let builder = PromptBuilder::new(&model, Tokenizer::demo()?.into(), &BuilderOptions::default())?;
    /// let prompt = builder.build_messages(&[("user", "Hi!")])?;
    /// assert!(builder.tokenizer().decode(&prompt.input_ids, false)?.ends_with("USER: Hi! ASSISTANT:"));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`ConversationTemplate::load`].
    pub fn of_conversation_template(name: &str) -> Result<Self> {
        let template = ConversationTemplate::load(name)?;
        Ok(Self { name: name.to_owned(), conversation_template: Some(template), ..Self::default() })
    }

    /// The built-in model with this name, or the one for this repository, which is then its tokenizer.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] suggests similar names.
    pub fn find_builtin(name: &str) -> Result<Self> {
        if let Some(text) = builtin::text(name) {
            return Self::parse(name, text.as_bytes());
        }
        let repository = name.split('@').next().unwrap_or(name);
        match builtin::claiming(repository) {
            Some(model) => Ok(Self { tokenizer: Some(name.to_owned()), ..model }),
            None => Err(not_found(name)),
        }
    }

    /// The built-in models: the demo first, then by name.
    pub fn builtin() -> impl Iterator<Item = Self> {
        builtin::models()
    }

    /// The file of a built-in model, with its comments.
    pub fn builtin_file(name: &str) -> Option<&'static str> {
        builtin::text(name)
    }

    /// Reads a model file. `name` is used in messages, and its extension distinguishes TOML from JSON.
    ///
    /// # Errors
    /// Names the key path and line of what is wrong, and the valid keys.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(name, bytes).of_file(Fault::Model)
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Self> {
        let (text, syntax) = text_of(name, bytes)?;
        if text.trim() == "null" {
            return Err(Error::from(ErrorKind::Template("null is not a model".into())).at(Place::file(name)));
        }
        let model = DIALECTS.iter().find_map(|read| read(text, syntax)).expect("the last dialect reads everything");
        let mut model = match model {
            Ok(model) => model,
            Err(error) => {
                let other = (syntax == Syntax::Json).then(|| not_a_model::of_json(name, text)).flatten();
                return Err(other.unwrap_or_else(|| error.at(Place::file(name))));
            }
        };
        name.clone_into(&mut model.name);
        Ok(model)
    }
}

/// The error for a name that is neither a file nor a built-in model, with similar names.
fn not_found(name: &str) -> Error {
    let near = near(name);
    let mut what = format!("there is no file {name:?} and no built-in model with that name");
    let way_out = match &near[..] {
        _ if ConversationTemplate::load(name).is_ok() => {
            what += "; it is a conversation template";
            way_out![
                Setting::CONVERSATION_TEMPLATE.set_to(name.to_owned()),
                " uses it; where there is no such option, `metatok convert` writes it as a file"
            ]
        }
        near if looks_like_a_repository(name) => {
            what += " or for that repository";
            let model = match near {
                [] => ", or choose a model that fits".to_owned(),
                near => format!(", or choose a model, such as {}", near.join(" or ")),
            };
            way_out!["use its chat template with ", Setting::TOKENIZER.set_to(name.to_owned()), " alone", model]
        }
        near => similar_or_listed(near, "metatok models").into(),
    };
    ErrorKind::NotFound(what).with_way_out(way_out)
}
