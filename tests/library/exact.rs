//! The ids of real text, cut and mixed at random places, are the reference's, whatever encodes them.
//!
//! METATOK_TOKENIZERS names a folder of tokenizers, METATOK_TEXT one of texts, METATOK_CHARACTERS how many characters each
//! tokenizer reads, and METATOK_SEED where the random numbers begin.

use std::path::PathBuf;
use std::sync::Arc;

use metatok::error::ErrorKind;
use metatok::{AddSpecialTokens, BuilderOptions, ContentTrust, Conversation, Model, PromptBuilder, TokenId};

use crate::harness::{Tests, tests};
use crate::loaded;
use crate::root::root;
use crate::subjects::{self, Subject};

pub(crate) fn tests() -> Tests {
    tests![ids_are_those_of_the_reference]
}

/// Where pieces of text meet, and what normalizers and patterns look at.
const SEAMS: [&str; 24] = [
    "", " ", "  ", "\n", "\n\n", "\r\n", " \n ", "\t", "'s", "'LL", "'ſ", "123456", "½", "▁", "▁▁", "e\u{301}",
    "\u{ac}", "\u{a0}", "\u{3000}", "🎉", "\u{200d}", "中文", "\0", "...",
];

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(or)
}

/// The characters of all texts that are here; of this file if there are none.
fn characters() -> Vec<char> {
    let folder = std::env::var_os("METATOK_TEXT").map_or_else(|| root().join("../shared/text"), PathBuf::from);
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(|file| Some(file.ok()?.path()));
    let texts: String = files.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    if texts.is_empty() { include_str!("exact.rs").chars().collect() } else { texts.chars().collect() }
}

fn ids_are_those_of_the_reference() {
    let characters = characters();
    let budget = number("METATOK_CHARACTERS", 60_000) as usize;
    for name in loaded::names() {
        let subject = loaded::subject(&name).expect("its folder is there");
        read_much(&subject, &characters, budget);
    }
    let emoji = ["digits, and entries that no text is", "digits twice, and entries that no text is"];
    for made in ["demo", "Metaspace, first", "Metaspace, always", "Metaspace, never"].into_iter().chain(emoji) {
        read_much(subjects::subject(made), &characters, budget);
    }
}

/// In one session, so that much comes from its caches.
fn read_much(subject: &Subject, characters: &[char], budget: usize) {
    let options = BuilderOptions {
        content: ContentTrust::Trusted,
        special_tokens: Some(AddSpecialTokens::Never),
        ..BuilderOptions::default()
    };
    let builder = PromptBuilder::new(&Model::default(), Arc::clone(&subject.fast), &options);
    let mut session = builder.unwrap_or_else(|error| panic!("{}: {error}", subject.name)).session();
    let (mut read, mut seed) = (0, number("METATOK_SEED", 1));
    let mut examples = String::new();
    for turn in 0.. {
        if read >= budget {
            break;
        }
        // Some texts begin alike, as prompts with examples do.
        match turn % 16 {
            0 => examples = mixed(characters, &mut seed),
            5 | 13 => drop(examples.pop()),
            9 => examples.extend(mixed(characters, &mut seed).chars().take(100)),
            _ => {}
        }
        let text = mixed(characters, &mut seed);
        let text = if turn % 2 == 0 { format!("{examples}\n{text}") } else { text };
        if text.is_empty() {
            continue;
        }
        read += text.chars().count();
        let ids = match session.build(&Conversation::Text(text.clone())) {
            Ok(prompt) => prompt.input_ids,
            Err(error) if matches!(error.kind(), ErrorKind::EmptyPrompt { .. }) => Vec::new(),
            Err(error) => panic!("{}: {error}", subject.name),
        };
        check(subject, &ids, &text);
    }
    println!("{}: {read} characters, the ids of the reference", subject.name);
}

/// Some pieces of text with something between them.
fn mixed(characters: &[char], seed: &mut u64) -> String {
    let mut roll = |sides: usize| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % sides.max(1)
    };
    let mut text = String::new();
    for _ in 0..1 + roll(8) {
        let (start, most) = (roll(characters.len()), [8, 40, 400, 2000][roll(4)]);
        let end = (start + roll(most)).min(characters.len());
        text.extend(&characters[start..end]);
        text.push_str(SEAMS[roll(SEAMS.len())]);
        if roll(8) == 0 {
            text.extend(char::from_u32(roll(0x11_0000) as u32));
        }
    }
    text
}

fn check(subject: &Subject, ids: &[TokenId], text: &str) {
    let expected = subject.reference(text);
    if ids != expected {
        let same = ids.iter().zip(&expected).take_while(|(own, other)| own == other).count();
        let from = same.saturating_sub(2);
        let spelled = |ids: &[TokenId]| -> Vec<String> {
            ids.iter().skip(from).take(8).filter_map(|id| subject.fast.id_to_token(*id)).collect()
        };
        panic!("{}: ours {:?}, the reference's {:?}, of {text:?}", subject.name, spelled(ids), spelled(&expected));
    }
}
