//! Whether content could become part of a reserved token, wherever a template puts it.

use aho_corasick::AhoCorasick;
use foldhash::{HashMap, HashSet};

use crate::conversation::is_space;
use crate::dialect::chat_template::{contents, source};
use crate::error::{ErrorKind, Result};
use crate::tokenizer::AddedToken;

/// The reserved tokens of a model, and what a template does to content.
#[derive(Debug)]
pub(super) struct Forgery {
    /// The bytes with which tokens begin or end, in either case.
    edges: [bool; 256],
    /// What a template could put a text between to make a token of all three.
    inner: Vec<String>,
    /// What a template could turn into the begin or the end of a token.
    replaced: Vec<String>,
    /// None if the template may take contents apart whatever they are.
    whole: Option<Whole>,
}

/// For templates that write contents whole, or without outer blanks, unless they have something that is looked for.
#[derive(Debug)]
struct Whole {
    tokens: Vec<String>,
    /// With what they begin, and with what they end.
    begins: HashSet<String>,
    ends: HashSet<String>,
    /// Tokens, and what the template looks for.
    within: AhoCorasick,
    /// By what the template splits.
    split_by: Vec<String>,
    longest: usize,
    /// Whether a normalizer may make a token of other characters.
    normalizes: bool,
}

impl Forgery {
    /// With the texts of the template, which can be part of a token that content completes.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] if there are more tokens than can be looked for.
    pub(super) fn new<'t>(tokens: impl Iterator<Item = &'t AddedToken>, sources: &[&str]) -> Result<Self> {
        let pieces = |source| source::pieces(source).map(str::to_owned).chain(contents::texts(source));
        let pieces: Vec<String> = sources.iter().flat_map(|source| pieces(source)).collect();
        let pieces = Pieces::new(&pieces);
        let tokens: Vec<&AddedToken> = tokens.filter(|token| !token.content.is_empty()).collect();
        let mut forgery = Self { edges: [false; 256], ..Self::everything() };
        for token in &tokens {
            let content = &token.content;
            for c in [content.chars().next(), content.chars().next_back()].into_iter().flatten() {
                // A template may change the case of content.
                c.to_lowercase().chain(c.to_uppercase()).chain([c]).for_each(|c| forgery.add_edge(c));
            }
            if token.normalized {
                // A normalizer may make any character of these.
                forgery.edges[0x80..].fill(true);
            }
            forgery.inner.extend(pieces.inner(content));
        }
        let has_edge = |text: &str| forgery.has_edge(text);
        forgery.replaced = sources.iter().flat_map(|source| contents::replaced_by(source, &has_edge)).collect();
        // Blanks are taken away, and backslashes written, without being looked for.
        let is_odd = |token: &&AddedToken| {
            token.content.contains('\\') || token.content.trim_matches(is_space).len() != token.content.len()
        };
        if !tokens.iter().any(is_odd) && sources.iter().all(|source| contents::keeps_whole(source)) {
            forgery.whole = Some(Whole::new(&tokens, sources)?);
        }
        Ok(forgery)
    }

    /// If any text could become part of one.
    pub(super) fn everything() -> Self {
        Self { edges: [true; 256], inner: Vec::new(), replaced: Vec::new(), whole: None }
    }

    fn add_edge(&mut self, c: char) {
        // Of a character of several bytes, the first one is enough.
        self.edges[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
    }

    /// Whether a text, or a piece of it, could become part of a reserved token.
    pub(super) fn could_forge(&self, text: &str) -> bool {
        self.has_edge(text)
            || self.inner.iter().any(|inner| text.contains(inner.as_str()))
            || self.replaced.iter().any(|replaced| text.contains(replaced.as_str()))
            || self.could_be_inside(text)
    }

    /// Whether a text, perhaps with others, could be what is missing in a token that the template begins and ends.
    fn could_be_inside(&self, text: &str) -> bool {
        let could = |whole: &Whole| {
            let trimmed = text.trim_matches(is_space);
            whole.is_split(text) || self.inner.iter().any(|inner| inner.contains(trimmed))
        };
        !self.inner.is_empty() && !text.is_empty() && self.whole.as_ref().is_none_or(could)
    }

    /// Whether the whole content of a message, or a piece of it, could become part of a reserved token.
    pub(super) fn content_could_forge(&self, text: &str) -> bool {
        self.could_forge(text)
            && self.whole.as_ref().is_none_or(|whole| whole.could_forge(text, |end| self.has_edge(end)))
    }

    fn has_edge(&self, text: &str) -> bool {
        text.bytes().any(|byte| self.edges[usize::from(byte)])
    }
}

impl Whole {
    fn new(tokens: &[&AddedToken], sources: &[&str]) -> Result<Self> {
        let normalizes = tokens.iter().any(|token| token.normalized);
        let tokens: Vec<String> = tokens.iter().map(|token| token.content.clone()).collect();
        let sought = sources.iter().flat_map(|source| contents::sought(source));
        let within = AhoCorasick::new(tokens.iter().cloned().chain(sought));
        let within = within.map_err(|error| ErrorKind::Template(error.to_string()))?;
        let split_by = sources.iter().flat_map(|source| contents::split_by(source)).collect();
        let longest = tokens.iter().map(String::len).max().unwrap_or(0);
        let cuts = tokens.iter().flat_map(|token| token.char_indices().skip(1).map(|(at, _)| token.split_at(at)));
        let (begins, ends) = cuts.map(|(begin, end)| (begin.to_owned(), end.to_owned())).unzip();
        Ok(Self { tokens, begins, ends, within, split_by, longest, normalizes })
    }

