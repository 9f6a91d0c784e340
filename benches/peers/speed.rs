//! The table of speeds: a row for each tokenizer and workload.

use std::collections::BTreeSet;
use std::path::Path;

use crate::measure::{Outcome, fill_ids, measure_all};
use crate::setting::{Setting, name};
use crate::subjects::{self, CONTESTANTS, METATOK, PEERS, Place};
use crate::table;
use crate::text::Text;
use crate::workloads::{WORKLOADS, Workload};

/// What is said below the table, each thing once.
type Notes = BTreeSet<String>;

/// Whether metatok's ids are right everywhere.
pub(crate) fn table(setting: &Setting) -> bool {
    let texts = [false, true].map(|multilingual| setting.text(multilingual));
    let mut columns = vec!["tokenizer", "workload", "tokens a prompt"];
    columns.extend(CONTESTANTS.iter().map(|contestant| contestant.name));
    columns.push("metatok to the best peer");
    println!("\nPrompts a second on one core, in thread processor time:\n");
    table::head(&columns, 2);
    let (mut notes, mut right) = (Notes::new(), true);
    for folder in &setting.folders {
        for workload in &WORKLOADS {
            if let Some(text) = &texts[usize::from(workload.multilingual)]
                && setting.wants(&name(folder), workload.name)
            {
                right &= row(setting, folder, workload, text, &mut notes).unwrap_or_else(|message| {
                    notes.insert(format!("{}: {}: not measured: {message}", name(folder), workload.name));
                    false
                });
            }
        }
    }
    println!();
    notes.iter().for_each(|note| println!("- {note}"));
    right
}

fn row(setting: &Setting, folder: &Path, workload: &Workload, text: &Text, notes: &mut Notes) -> Result<bool, String> {
    let tokenizer = subjects::metatok(folder)?;
    let Some(mut made) = workload.make(text, &tokenizer, setting.prompts) else { return Ok(true) };
    drop(tokenizer);
    fill_ids(&mut *subjects::reference(folder)?, &mut made.rounds)?;
    let outcomes = measure_all(&Place { folder, model: &made.model }, &made);
    let prompts = made.rounds.iter().flatten();
    let (count, tokens) = prompts.fold((0, 0), |(count, tokens), prompt| (count + 1, tokens + prompt.ids.len()));
    let mut cells = vec![name(folder), workload.name.to_owned(), (tokens / count.max(1)).to_string()];
    cells.extend(outcomes.iter().map(table::outcome));
    cells.push(ratio(&outcomes).map_or_else(String::new, |ratio| format!("{ratio:.2}")));
    table::row(&cells);
    notes.extend(made.note.map(|note| format!("{}: {note}", name(folder))));
    for (contestant, outcome) in CONTESTANTS.iter().zip(&outcomes) {
        if let Outcome::Failed(message) = outcome {
            notes.insert(format!("{}: {}: {message}", name(folder), contestant.name));
        }
    }
    Ok(outcomes[..PEERS.start].iter().all(|outcome| matches!(outcome, Outcome::Rate(_))))
}

/// Metatok's rate, by that of the fastest peer with the same ids.
fn ratio(outcomes: &[Outcome]) -> Option<f64> {
    let rate = |outcome: &Outcome| if let Outcome::Rate(rate) = outcome { Some(*rate) } else { None };
    let best = outcomes[PEERS].iter().filter_map(rate).max_by(f64::total_cmp)?;
    Some(rate(&outcomes[METATOK])? / best)
}
