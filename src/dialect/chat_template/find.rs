//! Finding a chat template: in a file, or beside a tokenizer, where transformers looks for it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::dialect::chat_template::ChatTemplate;
use crate::dialect::{is_file_or_pipe, tokenizer_name};
use crate::error::{At, ErrorKind, Place, Result, Setting, way_out};
use crate::tokenizer::{NamedTokens, Tokenizer, parse_file, place_of, tokenizer_file};

const CONFIG: &str = "tokenizer_config.json";
const JINJA: &str = "chat_template.jinja";
/// As processors of images wrote it before there was a file of its own.
const JSON: &str = "chat_template.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
/// Where transformers saves templates other than the default, and where it did before.
const FOLDERS: [&str; 2] = ["additional_chat_templates", "chat_templates"];
const DEFAULT: &str = "default";
const TOOL_USE: &str = "tool_use";

impl ChatTemplate {
    /// The chat template of a tokenizer, by its name for [`load_tokenizer`](crate::dialect::load_tokenizer); none if it
    /// has none.
    ///
    /// A `chat_template.jinja` beside it comes first, then `chat_template` of its `tokenizer_config.json`. Where there are
    /// several, it is the one that is named `default`, and for conversations with tools `tool_use`.
    ///
    /// # Errors
    /// As for loading the tokenizer, [`ErrorKind::Parse`] for files that are not JSON, and [`ErrorKind::NotFound`] if there
    /// are only templates with other names.
    pub fn of_tokenizer(tokenizer: &str) -> Result<Option<Self>> {
        let files = Files::of(tokenizer)?;
        let Some(source) = files.named(DEFAULT)? else { return files.check_unnamed().map(|()| None) };
        let tool_use = files.named(TOOL_USE)?;
        let (name, sorts_tools) = (files.name.clone(), sorts_tools(&files.config));
        let special_tokens = files.special_tokens;
        Ok(Some(Self { tool_use, special_tokens, is_own: true, sorts_tools, ..Self::new(name, source) }))
    }

    /// A chat template by name: a Jinja file, or one of the tokenizer's templates.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] with the names that there are; otherwise as for [`Self::of_tokenizer`].
    pub fn load(name: &str, tokenizer: &str) -> Result<Self> {
        let files = Files::of(tokenizer)?;
        let path = Path::new(name);
        let is_own = !is_file_or_pipe(path);
        let source = match is_own {
            true => files.named(name)?.ok_or_else(|| files.not_found(name))?,
            false => {
                let bytes = std::fs::read(path).at(Place::file(name))?;
                text(bytes).at(Place::file(name))?
            }
        };
        let sorts_tools = sorts_tools(&files.config);
        Ok(Self { special_tokens: files.special_tokens, is_own, sorts_tools, ..Self::new(name, source) })
    }

    /// With the special tokens of a tokenizer, which the template may name, and with its way to give tools.
    ///
    /// ```
    /// use metatok::Tokenizer;
    /// use metatok::dialect::ChatTemplate;
    ///
    /// let template = ChatTemplate::new("mine", "{{ messages[0].content }}{{ eos_token }}");
    /// let template = template.with_special_tokens_of(&Tokenizer::demo()?)?;
    /// assert_eq!(template.special_tokens["eos_token"], "<|im_end|>");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] for files of the tokenizer that are not JSON.
    pub fn with_special_tokens_of(self, tokenizer: &Tokenizer) -> Result<Self> {
        let files = tokenizer.source();
        let config = parsed(files.tokenizer_config.as_deref(), &files.name, CONFIG)?;
        let map = parsed(files.special_tokens_map.as_deref(), &files.name, SPECIAL_TOKENS)?;
        let special_tokens = NamedTokens::of(&config, &map).into_contents();
        Ok(Self { special_tokens, sorts_tools: self.sorts_tools || sorts_tools(&config), ..self })
    }
}

/// What is beside a tokenizer.
struct Files {
    name: String,
    config: Map<String, Value>,
    special_tokens: BTreeMap<String, String>,
}

