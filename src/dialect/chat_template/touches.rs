//! Whether content could become part of a reserved token, wherever a template puts it.

use crate::tokenizer::AddedToken;

/// The reserved tokens of a model.
#[derive(Debug)]
pub(super) struct Touches {
    /// The bytes with which tokens begin or end, in either case.
    edges: [bool; 256],
    /// What a template could put a text between to make a token of all three.
    inner: Vec<String>,
}

impl Touches {
    /// With the texts of the template, which can be part of a token that content completes.
    pub(super) fn new<'t>(tokens: impl Iterator<Item = &'t AddedToken>, template: &[&str]) -> Self {
        let mut touches = Self { edges: [false; 256], inner: Vec::new() };
        for token in tokens.filter(|token| !token.content.is_empty()) {
            let content = &token.content;
            for c in [content.chars().next(), content.chars().next_back()].into_iter().flatten() {
                // A template may change the case of content.
                c.to_lowercase().chain(c.to_uppercase()).chain([c]).for_each(|c| touches.add_edge(c));
            }
            if token.normalized {
                // A normalizer may make any character of these.
                touches.edges[0x80..].fill(true);
            }
            touches.inner.extend(inner(content, template));
        }
        touches
    }

    /// If any text could become part of one.
    pub(super) fn everything() -> Self {
        Self { edges: [true; 256], inner: Vec::new() }
    }

    fn add_edge(&mut self, c: char) {
        // Of a character of several bytes, the first one is enough.
        self.edges[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
    }

    /// Whether a text, or a piece of it, could become part of a reserved token.
    pub(super) fn by(&self, text: &str) -> bool {
        text.bytes().any(|byte| self.edges[usize::from(byte)])
            || self.inner.iter().any(|inner| text.contains(inner.as_str()))
    }
}

/// The texts that the template's own could complete to this token, on both sides.
fn inner(token: &str, template: &[&str]) -> Vec<String> {
    let cuts = || token.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
    let begins: Vec<usize> = cuts().filter(|at| template.iter().any(|text| text.ends_with(&token[..*at]))).collect();
    let ends: Vec<usize> = cuts().filter(|at| template.iter().any(|text| text.starts_with(&token[*at..]))).collect();
    let within = begins.iter().flat_map(|begin| ends.iter().map(move |end| (*begin, *end)));
    within.filter(|(begin, end)| begin < end).map(|(begin, end)| token[begin..end].to_owned()).collect()
}
