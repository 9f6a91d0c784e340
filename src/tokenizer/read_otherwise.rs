//! What the fast library reads in another way than the classic one, which is the reference.

use serde_json::Value;

/// What of a `tokenizer.json` the fast library would load and take for something else; none if both read it alike.
pub(crate) fn read_otherwise(json: &Value) -> Option<String> {
    let model = &json["model"];
    let is_bpe = model["type"] == "BPE" || model["type"].is_null() && !model["merges"].is_null();
    for affix in ["continuing_subword_prefix", "end_of_word_suffix"] {
        if is_bpe && model[affix].as_str().is_some_and(|affix| !affix.is_empty()) {
            return Some(format!("the fast library takes words of one character without the {affix}"));
        }
    }
    let steps = [&json["normalizer"], &json["pre_tokenizer"], &json["decoder"]];
    if let Some(pattern) = steps.into_iter().find_map(first_doubtful_pattern) {
        return Some(format!("the fast library may read {pattern:?} in another way"));
    }
    if any(&json["pre_tokenizer"], &|step| matches!(step["type"].as_str(), Some("BertPreTokenizer" | "Punctuation"))) {
        return Some("the fast library knows the punctuation of a newer Unicode".to_owned());
    }
    if any(&json["pre_tokenizer"], &|step| step["type"] == "Whitespace") {
        return Some("the fast library knows the letters of a newer Unicode".to_owned());
    }
    if any(&json["normalizer"], &writes_normal_form) {
        return Some("the fast library knows the normal forms of a newer Unicode".to_owned());
    }
    if any(&json["pre_tokenizer"], &drops_steps) {
        return Some("the fast library leaves out what follows the patterns of DeepSeek".to_owned());
    }
    let is_first = any(&json["pre_tokenizer"], &|step| step["prepend_scheme"] == "first");
    (is_first && any(&json["normalizer"], &removes))
        .then(|| "the fast library takes what is first after normalizing for the first".to_owned())
}

/// Whether this holds for a step or for any within it.
fn any(step: &Value, holds: &dyn Fn(&Value) -> bool) -> bool {
    let within = |key: &str| step[key].as_array().is_some_and(|steps| steps.iter().any(|step| any(step, holds)));
    holds(step) || within("normalizers") || within("pretokenizers")
}

/// Whether a normalizer composes or decomposes characters. BERT's does to remove accents, as it does from lowercase letters if
/// nothing else is said.
fn writes_normal_form(normalizer: &Value) -> bool {
    match normalizer["type"].as_str() {
        Some("NFC" | "NFD" | "NFKC" | "NFKD") => true,
        Some("BertNormalizer") => normalizer["strip_accents"].as_bool() != Some(false),
        _ => false,
    }
}

/// Whether a normalizer may make fewer of the first characters of a text.
fn removes(normalizer: &Value) -> bool {
    match normalizer["type"].as_str() {
        Some("Strip" | "StripAccents" | "BertNormalizer" | "Nmt") => true,
        Some("Replace") => {
            let chars = |text: &Value| text.as_str().map(|text| text.chars().count());
            // Nobody knows how many a pattern finds.
            chars(&normalizer["pattern"]["String"]).is_none_or(|found| chars(&normalizer["content"]) < Some(found))
        }
        _ => false,
    }
}

/// Whether a pre-tokenizer begins with the three patterns of DeepSeek, of which only the first one is compared, and has
/// further steps besides the one that makes characters of bytes.
fn drops_steps(pre_tokenizer: &Value) -> bool {
    let Some([digits, _, _, others @ ..]) = pre_tokenizer["pretokenizers"].as_array().map(Vec::as_slice) else {
        return false;
    };
    let only_makes_bytes =
        |step: &Value| step["type"] == "ByteLevel" && step["use_regex"] == false && step["add_prefix_space"] == false;
    digits["pattern"]["Regex"] == r"\p{N}{1,3}" && !(others.len() <= 1 && others.iter().all(only_makes_bytes))
}

