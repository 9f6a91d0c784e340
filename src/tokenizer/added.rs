//! Added tokens, and finding them in text exactly as the `tokenizers` library does.
//!
//! Both libraries number added tokens by themselves and tie finding them to the whole tokenizer. metatok keeps these
//! separate: ids stay as the files declare them, and a finder can be built for any subset. Content is read with a
//! finder that lacks the reserved tokens.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Anchored, Input, Match, MatchKind, StartKind};
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::tokenizer::first_bytes::{Beginnings, FirstBytes};

/// A token that the tokenizer finds in text before its model sees it. The flags are Hugging Face's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedToken {
    /// The id that the file declares.
    #[serde(default)]
    pub id: TokenId,
    /// The token's text.
    pub content: String,
    /// Only found if no word character is next to it.
    #[serde(default)]
    pub single_word: bool,
    /// Removes white space on its left.
    #[serde(default)]
    pub lstrip: bool,
    /// Removes white space on its right.
    #[serde(default)]
    pub rstrip: bool,
    /// Found in the normalized text, by its normalized form.
    #[serde(default)]
    pub normalized: bool,
    /// A control token: never text.
    #[serde(default)]
    pub special: bool,
}

impl AddedToken {
    /// Whether everybody writes it, so that no structure can be forged with it: white space that is not special, or a single
    /// character. Some models have `!` as their padding token.
    pub(crate) fn is_ordinary_text(&self) -> bool {
        let is_white_space = || !self.special && self.content.chars().all(char::is_whitespace);
        is_character(self.content.as_bytes()) || !self.content.is_empty() && is_white_space()
    }
}

/// Whether a text is one ASCII character that can be seen.
pub(crate) fn is_character(text: &[u8]) -> bool {
    matches!(text, [character] if character.is_ascii_graphic())
}

/// Finds a set of added tokens in text: leftmost first, longest first, never overlapping.
pub(crate) struct AddedTokenMatcher {
    raw: Option<Automaton>,
    normalized: Option<Automaton>,
}

/// Which text is searched: the text as written, or the normalizer's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Raw,
    Normalized,
}

struct Automaton {
    automaton: AhoCorasick,
    /// If they are few. The library would look for rarer bytes, or at each one.
    first_bytes: Option<FirstBytes>,
    beginnings: Option<Beginnings>,
    tokens: Vec<AddedToken>,
}

impl AddedTokenMatcher {
    /// `normalize` returns the form in which a token flagged `normalized` is searched for.
    pub(crate) fn new<'a>(
        tokens: impl Iterator<Item = &'a AddedToken>,
        normalize: impl Fn(&str) -> Result<String>,
    ) -> Result<Self> {
        let (normalized, raw): (Vec<_>, Vec<_>) =
            tokens.filter(|token| !token.content.is_empty()).cloned().partition(|token| token.normalized);
        let raw_forms = raw.iter().map(|token| token.content.clone()).collect();
        let normalized_forms = normalized.iter().map(|token| normalize(&token.content)).collect::<Result<_>>()?;
        Ok(Self { raw: Automaton::new(raw, raw_forms)?, normalized: Automaton::new(normalized, normalized_forms)? })
    }

    /// Whether no token can be found in this form, so that searching can be skipped.
    pub(crate) fn is_empty(&self, form: Form) -> bool {
        self.automaton(form).is_none()
    }

    fn automaton(&self, form: Form) -> Option<&Automaton> {
        match form {
            Form::Raw => self.raw.as_ref(),
            Form::Normalized => self.normalized.as_ref(),
        }
    }

    /// The tokens found in `text` with the bytes of each, including white space that it strips.
    pub(crate) fn find<'a>(&'a self, form: Form, text: &'a str) -> impl Iterator<Item = (TokenId, Range<usize>)> + 'a {
        let mut taken = 0;
        self.automaton(form).into_iter().flat_map(move |this| {
            this.matches(text).filter_map(move |found| {
                let token = &this.tokens[found.pattern().as_usize()];
                let (mut start, mut end) = (found.start(), found.end());
                // White space that the previous token already removed is no longer there.
                if end <= taken {
                    return None;
                }
                if token.single_word && !is_separate_word(text, start..end) {
                    return None;
                }
                if token.lstrip {
                    start = text[..start].trim_end().len().max(taken);
                }
                if token.rstrip {
                    end = text.len() - text[end..].trim_start().len();
                }
                let start = start.max(taken);
                taken = end;
                Some((token.id, start..end))
            })
        })
    }
}

