//! Vocabularies that were converted before: converting a large one takes longer than most commands.

use crate::error::Result;
use crate::tokenizer::compiled::{self, BlockWriter, TokenizerCache};
use crate::tokenizer::formats::format::Converted;

/// A smaller vocabulary is converted each time.
const LARGE: usize = 1 << 20;

/// What these files, of which the first is a vocabulary, were converted to. If that is not kept, they are converted.
pub(super) fn kept(files: [Option<&[u8]>; 2], convert: impl FnOnce() -> Result<Converted>) -> Result<Converted> {
    let is_large = files[0].is_some_and(|vocabulary| vocabulary.len() >= LARGE);
    let Some(folder) = TokenizerCache::folder().filter(|_| is_large) else { return convert() };
    let key = compiled::key_of(files);
    if let Some(converted) = compiled::get(folder, &key).and_then(|bytes| read(&bytes)) {
        return Ok(converted);
    }
    let converted = convert()?;
    if let Some(bytes) = write(&converted) {
        compiled::put(folder, &key, &bytes);
    }
    Ok(converted)
}

fn write(converted: &Converted) -> Option<Vec<u8>> {
    let mut blocks = BlockWriter::default();
    blocks.bytes(&converted.tokenizer_json);
    blocks.bytes(&serde_json::to_vec(&converted.special_tokens).ok()?);
    Some(compiled::sealed(&blocks))
}

/// None if it is damaged.
fn read(bytes: &[u8]) -> Option<Converted> {
    let mut blocks = compiled::opened(bytes)?;
    let tokenizer_json = blocks.bytes()?.to_vec();
    Some(Converted { tokenizer_json, special_tokens: serde_json::from_slice(blocks.bytes()?).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let special_tokens = vec![("bos_token".to_owned(), "<s>".to_owned())];
        let bytes = write(&Converted { tokenizer_json: b"{}".to_vec(), special_tokens: special_tokens.clone() });
        let mut bytes = bytes.expect("it is JSON");
        let found = read(&bytes).expect("it was written");
        assert_eq!((&found.tokenizer_json[..], found.special_tokens), (&b"{}"[..], special_tokens));
        assert!(read(&bytes[..bytes.len() - 1]).is_none());
        *bytes.last_mut().expect("it is not empty") ^= 1;
        assert!(read(&bytes).is_none());
    }
}