fn first_doubtful_pattern(step: &Value) -> Option<&str> {
    match step {
        Value::Object(entries) => entries.iter().find_map(|(key, value)| match value.as_str() {
            Some(pattern) if key == "Regex" => {
                Some(pattern).filter(|pattern| !is_plain(pattern) || counts_otherwise(pattern))
            }
            _ => first_doubtful_pattern(value),
        }),
        Value::Array(steps) => steps.iter().find_map(first_doubtful_pattern),
        _ => None,
    }
}

/// Whether the fast library takes a pattern for `cl100k`'s, whose groups have three digits, whatever their length is here.
fn counts_otherwise(pattern: &str) -> bool {
    [r"|\p{N}{1,2}|", r"|\p{N}+|"].iter().any(|digits| pattern.contains(digits)) && pattern.starts_with(OF_ANY_CASE[0])
}

/// Groups whose letters have no other ones as their other case but `ſ`, which both libraries know.
const OF_ANY_CASE: [&str; 3] = ["(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?i:[sdmt]|ll|ve|re)", "(?i:'(?:[sdmt]|ll|ve|re))"];

/// Whether a regular expression is written with nothing but what Oniguruma and fancy-regex read alike.
///
/// Others are `{1,3}+`, which is possessive to one of them; `^` and `$`, which to one stand at every line; `\b` and `\w`, whose
/// characters differ; and classes with names, nested classes, and letters of any case.
pub(crate) fn is_plain(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\\' => escape(rest),
            '[' => class(rest, CLASSES_DEEP),
            '(' => group(rest),
            '{' => repetition(rest),
            '^' | '$' => None,
            _ => Some(first.len_utf8()),
        };
        let Some(length) = length else { return false };
        rest = &rest[length..];
    }
    true
}

/// How long the escape is that a text begins with.
fn escape(text: &str) -> Option<usize> {
    match text[1..].chars().next()? {
        'p' | 'P' => {
            let name = text[2..].strip_prefix('{')?.split_once('}')?.0;
            name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_').then_some(name.len() + 4)
        }
        'r' | 'n' | 't' | 's' | 'S' | 'd' | 'D' => Some(2),
        c if c.is_ascii_punctuation() => Some(2),
        _ => None,
    }
}

/// How many classes may be within one another.
const CLASSES_DEEP: usize = 16;

fn class(text: &str, deep: usize) -> Option<usize> {
    let mut at = if text.starts_with("[^") { 2 } else { 1 };
    // Libraries disagree on a bracket that comes first.
    if text[at..].starts_with(']') {
        return None;
    }
    loop {
        let rest = &text[at..];
        match rest.chars().next()? {
            ']' => return Some(at + 1),
            '[' => return None,
            // All of it but what is in another class.
            '&' if rest.starts_with("&&[^") => {
                at += 2 + class(&rest[2..], deep.checked_sub(1)?)?;
                return text[at..].starts_with(']').then_some(at + 1);
            }
            '\\' => at += escape(rest)?,
            _ if ["&&", "--", "~~"].iter().any(|operator| rest.starts_with(operator)) => return None,
            c => at += c.len_utf8(),
        }
    }
}

fn group(text: &str) -> Option<usize> {
    let Some(kind) = text.strip_prefix("(?") else { return Some(1) };
    if let Some(group) = OF_ANY_CASE.iter().find(|group| text.starts_with(**group)) {
        return Some(group.len());
    }
    ["<=", "<!", ":", "=", "!", ">"].iter().find(|known| kind.starts_with(**known)).map(|known| 2 + known.len())
}