impl Files {
    fn of(tokenizer: &str) -> Result<Self> {
        let name = tokenizer_name(tokenizer)?;
        let config = json(&name, CONFIG)?;
        let map = json(&name, SPECIAL_TOKENS)?;
        Ok(Self { name, special_tokens: NamedTokens::of(&config, &map).into_contents(), config })
    }

    /// The template with this name.
    fn named(&self, name: &str) -> Result<Option<String>> {
        if name == DEFAULT
            && let Some(bytes) = tokenizer_file(&self.name, JINJA)?
        {
            return text(bytes).at(Place::file(place_of(&self.name, JINJA))).map(Some);
        }
        if name != DEFAULT
            && let Some(template) = self.in_folders(name)?
        {
            return Ok(Some(template));
        }
        let found = match self.config.get("chat_template") {
            Some(Value::String(template)) => (name == DEFAULT).then(|| template.clone()),
            Some(Value::Array(templates)) => templates.iter().find_map(|template| {
                (template["name"] == name).then(|| template["template"].as_str().map(str::to_owned)).flatten()
            }),
            Some(Value::Object(templates)) => templates.get(name).and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        // A file of the default is all that transformers reads besides the folders.
        if name != DEFAULT && found.is_some() && tokenizer_file(&self.name, JINJA)?.is_some() {
            return Ok(None);
        }
        if found.is_some() || name != DEFAULT {
            return Ok(found);
        }
        match json(&self.name, JSON)?.get("chat_template").and_then(Value::as_str) {
            Some(template) => Ok(Some(template.to_owned())),
            // Few repositories have any, so that this is asked last.
            None => self.in_folders(DEFAULT),
        }
    }

    /// The template with this name in a file of its own.
    fn in_folders(&self, name: &str) -> Result<Option<String>> {
        for folder in FOLDERS.into_iter().filter(|_| is_file_name(name)) {
            let file = format!("{folder}/{name}.jinja");
            if let Some(bytes) = tokenizer_file(&self.name, &file)? {
                return text(bytes).at(Place::file(place_of(&self.name, &file))).map(Some);
            }
        }
        Ok(None)
    }

    /// The names of several templates.
    fn names(&self) -> Vec<&str> {
        match self.config.get("chat_template") {
            Some(Value::Array(templates)) => {
                templates.iter().filter_map(|template| template["name"].as_str()).collect()
            }
            Some(Value::Object(templates)) => templates.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Rejects several templates of which none is the default.
    fn check_unnamed(&self) -> Result<()> {
        match &self.names()[..] {
            [] => Ok(()),
            names => {
                let what = format!("{} has the chat templates {}, and none named default", self.name, names.join(", "));
                Err(ErrorKind::NotFound(what).with_way_out(way_out!["choose one with ", Setting::CHAT_TEMPLATE]))
            }
        }
    }

    fn not_found(&self, name: &str) -> crate::Error {
        let names = self.names();
        let what = format!("there is no file {name:?}, and {} has no chat template of that name", self.name);
        let way_out = match &names[..] {
            [] => way_out!["leave out ", Setting::CHAT_TEMPLATE, " to use the tokenizer's own"],
            names => way_out![format!("it has {}", names.join(", "))],
        };
        ErrorKind::NotFound(what).with_way_out(way_out)
    }
}

/// Whether the tokenizer's own `apply_chat_template` sorts the keys in tools: Kimi's `deep_sort_dict`.
fn sorts_tools(config: &Map<String, Value>) -> bool {
    config.get("tokenizer_class").is_some_and(|class| class == "TikTokenTokenizer")
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', ':']) && !name.starts_with('.')
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| ErrorKind::not_utf8(error.as_bytes(), error.utf8_error()).into())
}

/// A file of JSON; empty if there is none.
fn json(tokenizer: &str, file: &str) -> Result<Map<String, Value>> {
    parsed(tokenizer_file(tokenizer, file)?.as_deref(), tokenizer, file)
}

/// The contents of a file of JSON beside a tokenizer; empty if there is none.
fn parsed(bytes: Option<&[u8]>, tokenizer: &str, file: &str) -> Result<Map<String, Value>> {
    bytes.map_or_else(|| Ok(Map::new()), parse_file).at(Place::file(place_of(tokenizer, file)))
}
