//! What holds for every vocabulary, however odd: cutting text, and beginning with whole characters, changes no token.

use proptest::prelude::*;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::batch::MOST_MISSED;
use crate::tokenizer::bpe::encoder::Buffers;
use crate::tokenizer::bpe::long_words::LongWords;
use crate::tokenizer::bpe::merger::merge_by_definition;
use crate::tokenizer::bpe::merges::Merges;
use crate::tokenizer::bpe::model::{Cutting, Model, find_words};
use crate::tokenizer::bpe::split::{Cuts, Pattern, Seams};
use crate::tokenizer::bpe::symbols::{META_SPACE, Symbols};
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bytes::char_of;

/// Adds merges of tokens that exist by then, each drawn by two numbers among those that stand for a part of the text. Some
/// trade places with others.
fn merged(
    vocabulary: &mut Vocabulary,
    first: Vec<TokenId>,
    drawn: &[(usize, usize)],
    trades: &[(usize, usize)],
) -> Merges {
    let (mut tokens, mut merges) = (first, Vec::new());
    for (left, right) in drawn {
        let [left, right] = [left, right].map(|number| tokens[number % tokens.len()]);
        let entry = [left, right].map(|id| vocabulary.entry(id).expect("it is one").to_owned()).concat();
        let id = vocabulary.id(&entry).unwrap_or_else(|| {
            vocabulary.insert(&entry, vocabulary.ids());
            vocabulary.ids() - 1
        });
        merges.push([left, right, id]);
        tokens.push(id);
    }
    for (one, other) in trades {
        let len = merges.len();
        merges.swap(one % len, other % len);
    }
    Merges::new(&merges).expect("they are few")
}

/// The tokens by the definition, without cutting anything.
fn merged_at_once(encoder: &Model, text: &str) -> Vec<TokenId> {
    if encoder.ignore_merges {
        let entry: String = text.bytes().map(char_of).collect();
        if let Some(id) = encoder.vocabulary.id(&entry) {
            return vec![id];
        }
    }
    let mut symbols = Vec::new();
    encoder.symbols.append(text, &mut symbols);
    merge_by_definition(&mut symbols, &encoder.merges);
    symbols
}

fn encoded(encoder: &Model, text: &str) -> Vec<TokenId> {
    let (mut buffers, mut ids, mut again) = (Buffers::default(), Vec::new(), Vec::new());
    encoder.encode(text, false, &mut buffers, &mut ids);
    encoder.encode(text, false, &mut buffers, &mut again);
    assert_eq!(ids, again, "what is kept is what was found");
    ids
}

/// An encoder of bytes, whose vocabulary may have more entries.
fn of_bytes(vocabulary: Vocabulary, merges: Merges, ignore_merges: bool) -> Model {
    let symbols = Symbols::of_bytes(&vocabulary).expect("it has all bytes");
    let words = find_words(&vocabulary, &symbols, &merges, ignore_merges).expect("no text is twice");
    let cutting = Cutting::Words(Cuts::Pattern(Pattern::Gpt2), Atoms::new(&vocabulary, &symbols, &merges));
    let long_words = if ignore_merges { LongWords::new(&vocabulary, &symbols) } else { LongWords::default() };
    Model { vocabulary, merges, symbols, cutting, words, long_words, ignore_merges }
}

fn all_bytes() -> Vocabulary {
    let mut vocabulary = Vocabulary::with_capacity(256, 512);
    (0..=255_u8).zip(0..).for_each(|(byte, id)| vocabulary.insert(char_of(byte).encode_utf8(&mut [0; 4]), id));
    vocabulary
}

/// No trained vocabulary is so, and random ones hardly ever.
#[test]
fn a_character_that_merges_with_others_before_it_is_made() {
    let mut vocabulary = all_bytes();
    let [a, b, first, second] = [b'a', b'b', 0xC3, 0xA9].map(TokenId::from);
    let entries = ["Ã©", "aÃ©", "ba"];
    entries.into_iter().zip(256..).for_each(|(entry, id)| vocabulary.insert(entry, id));
    let merges = Merges::new(&[[a, 256, 257], [b, a, 258], [first, second, 256]]).expect("they are few");
    let encoder = of_bytes(vocabulary, merges, false);
    assert_eq!(encoded(&encoder, "baé"), [258, 256]);
    assert_eq!(merged_at_once(&encoder, "baé"), [258, 256]);
}

/// As しない in Llama 3.1: an entry that its own merges do not make.
#[test]
fn a_part_of_a_piece_is_not_the_piece_that_is_an_entry() {
    let mut vocabulary = all_bytes();
    let [a, b] = [b'a', b'b'].map(TokenId::from);
    let [c1, c2, c3] = [0xE4, 0xB8, 0xAD];
    for (entry, id) in [[c1, c2].as_slice(), &[c1, c2, c3], b"ab"].into_iter().zip(256..) {
        vocabulary.insert(&entry.iter().map(|byte| char_of(*byte)).collect::<String>(), id);
    }
    let merges = Merges::new(&[[c1.into(), c2.into(), 256], [256, c3.into(), 257]]).expect("they are few");
    let encoder = of_bytes(vocabulary, merges, true);
    let expected = [("中ab中", vec![257, a, b, 257]), ("ab", vec![258])];
    for order in [[0, 1, 0], [1, 0, 1]] {
        let mut buffers = Buffers::default();
        for (text, expected) in order.map(|number: usize| &expected[number]) {
            let mut ids = Vec::new();
            encoder.encode(text, false, &mut buffers, &mut ids);
            assert_eq!(&ids, expected, "{text}");
        }
    }
}