fn repetition(text: &str) -> Option<usize> {
    let (times, behind) = text[1..].split_once('}')?;
    let (least, most) = times.split_once(',').unwrap_or((times, times));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_known =
        is_number(least) && (is_number(most) || most.is_empty()) && !behind.starts_with(['+', '?', '*', '{']);
    is_known.then_some(times.len() + 2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_that_both_read_alike() {
        let plain = [
            r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}++|\s",
            r"\d{2,}(?=(?:\d{3})*)|[一-龥\]\-]+",
            r"[\p{Lu}\p{M}&&[^\p{Han}]]+",
        ];
        assert!(plain.iter().all(|pattern| is_plain(pattern)), "{plain:?}");
        let deep = ["[a", &"&&[^a".repeat(100_000), &"]".repeat(100_001)].concat();
        assert!(!is_plain(&deep), "it is not followed to its end");
        let doubtful = [
            r"\p{N}{1,3}+",
            r"\s+$",
            r"^\s",
            r"\d(?=\b)",
            r"\w+",
            "[[:alpha:]]",
            "(?i)ss",
            "(?m).",
            r"\X",
            r"\p{^L}",
            r"\p{script=Han}",
            r"a{,3}",
            r"a{2}?",
            "[]a]",
            r"[a&&b]",
            r"[a&&[^b]c]",
            r"[a&&[b]]",
            r"\x41",
            "(?<name>a)",
            "[a",
            r"\",
        ];
        for pattern in doubtful {
            assert!(!is_plain(pattern), "{pattern}");
        }
    }

    #[test]
    fn what_is_read_in_another_way() {
        let json = |text: &str| serde_json::from_str::<Value>(text).expect("it is JSON");
        let said = |text: &str| read_otherwise(&json(text));
        assert_eq!(said(r#"{"model": {"type": "BPE", "end_of_word_suffix": ""}, "normalizer": null}"#), None);
        assert_eq!(said(r###"{"model": {"type": "WordPiece", "continuing_subword_prefix": "##"}}"###), None);
        assert!(said(r#"{"pre_tokenizer": {"type": "BertPreTokenizer"}}"#).is_some());
        assert!(said(r#"{"pre_tokenizer": {"type": "Whitespace"}}"#).is_some());
        assert!(said(r#"{"normalizer": {"normalizers": [{"type": "Lowercase"}, {"type": "NFKC"}]}}"#).is_some());
        for (strips, is_otherwise) in [("null", true), ("true", true), ("false", false)] {
            let bert =
                r#"{"normalizer": {"type": "BertNormalizer", "strip_accents": STRIPS}}"#.replace("STRIPS", strips);
            assert_eq!(said(&bert).is_some(), is_otherwise, "{bert}");
        }
        assert!(said(r#"{"model": {"merges": [], "end_of_word_suffix": "</w>"}}"#).is_some());
        let split = r#"{"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"pattern": {"Regex": "a$"}}]}}"#;
        assert!(said(split).is_some_and(|what| what.contains("a$")));
        let digits = split.replace("a$", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|\\p{L}+|\\p{N}{1,2}|\\s+");
        assert!(said(&digits).is_some_and(|what| what.contains("{1,2}")));
        assert_eq!(said(&digits.replace("{1,2}", "{1,3}")), None);
        let splits = [r"\p{N}{1,3}", "[一-龥]+", r"\p{L}+"].map(|pattern| json!({"pattern": {"Regex": pattern}}));
        let bytes = |add: bool| json!({"type": "ByteLevel", "use_regex": false, "add_prefix_space": add});
        let cut_by = |steps: &[Value]| {
            let steps = [&splits[..], steps].concat();
            json!({"pre_tokenizer": {"pretokenizers": steps}})
        };
        for (steps, is_otherwise) in [
            (&[][..], false),
            (&[bytes(false)], false),
            (&[bytes(true)], true),
            (&[json!({"type": "Digits"}), bytes(false)], true),
        ] {
            assert_eq!(read_otherwise(&cut_by(steps)).is_some(), is_otherwise, "{steps:?}");
        }
        let strip = r#"{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Strip"}]},
            "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "first"}}"#;
        assert!(said(strip).is_some());
        assert_eq!(said(&strip.replace("Strip", "Lowercase")), None);
        assert!(said(&strip.replace("Strip", "Nmt")).is_some());
        for (replace, is_otherwise) in [
            (r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#, false),
            (r#"{"type": "Replace", "pattern": {"String": "``"}, "content": "\""}"#, true),
            (r#"{"type": "Replace", "pattern": {"String": "x"}, "content": ""}"#, true),
            (r#"{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}"#, true),
        ] {
            let replaced = strip.replace(r#"{"type": "Strip"}"#, replace);
            assert_eq!(said(&replaced).is_some(), is_otherwise, "{replace}");
        }
        let decoder = r#"{"decoder": {"decoders": [{"type": "Replace", "pattern": {"Regex": "^ "}, "content": ""}]}}"#;
        assert!(said(decoder).is_some_and(|what| what.contains("^ ")));
    }
}
