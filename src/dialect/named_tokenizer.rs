//! Tokenizers by name, among which the built-in models' names are those of their tokenizers.

use std::path::Path;

use crate::dialect::{Model, builtin};
use crate::error::{ErrorKind, Result};
use crate::tokenizer::Tokenizer;

/// Loads the tokenizer of a built-in model with this name, or as [`Tokenizer::load`] does. A file or folder comes first.
///
/// ```
/// let tokenizer = metatok::dialect::load_tokenizer("demo")?;
/// assert_eq!(tokenizer.name(), "demo");
/// # Ok::<(), metatok::Error>(())
/// ```
///
/// # Errors
/// The same as for [`Tokenizer::load`]; [`ErrorKind::Usage`] for a built-in model that has no tokenizer.
pub fn load_tokenizer(name: &str) -> Result<Tokenizer> {
    match builtin_model(name) {
        Some(model) => model?.load_tokenizer(),
        None => Tokenizer::load(name),
    }
}

/// Where [`load_tokenizer`] finds the tokenizer, which is where the model's weights are too: a name for
/// [`Tokenizer::load`].
///
/// ```
/// assert_eq!(metatok::dialect::tokenizer_name("qwen3")?, "Qwen/Qwen3-8B");
/// assert_eq!(metatok::dialect::tokenizer_name("org/name")?, "org/name");
/// # Ok::<(), metatok::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] for a built-in model that has no tokenizer.
pub fn tokenizer_name(name: &str) -> Result<String> {
    match builtin_model(name) {
        Some(model) => model?.tokenizer_name(),
        None => Ok(name.to_owned()),
    }
}

fn builtin_model(name: &str) -> Option<Result<Model>> {
    let is_builtin = !Path::new(name).exists() && builtin::text(name).is_some();
    is_builtin.then(|| Model::find_builtin(name).and_then(check_tokenizer))
}

/// Rejects a model that has none, such as `plain`.
fn check_tokenizer(model: Model) -> Result<Model> {
    if model.tokenizer.is_some() {
        return Ok(model);
    }
    let what = format!("the built-in model {:?} has no tokenizer", model.name);
    let way_out = "name a file, a folder, a repository of the Hub, or a built-in model with a tokenizer";
    Err(ErrorKind::Usage(what).with_way_out(way_out))
}
