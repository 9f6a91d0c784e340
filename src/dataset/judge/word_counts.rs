//! How many words an answer has, counted for judges like OpenCompass's `LMEvaluator`.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Runs of letters, digits and underscores that consist of ASCII letters only: Python's `\b[a-zA-Z]+\b`.
pub(crate) fn english_words(text: &str) -> usize {
    let words = text.split(|c: char| !is_word_character(c)).filter(|word| !word.is_empty());
    words.filter(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic())).count()
}

/// The ideographs of Unicode's first block.
pub(crate) fn chinese_characters(text: &str) -> usize {
    text.chars().filter(|c| matches!(c, '\u{4e00}'..='\u{9fff}')).count()
}

/// Python's `\w`.
fn is_word_character(c: char) -> bool {
    c == '_' || matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts are those of Python 3.12's `re`.
    #[test]
    fn words_are_counted_as_python_does() {
        for (text, english, chinese) in [
            ("", 0, 0),
            ("Mars is red.", 3, 0),
            ("don't", 2, 0),
            ("x1 2x a_b _ B2B", 0, 0),
            ("café naïve", 0, 0),
            ("火星是 red planet", 2, 3),
            ("火星red", 0, 2),
            ("e\u{301}tude", 2, 0),
            ("Ⓐa ²b", 1, 0),
            ("\u{3400}\u{4e00}\u{9fff}\u{20000}", 0, 2),
        ] {
            assert_eq!((english_words(text), chinese_characters(text)), (english, chinese), "{text:?}");
        }
    }
}
