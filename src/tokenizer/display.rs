//! How messages show tokens: like `view`, regardless of the vocabulary's spelling.

use crate::tokenizer::{Glyph, TokenId, Tokenizer, glyphs};

/// Less similar tokens are not worth suggesting.
const ALIKE: f64 = 0.7;

impl Tokenizer {
    /// A token in readable form: a space is `·`, the end of a line `↵`, a byte that is part of a character `<E4>`.
    /// Empty for an id without a token.
    ///
    /// ```
    /// let tokenizer = metatok::Tokenizer::demo()?;
    /// let ids = tokenizer.encode("<|im_start|>user\nHello the 🐙")?;
    /// let tokens: Vec<String> = ids.iter().map(|&id| tokenizer.display_token(id)).collect();
    /// assert_eq!(tokens[..4], ["<|im_start|>", "us", "er", "↵"]);
    /// assert_eq!(tokens[tokens.len() - 1], "<99>");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn display_token(&self, id: TokenId) -> String {
        let bytes = self.token_bytes(id).unwrap_or_default();
        glyphs(&bytes).iter().map(|glyph| glyph.text().0).collect()
    }

    /// A token as [`Self::display_token`] shows it, in quotation marks, but without them if its bytes are no characters:
    /// `<E4>` may be text too.
    pub fn quoted_token(&self, id: TokenId) -> String {
        let glyphs = glyphs(&self.token_bytes(id).unwrap_or_default());
        let text: String = glyphs.iter().map(|glyph| glyph.text().0).collect();
        match glyphs.iter().all(|glyph| matches!(glyph, Glyph::Byte(_))) && !glyphs.is_empty() {
            true => text,
            false => format!("\"{text}\""),
        }
    }

    /// The added token that a misspelled one may have meant.
    pub(crate) fn added_like(&self, token: &str) -> Option<&str> {
        let lower = token.to_lowercase();
        let alike = |known: &str| strsim::normalized_damerau_levenshtein(&lower, &known.to_lowercase());
        let known = self.added.values().map(|added| added.content.as_str());
        let near = known.map(|known| (alike(known), known)).filter(|(alike, known)| *alike >= ALIKE && *known != token);
        near.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, known)| known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let tokenizer = Tokenizer::demo().expect("it is embedded");
        #[rustfmt::skip]
        let table = [
            ("<|im_strat|>", Some("<|im_start|>")), ("<im_start>", Some("<|im_start|>")), ("<|imend|>", Some("<|im_end|>")),
            ("<|IM_END|>", Some("<|im_end|>")), ("<|endoftxt|>", Some("<|endoftext|>")), ("<｜im_end｜>", Some("<|im_end|>")),
            ("<|user|>", None), ("<think>", None), ("hello", None), ("", None),
        ];
        for (token, expected) in table {
            assert_eq!(tokenizer.added_like(token), expected, "{token}");
        }
    }
}
