//! metatok's own model files: TOML or JSON with `tokenizer`, `special_tokens`, `meta_template`, `stop`.

use crate::dialect::Model;
use crate::dialect::syntax::Syntax;
use crate::error::Result;

/// Reads every text: what no other dialect recognizes must be a model file.
pub(crate) fn read(text: &str, syntax: Syntax) -> Option<Result<Model>> {
    Some(syntax.read(text))
}
