//! The table of speeds: a row for each tokenizer and workload.

use std::path::Path;

use crate::completed::Completed;
use crate::measure::{Outcome, fill_ids, measure};
use crate::setting::{Setting, name};
use crate::subjects::{self, CONTESTANTS, METATOK, PEERS, Place};
use crate::table::{self, Table};
use crate::text::Text;
use crate::workloads::{WORKLOADS, Workload};

/// An error if metatok itself gives other ids, or nothing could be compared with it.
pub(crate) fn table(setting: &Setting) -> Result<(), String> {
    let texts = [false, true].map(|multilingual| setting.text(multilingual));
    let mut columns = vec!["tokenizer", "workload", "tokens a prompt"];
    columns.extend(CONTESTANTS.iter().map(|contestant| contestant.name));
    columns.push("metatok to the best peer");
    let mut table = Table::new("Prompts a second on one core, in thread processor time", &columns, 2);
    let mut wrong = Vec::new();
    for folder in &setting.folders {
        for workload in WORKLOADS.iter().take(if setting.measures { WORKLOADS.len() } else { 1 }) {
            if let Some(text) = &texts[usize::from(workload.multilingual)]
                && setting.wants(&name(folder), workload.name)
                && let Err(message) = row(&mut table, setting, folder, workload, text)
            {
                wrong.push(format!("{}, {}: {message}", name(folder), workload.name));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn row(table: &mut Table, setting: &Setting, folder: &Path, workload: &Workload, text: &Text) -> Result<(), String> {
    let tokenizer = subjects::metatok(folder)?;
    let Some(mut made) = workload.make(text, &tokenizer, setting.prompts) else { return Ok(()) };
    drop(tokenizer);
    let completed = Completed::new(folder)?;
    if completed.is_changed() {
        table.note(format!("{}: its peers are given the added tokens of tokenizer_config.json, too", name(folder)));
    }
    fill_ids(&mut *subjects::reference(completed.folder())?, &mut made.rounds)?;
    let place = Place { folder, completed: completed.folder(), model: &made.model };
    let mut outcomes = measure(&CONTESTANTS, &place, &made.rounds);
    if !is_right(&outcomes) {
        fill_ids(&mut *subjects::judge(completed.folder())?, &mut made.rounds)?;
        outcomes = measure(&CONTESTANTS, &place, &made.rounds);
    }
    let prompts = made.rounds.iter().flatten();
    let (count, tokens) = prompts.fold((0, 0), |(count, tokens), prompt| (count + 1, tokens + prompt.ids.len()));
    let mut cells = vec![name(folder), workload.name.to_owned(), (tokens / count.max(1)).to_string()];
    cells.extend(outcomes.iter().map(table::outcome));
    cells.push(ratio(&outcomes).map_or_else(String::new, |ratio| format!("{ratio:.2}")));
    table.row(&cells);
    made.note.into_iter().for_each(|note| table.note(note));
    for (contestant, outcome) in CONTESTANTS.iter().zip(&outcomes) {
        let place = format!("{}, {}", name(folder), contestant.name);
        match outcome {
            Outcome::Failed(message) => table.note(format!("{place}: {message}")),
            Outcome::Differs(ids) => table.note(format!("{place}, {}: {ids}", workload.name)),
            Outcome::Rate(_) => {}
        }
    }
    if is_right(&outcomes) { Ok(()) } else { Err("metatok has other ids than the reference".into()) }
}

/// Whether metatok has the ids of the reference.
fn is_right(outcomes: &[Outcome]) -> bool {
    outcomes[..PEERS.start].iter().all(|outcome| matches!(outcome, Outcome::Rate(_)))
}

/// Metatok's rate, by that of the fastest peer with the same ids.
fn ratio(outcomes: &[Outcome]) -> Option<f64> {
    let rate = |outcome: &Outcome| if let Outcome::Rate(rate) = outcome { Some(*rate) } else { None };
    let best = outcomes[PEERS].iter().filter_map(rate).max_by(f64::total_cmp)?;
    Some(rate(&outcomes[METATOK])? / best)
}