proptest! {
    /// Of many runs, new words come more than once, and are merged at different times.
    #[test]
    fn runs_that_are_encoded_together(
        drawn in prop::collection::vec((0..60_usize, 0..60_usize), 1..60),
        texts in prop::collection::vec("[ab é中]{0,12}|([ab]{1,20} ){0,99}|([ab]{1,9} \n){9}b{60}\n", 0..9),
        ignore_merges: bool,
    ) {
        let mut vocabulary = all_bytes();
        let merges = merged(&mut vocabulary, "ab é中".bytes().map(TokenId::from).collect(), &drawn, &[]);
        let encoder = of_bytes(vocabulary, merges, ignore_merges);
        let (mut buffers, mut alone) = (Buffers::default(), Buffers::default());
        for texts in [&texts[..], &texts, &texts.concat().split('b').map(str::to_owned).collect::<Vec<_>>()] {
            let (mut ids, mut expected, mut ends) = (vec![7], vec![7], Vec::new());
            buffers.begin();
            for text in texts {
                encoder.encode_known(text, false, &mut buffers, &mut ids);
                prop_assert!(buffers.missed() <= 2 * MOST_MISSED, "what comes again is found");
                encoder.end_run(&mut buffers, &mut ids);
                prop_assert!(buffers.missed() <= MOST_MISSED);
                encoder.encode(text, false, &mut alone, &mut expected);
                ends.push(expected.len());
            }
            encoder.fill_in(&mut buffers, &mut ids);
            prop_assert_eq!(ids, expected);
            prop_assert_eq!(buffers.run_ends().collect::<Vec<_>>(), ends);
        }
    }

    #[test]
    fn words_of_bytes(
        drawn in prop::collection::vec((0..60_usize, 0..60_usize), 1..60),
        trades in prop::collection::vec((0..60_usize, 0..60_usize), 0..4),
        text in "[aéя中文]{1,24}",
        ignore_merges: bool,
    ) {
        let mut vocabulary = all_bytes();
        let merges = merged(&mut vocabulary, "aéя中文".bytes().map(TokenId::from).collect(), &drawn, &trades);
        let encoder = of_bytes(vocabulary, merges, ignore_merges);
        prop_assert_eq!(encoded(&encoder, &text), merged_at_once(&encoder, &text));
        // What was a part of one text is another text, with the same buffers.
        let (mut buffers, places) = (Buffers::default(), text.char_indices().map(|(at, _)| at).take(9));
        for start in places.clone() {
            for end in places.clone().filter(|end| *end > start).collect::<Vec<_>>().into_iter().rev() {
                let (part, mut ids) = (&text[start..end], Vec::new());
                encoder.encode(part, false, &mut buffers, &mut ids);
                prop_assert_eq!(ids, merged_at_once(&encoder, part), "{}", part);
            }
        }
    }

    #[test]
    fn text_of_characters(
        drawn in prop::collection::vec((0..60_usize, 0..60_usize), 1..40),
        trades in prop::collection::vec((0..60_usize, 0..60_usize), 0..4),
        text in "[ab ▁\n中文é🎉]{1,30}",
        splits: bool,
    ) {
        let mut vocabulary = Vocabulary::with_capacity(300, 2000);
        (0..=255_u8).zip(0..).for_each(|(byte, id)| vocabulary.insert(&format!("<0x{byte:02X}>"), id));
        let known = ["a", "b", "▁", "\n", "中", "文"];
        known.iter().zip(256..).for_each(|(entry, id)| vocabulary.insert(entry, id));
        let merges = merged(&mut vocabulary, (256..256 + known.len() as TokenId).collect(), &drawn, &trades);
        let symbols = Symbols::of_characters(&vocabulary).expect("it has all bytes");
        let words = find_words(&vocabulary, &symbols, &merges, false).expect("no text is twice");
        let cutting = Cutting::Seams(Seams::new(&vocabulary, splits).expect("no tokens for bytes are merged"));
        let long_words = LongWords::default();
        let encoder = Model { vocabulary, merges, symbols, cutting, words, long_words, ignore_merges: false };
        let marked = text.replace(' ', META_SPACE.encode_utf8(&mut [0; 4]));
        let expected = match splits {
            true => {
                let mut parts = marked.split(META_SPACE);
                // It is empty if the text begins with a space.
                let first = parts.next().unwrap_or_default().to_owned();
                let words = parts.map(|word| format!("{META_SPACE}{word}"));
                std::iter::once(first).chain(words).flat_map(|part| merged_at_once(&encoder, &part)).collect()
            }
            false => merged_at_once(&encoder, &text),
        };
        prop_assert_eq!(encoded(&encoder, &text), &expected[..]);
        prop_assert_eq!(encoded(&encoder, &marked), expected);
    }
}
