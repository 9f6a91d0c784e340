//! Meta templates made of chat templates: how many there are of those in `tests/chat_templates`, and how exact they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use metatok::Tokenizer;
use metatok::conversation::Mode;
use metatok::import::{ContentKind, import};

use crate::chat_templates::subjects;
use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![templates_are_imported]
}

fn templates_are_imported() {
    let tokenizer = Arc::new(Tokenizer::demo().expect("the demo loads"));
    let (mut all, mut exact, mut both_modes, mut ordinary) = (0, 0, 0, 0);
    let mut kinds = BTreeMap::<&str, u32>::new();
    // Of the gate's own templates a third, because each is compared hundreds of times.
    let every = if std::env::var_os("METATOK_CHAT_TEMPLATES").is_some() { 1 } else { 3 };
    for subject in subjects().into_iter().step_by(every) {
        all += 1;
        match import(&subject.template(), &tokenizer) {
            Ok(imported) => {
                ordinary += 1;
                let verified = &imported.verified;
                let is_exact =
                    |kind| [Mode::Generate, Mode::Score].iter().all(|mode| verified.tally(kind, *mode).is_exact());
                exact += u32::from(ContentKind::ALL.into_iter().all(is_exact));
                both_modes += u32::from(verified.tally(ContentKind::Ordinary, Mode::Score).is_exact());
                for kind in ContentKind::ALL {
                    *kinds.entry(kind.name()).or_default() += u32::from(is_exact(kind));
                }
                if std::env::var_os("METATOK_IMPORT_VERBOSE").is_some() {
                    println!(
                        "{}: {}",
                        subject.name,
                        imported
                            .to_toml()
                            .expect("it is TOML")
                            .lines()
                            .take_while(|line| line.starts_with('#'))
                            .collect::<Vec<_>>()
                            .join(" | ")
                    );
                }
            }
            Err(error) if std::env::var_os("METATOK_IMPORT_VERBOSE").is_some() => println!("{}: {error}", subject.name),
            Err(_) => {}
        }
    }
    println!(
        "of {all} chat templates, {ordinary} have a meta template for prompts of ordinary content, {both_modes} for texts to score too, {exact} for all content; {kinds:?}"
    );
    assert!(ordinary > 0, "none was imported");
}
