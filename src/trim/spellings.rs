//! The texts that engines may write for the ids of one answer.

use crate::tokenizer::TokenId;
use crate::trim::stops::AnswerStops;

/// The most bytes of a character.
const LONGEST: usize = 4;

impl AnswerStops {
    /// The texts that engines may write for ids that decode to `text`. Of a character that is incomplete at the end, some
    /// leave out the bytes, and others the whole tokens. Some libraries leave out the space that a decoder puts before a
    /// text.
    pub(super) fn spellings<'t>(&self, ids: &[TokenId], text: &'t str) -> impl Iterator<Item = &'t str> + use<'t> {
        let whole = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        let shown = if whole == text { text } else { text.strip_suffix(&*self.held_back(ids)).unwrap_or(whole) };
        let has_space = self.puts_space(ids, text);
        let spelled = move |text: &'t str| [Some(text), text.strip_prefix(' ').filter(|_| has_space)];
        [text, whole, shown].into_iter().flat_map(spelled).flatten()
    }

    /// Whether the first space of this text is the decoder's, and not the first token's.
    fn puts_space(&self, ids: &[TokenId], text: &str) -> bool {
        let spaces = |text: &str| text.len() - text.trim_start_matches(' ').len();
        let decoded = || self.tokenizer.decode(ids, false);
        text.starts_with(' ') && decoded().is_ok_and(|decoded| spaces(&decoded) < spaces(text))
    }

    /// The text of the last tokens, if they end within a character.
    fn held_back(&self, ids: &[TokenId]) -> String {
        let (mut bytes, mut shown) = (Vec::new(), 0);
        for id in ids {
            bytes.extend_from_slice(self.tokenizer.byte_table().get(*id).unwrap_or_default());
            let last = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LONGEST)..]);
            if !last.ends_with(char::REPLACEMENT_CHARACTER) {
                shown = bytes.len();
            }
        }
        String::from_utf8_lossy(&bytes[shown..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::builder::{BuilderOptions, PromptBuilder};
    use crate::dialect::Model;
    use crate::tokenizer::Tokenizer;
    use crate::trim::{AnswerTrimmer, TrimOptions};

    #[test]
    fn a_decoder_leaves_out_one_space_and_no_more() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vocabularies/sentencepiece-bpe");
        let tokenizer = Arc::new(Tokenizer::load(folder).expect("it is a vocabulary"));
        let builder = PromptBuilder::new(&Model::default(), tokenizer, &BuilderOptions::default()).expect("it fits");
        let trimmer = AnswerTrimmer::new(&builder, TrimOptions::default()).expect("it has no stops");
        for (ids, text, expected) in [
            (&[265, 519, 302, 282][..], " am here", &[" am here", "am here"][..]),
            (&[504, 265, 519, 302, 282], "  am here", &["  am here", " am here"]),
            (&[504, 504, 265, 519], "   am", &["   am", "  am"]),
        ] {
            let mut found: Vec<&str> = trimmer.spellings(ids, text).collect();
            found.dedup();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, expected, "{ids:?}");
        }
    }
}
