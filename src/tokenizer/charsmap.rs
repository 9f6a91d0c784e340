//! Whether a normalizer's character map is as long as it declares: the libraries allocate the declared length.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::error::{At, ErrorKind, Result};

/// Rejects a truncated `precompiled_charsmap`, in a normalizer or in a sequence of them.
pub(crate) fn check(normalizer: &Value) -> Result<()> {
    for inner in normalizer["normalizers"].as_array().into_iter().flatten() {
        check(inner)?;
    }
    normalizer["precompiled_charsmap"].as_str().map_or(Ok(()), check_length).at("precompiled_charsmap")
}

/// It begins with the number of bytes of a trie, which follows.
fn check_length(charsmap: &str) -> Result<()> {
    // The libraries themselves reject invalid base64.
    let Ok(bytes) = STANDARD.decode(charsmap) else { return Ok(()) };
    let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(()) };
    let length = u32::from_le_bytes(*length);
    if length as usize <= rest.len() {
        return Ok(());
    }
    let what = format!("it declares {length} bytes, but {} follow; the file is damaged", rest.len());
    Err(ErrorKind::UnsupportedTokenizer(what).into())
}
