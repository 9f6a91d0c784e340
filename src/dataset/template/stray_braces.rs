//! Braces in a template that look like a field but are not one.

/// Text that looks like the field of a column.
#[derive(Debug, PartialEq)]
pub(crate) struct Stray<'t> {
    /// As it is in the template.
    pub(crate) written: &'t str,
    /// The column that may be meant.
    pub(crate) name: &'t str,
    /// What is wrong with it.
    what: &'static str,
}

impl Stray<'_> {
    /// What is wrong with it, in words.
    pub(crate) fn message(&self) -> String {
        format!("{:?} {}", self.written, self.what)
    }

    /// What to do about it.
    pub(crate) fn help(&self) -> String {
        let help = format!("write {{{}}} if it is a field", self.name);
        // Of a value within the column.
        match self.written.strip_prefix('{').and_then(|rest| rest.strip_prefix(self.name)?.strip_suffix('}')) {
            Some(path) if path.starts_with(['[', '.']) => {
                format!("{help}, or derive a column from \"{}{path}\" in reader_cfg.columns", self.name)
            }
            _ => help,
        }
    }
}

/// All of them in a text.
pub(crate) fn stray_braces(text: &str, is_column: impl Fn(&str) -> bool) -> Vec<Stray<'_>> {
    let unmatched = unmatched(text);
    let mut found = Vec::new();
    for (at, brace) in text.match_indices(['{', '}']) {
        let is_unmatched = unmatched.contains(&at);
        let stray = match brace {
            "{" => opening(text, at, is_unmatched, &is_column),
            _ if is_unmatched => closing(text, at, &is_column),
            _ => None,
        };
        found.extend(stray);
    }
    found
}

fn opening<'t>(text: &'t str, at: usize, is_unmatched: bool, is_column: &impl Fn(&str) -> bool) -> Option<Stray<'t>> {
    let rest = &text[at + 1..];
    let stray = |length: usize, name, what| Some(Stray { written: &text[at..at + length], name, what });
    // {{name}}, but not the argument of a macro, as in \boxed{{name}}.
    if let Some(inner) = rest.strip_prefix('{') {
        let name = name_at(inner);
        let closed = inner[name.len()..].bytes().take_while(|&byte| byte == b'}').count();
        let is_argument = text[..at].ends_with(char::is_alphanumeric);
        return match closed {
            0 => None,
            _ if name.is_empty() => None,
            1 if is_unmatched => stray(name.len() + 3, name, "has an extra brace, which stays in the prompt"),
            2.. if !is_argument => stray(name.len() + 4, name, "keeps a pair of braces around the column's value"),
            _ => None,
        };
    }
    let line = rest.find(['{', '}', '\n']).unwrap_or(rest.len());
    let inner = &rest[..line];
    let is_closed = rest[line..].starts_with('}');
    let trimmed = inner.trim();
    if is_closed && trimmed.len() < inner.len() && is_column(trimmed) {
        return stray(line + 2, trimmed, "has spaces, so it is not a field and stays in the prompt");
    }
    let name = name_at(rest);
    if name.is_empty() {
        return None;
    }
    let after = &rest[name.len()..];
    if is_closed && is_column(name) && is_format(&inner[name.len()..]) {
        let what = match after.chars().next() {
            Some('[') => "has an index, so it is not a field and stays in the prompt",
            Some('.') => "has an attribute, so it is not a field and stays in the prompt",
            _ => "has a format code, so it is not a field and stays in the prompt",
        };
        return stray(line + 2, name, what);
    }
    let ends_a_word = after.chars().next().is_none_or(char::is_whitespace);
    if is_unmatched || (!is_closed && ends_a_word && is_column(name)) {
        return stray(name.len() + 1, name, "is not closed, so it is not a field and stays in the prompt");
    }
    None
}

/// A closing brace that nothing opens.
fn closing<'t>(text: &'t str, at: usize, is_column: &impl Fn(&str) -> bool) -> Option<Stray<'t>> {
    let before = &text[..at];
    let whole = before.strip_suffix('}').unwrap_or(before);
    let start = whole.char_indices().rev().take_while(|(_, c)| is_of_name(*c)).last().map_or(at, |(start, _)| start);
    let name = name_at(whole.get(start..)?);
    let opened = text[..start].strip_suffix('{').map(str::len);
    match (opened, whole.len() < before.len()) {
        (Some(open), true) if !name.is_empty() => {
            Some(Stray { written: &text[open..=at], name, what: "has an extra brace, which stays in the prompt" })
        }
        (None, false) if is_column(name) => Some(Stray {
            written: &text[start..=at],
            name,
            what: "is not opened, so it is not a field and stays in the prompt",
        }),
        _ => None,
    }
}

/// Python's conversions, format codes, attributes and items. A colon followed by a space is text.
fn is_format(after: &str) -> bool {
    let next = after.chars().nth(1);
    match after.chars().next() {
        Some('!' | '[') => true,
        Some(':' | '.') => next.is_some_and(|c| !c.is_whitespace()),
        _ => false,
    }
}

fn name_at(text: &str) -> &str {
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_alphabetic() || c == '_') { &text[..end] } else { "" }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The positions of unmatched braces.
fn unmatched(text: &str) -> Vec<usize> {
    let (mut open, mut alone) = (Vec::new(), Vec::new());
    for (at, brace) in text.match_indices(['{', '}']) {
        match brace {
            "{" => open.push(at),
            _ if open.pop().is_none() => alone.push(at),
            _ => {}
        }
    }
    alone.extend(open);
    alone.sort_unstable();
    alone
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn looks() {
        let found = |text: &'static str| {
            let is_column = |name: &str| ["q", "Answer", "问"].contains(&name);
            stray_braces(text, is_column).into_iter().map(|stray| stray.written).collect::<Vec<_>>()
        };
        assert_eq!(found("{unclosed and {q}"), ["{unclosed"]);
        assert_eq!(found("{q\nA: {Answer}"), ["{q"]);
        assert_eq!(found("{ q } {q } {\tq}"), ["{ q }", "{q }", "{\tq}"]);
        assert_eq!(found("{q}} {{q}}"), ["{q}}", "{{q}}"]);
        assert_eq!(found("{{q} {Answer}"), ["{{q}"]);
        assert_eq!(found("{q!r} {q:>5} {q.x} {q[0]}"), ["{q!r}", "{q:>5}", "{q.x}", "{q[0]}"]);
        assert_eq!(found("q} 问} ：问}"), ["q}", "问}", "问}"]);
        assert_eq!(found("{ 问 }"), ["{ 问 }"]);
        for fine in [
            "{q}{Answer}",
            "\\boxed{} \\frac{a}{b} \\boxed{{Answer}} \\text{ x }",
            "int main() {\n  return q;\n}",
            "{\"Answer\": \"{q}\"} {Answer: yes} {}{ } }{",
            "a } b { c",
        ] {
            assert_eq!(found(fine), Vec::<&str>::new(), "{fine}");
        }
    }

    proptest! {
        #[test]
        fn what_is_found_is_written_in_the_text(text in "[{}q：，é😀 .\\[\n]{0,12}") {
            for stray in stray_braces(&text, |name| name == "q") {
                prop_assert!(text.contains(stray.written) && stray.written.contains(stray.name), "{text}");
            }
        }
    }
}
