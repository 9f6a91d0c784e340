//! What all ways to cut must fulfil.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::tokenizer::bpe::split::splitting::Split;

/// Random text is cut as by the pattern, as the reference's library reads it.
pub(super) fn cuts_as_the_pattern<S: Split>(split: &S, pattern: &str) {
    cuts_as_the_patterns(split, &[pattern]);
}

/// The same for patterns that come one after the other.
pub(super) fn cuts_as_the_patterns<S: Split>(split: &S, patterns: &[&str]) {
    let end = |text: &str, start: usize| match split.word(text, start) {
        Some((_, len)) => start + len,
        None => split.end(text, start),
    };
    let step = |pattern: &&str| serde_json::json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    let json = serde_json::json!({"type": "Sequence", "pretokenizers": patterns.iter().map(step).collect::<Vec<_>>()});
    let reference: tokenizers_classic::PreTokenizerWrapper = serde_json::from_value(json).expect("it is one");
    let char = prop_oneof![
        4 => prop::sample::select(" \n\t\r'sStTrReEvVmMlLdDaZ019.,!?-_/ABxǅʰ・゛\u{3099}\0\u{7}ſéßΩж中の\u{300}\u{a0}\u{3000}\u{85}\u{200b}½²ٳ🎉ªⅣ".chars().collect::<Vec<_>>()),
        1 => any::<char>(),
    ];
    let text = prop::collection::vec(char, 0..40).prop_map(|chars| chars.into_iter().collect::<String>());
    let check = |text: String| {
        let mut expected = tokenizers_classic::PreTokenizedString::from(text.as_str());
        tokenizers_classic::PreTokenizer::pre_tokenize(&reference, &mut expected).expect("it splits");
        let expected =
            expected.get_splits(tokenizers_classic::OffsetReferential::Original, tokenizers_classic::OffsetType::Byte);
        let expected: Vec<&str> = expected.iter().map(|(piece, _, _)| *piece).collect();
        let (mut pieces, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let next = end(&text, at);
            pieces.push(&text[at..next]);
            at = next;
        }
        prop_assert_eq!(&pieces, &expected);
        let lines = text.match_indices('\n').map(|(at, _)| at + 1);
        for at in lines.filter(|at| text.as_bytes().get(*at).is_some_and(|next| split.parts_lines(*next))) {
            let (mut cut, mut after) = (Vec::new(), 0);
            for part in [&text[..at], &text[at..]] {
                let mut start = 0;
                while start < part.len() {
                    let next = end(part, start);
                    cut.push(&part[start..next]);
                    start = next;
                }
                after += part.len();
            }
            prop_assert_eq!(after, text.len());
            prop_assert_eq!(&cut, &pieces);
        }
        Ok(())
    };
    let config = ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&text, check).unwrap_or_else(|error| panic!("{patterns:?}: {error}"));
}
