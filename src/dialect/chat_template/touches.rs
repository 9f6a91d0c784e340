//! Whether content could become part of a reserved token, wherever a template puts it.

/// The reserved tokens of a model.
#[derive(Debug)]
pub(super) struct Touches {
    tokens: Vec<String>,
    /// The bytes with which tokens begin or end.
    edges: [bool; 256],
    /// What a template could put a text between to make a token of all three.
    inner: Vec<String>,
}

impl Touches {
    /// With the texts of the template, which can be part of a token that content completes.
    pub(super) fn new(tokens: impl Iterator<Item = String>, template: &[&str]) -> Self {
        let tokens: Vec<String> = tokens.filter(|token| !token.is_empty()).collect();
        let mut edges = [false; 256];
        for token in &tokens {
            for c in [token.chars().next(), token.chars().next_back()].into_iter().flatten() {
                // Of a character of several bytes, the first one is enough.
                edges[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            }
        }
        let inner = tokens.iter().flat_map(|token| inner(token, template)).collect();
        Self { tokens, edges, inner }
    }

    /// Whether a text, or a piece of it, could become part of a reserved token.
    pub(super) fn by(&self, text: &str) -> bool {
        text.bytes().any(|byte| self.edges[usize::from(byte)])
            || self.inner.iter().any(|inner| text.contains(inner.as_str()))
            || self.tokens.iter().any(|token| text.contains(token.as_str()))
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