impl Automaton {
    fn new(tokens: Vec<AddedToken>, forms: Vec<String>) -> Result<Option<Self>> {
        let (tokens, forms): (Vec<_>, Vec<_>) =
            tokens.into_iter().zip(forms).filter(|(_, form)| !form.is_empty()).unzip();
        if tokens.is_empty() {
            return Ok(None);
        }
        let (first_bytes, beginnings) = (FirstBytes::of(forms.iter()), Beginnings::of(forms.iter()));
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(if first_bytes.is_some() { StartKind::Anchored } else { StartKind::Unanchored })
            .build(&forms)
            .map_err(|error| ErrorKind::UnsupportedTokenizer(error.to_string()))?;
        Ok(Some(Self { automaton, first_bytes, beginnings, tokens }))
    }

    /// The leftmost matches, of each place the longest, that do not overlap.
    fn matches(&self, text: &str) -> impl Iterator<Item = Match> {
        std::iter::successors(self.find_from(text, 0), |found| self.find_from(text, found.end()))
    }

    fn find_from(&self, text: &str, from: usize) -> Option<Match> {
        let Some(first_bytes) = self.first_bytes else {
            return self.automaton.find(Input::new(text).range(from..));
        };
        let find = |from| first_bytes.find(text.as_bytes(), from);
        let mut places = std::iter::successors(find(from), |at| find(at + 1));
        places.find_map(|at| {
            let may_begin = self.beginnings.as_ref().is_none_or(|some| some.may_begin(&text.as_bytes()[at..]));
            may_begin.then(|| self.automaton.find(Input::new(text).range(at..).anchored(Anchored::Yes)))?
        })
    }
}

fn is_separate_word(text: &str, token: Range<usize>) -> bool {
    let is_word = |c: char| regex_syntax::is_word_character(c);
    !text[..token.start].chars().next_back().is_some_and(is_word)
        && !text[token.end..].chars().next().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(id: TokenId, content: &str) -> AddedToken {
        AddedToken {
            id,
            content: content.into(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special: true,
        }
    }

    #[track_caller]
    fn check(tokens: &[AddedToken], text: &str, expected: &[(TokenId, &str)]) {
        let finder = AddedTokenMatcher::new(tokens.iter(), |form| Ok(form.to_owned())).expect("the finder builds");
        let found: Vec<_> = finder.find(Form::Raw, text).map(|(id, range)| (id, &text[range])).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn longest_of_the_leftmost() {
        let tokens = [token(1, "<a>"), token(2, "<a><b>"), token(3, "b>")];
        check(&tokens, "x<a><b><a>b>", &[(2, "<a><b>"), (1, "<a>"), (3, "b>")]);
    }

    #[test]
    fn flags() {
        let left = AddedToken { lstrip: true, ..token(1, "<l>") };
        let right = AddedToken { rstrip: true, ..token(2, "<r>") };
        let alone = AddedToken { single_word: true, ..token(3, "ok") };
        let tokens = [left, right, alone];
        check(&tokens, "a \n<l>b", &[(1, " \n<l>")]);
        check(&tokens, "a<r> \u{3000}b", &[(2, "<r> \u{3000}")]);
        check(&tokens, "<r>  <l>", &[(2, "<r>  "), (1, "<l>")]);
        let space = token(4, "  ");
        let [_, right, _] = tokens.clone();
        check(&[right, space], "<r>  \n a   ", &[(2, "<r>  \n "), (4, "  ")]);
        check(&tokens, "ok oké -ok-", &[(3, "ok"), (3, "ok")]);
    }

    proptest! {
        #[test]
        fn as_looking_at_each_place(
            contents in prop::collection::btree_set("[<\n▁c-j][<▁a]{0,3}", 0..12),
            text in "[<\n▁a-l ]{0,80}",
        ) {
            let tokens: Vec<AddedToken> = (0..).zip(&contents).map(|(id, content)| token(id, content)).collect();
            let finder = AddedTokenMatcher::new(tokens.iter(), |form| Ok(form.to_owned())).expect("the finder builds");
            let found: Vec<_> = finder.find(Form::Raw, &text).collect();
            let (mut expected, mut at) = (Vec::new(), 0);
            while let Some(next) = text[at..].chars().next() {
                let here = tokens.iter().filter(|token| text[at..].starts_with(&token.content));
                at += match here.max_by_key(|token| token.content.len()) {
                    Some(token) => {
                        expected.push((token.id, at..at + token.content.len()));
                        token.content.len()
                    }
                    None => next.len_utf8(),
                };
            }
            prop_assert_eq!(found, expected);
        }
    }
}