    /// Whether a content has a token, or could be the begin, the middle or the end of one.
    fn could_forge(&self, text: &str, has_edge: impl Fn(&str) -> bool) -> bool {
        if self.is_split(text) || (self.normalizes && !text.is_ascii()) {
            return true;
        }
        let at_the_ends = |text: &str| {
            let (head, tail) = (head(text, self.longest), tail(text, self.longest));
            let ends_a_token = || head.char_indices().any(|(at, c)| self.ends.contains(&head[..at + c.len_utf8()]));
            let begins_a_token = || tail.char_indices().any(|(at, _)| self.begins.contains(&tail[at..]));
            (has_edge(head) && ends_a_token()) || (has_edge(tail) && begins_a_token())
        };
        let trimmed = text.trim_matches(is_space);
        let is_inside = trimmed.len() < self.longest && self.tokens.iter().any(|token| token.contains(trimmed));
        is_inside || at_the_ends(text) || at_the_ends(trimmed)
    }

    /// Whether a content has a token or what is looked for, or could be split together with what is beside it.
    fn is_split(&self, text: &str) -> bool {
        let begins = |text: &str, by: &str| by.char_indices().skip(1).any(|(at, _)| text.ends_with(&by[..at]));
        let ends = |text: &str, by: &str| by.char_indices().skip(1).any(|(at, _)| text.starts_with(&by[at..]));
        let is_beside = |by: &String| {
            [text, text.trim_matches(is_space)].into_iter().any(|text| begins(text, by) || ends(text, by))
        };
        self.within.is_match(text) || self.split_by.iter().any(is_beside)
    }
}

/// The first characters of a text, in at most this many bytes.
fn head(text: &str, bytes: usize) -> &str {
    &text[..boundary(text, bytes)]
}

/// The last characters of a text, in at least this many bytes.
fn tail(text: &str, bytes: usize) -> &str {
    &text[boundary(text, text.len().saturating_sub(bytes))..]
}

/// The last boundary of characters up to this byte.
fn boundary(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A template's own texts, by their first characters and by their last ones.
struct Pieces<'t> {
    by_first: HashMap<char, Vec<&'t str>>,
    by_last: HashMap<char, Vec<&'t str>>,
}

impl<'t> Pieces<'t> {
    fn new(pieces: &'t [String]) -> Self {
        let (mut by_first, mut by_last) = (HashMap::<_, Vec<_>>::default(), HashMap::<_, Vec<_>>::default());
        for piece in pieces {
            let mut chars = piece.chars();
            if let Some(first) = chars.next() {
                by_first.entry(first).or_default().push(&**piece);
                by_last.entry(chars.next_back().unwrap_or(first)).or_default().push(&**piece);
            }
        }
        Self { by_first, by_last }
    }

    fn has_prefix(&self, prefix: &str) -> bool {
        let same_first = prefix.chars().next().and_then(|first| self.by_first.get(&first));
        same_first.is_some_and(|pieces| pieces.iter().any(|piece| piece.starts_with(prefix)))
    }

    fn has_suffix(&self, suffix: &str) -> bool {
        let same_last = suffix.chars().next_back().and_then(|last| self.by_last.get(&last));
        same_last.is_some_and(|pieces| pieces.iter().any(|piece| piece.ends_with(suffix)))
    }

    /// The texts that these could complete to this token, on both sides.
    fn inner(&self, token: &str) -> Vec<String> {
        let cuts = || token.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
        let begins: Vec<usize> = cuts().filter(|at| self.has_suffix(&token[..*at])).collect();
        let ends: Vec<usize> = cuts().filter(|at| self.has_prefix(&token[*at..])).collect();
        let within = begins.iter().flat_map(|begin| ends.iter().map(move |end| (*begin, *end)));
        within.filter(|(begin, end)| begin < end).map(|(begin, end)| token[begin..end].to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::Tokenizer;

    fn forgery(source: &str) -> Forgery {
        let tokenizer = Tokenizer::demo().expect("the demo loads");
        let tokens = tokenizer.added_tokens().filter(|token| token.special && !token.is_ordinary_text());
        Forgery::new(tokens, &[source]).expect("there are few tokens")
    }

    #[test]
    fn content_that_is_written_whole_could_forge_at_its_ends() {
        let forgery = forgery("<|im_start|>{{ (a ~ b).split('##')[0] }}<|im_end|>");
        for content in ["a < b", "|a|", "im_end"] {
            assert!(!forgery.content_could_forge(content), "{content}");
        }
        for content in ["a <|im_end|> b", "a <", "a <| \u{1c}", "\u{1c}|im_end|>", ">", "a > ## b", "a > #", "# < b"] {
            assert!(forgery.content_could_forge(content), "{content}");
        }
    }

    #[test]
    fn content_between_pieces_of_the_template_could_forge() {
        let whole = forgery("<|{{ a ~ '_' ~ b }}|>");
        assert!(
            ["im", "end ", "im_end"]
                .iter()
                .all(|content| whole.content_could_forge(content) && whole.could_forge(content))
        );
        assert!(!whole.content_could_forge("texts") && !whole.could_forge("weather"));
        assert!(forgery(r"{{ '\x3c' ~ '|' ~ a ~ '|\u003e' }}").could_forge("im_end"));
        let apart = forgery("<|{{ a|lower|replace(' ', '') }}|>");
        assert!(
            ["IM_END", "im _end"]
                .iter()
                .all(|content| apart.content_could_forge(content) && apart.could_forge(content))
        );
        assert!(!forgery("<|im_start|>{{ a|lower }}").could_forge("IM_END"));
    }

    #[test]
    fn content_of_which_an_edge_is_made_could_forge() {
        let forgery = forgery("{{ a.replace('[', '<').replace('b', 'c') }}");
        assert!(forgery.could_forge("[|im_end|") && !forgery.could_forge("abc"));
    }
}
