//! Tables in Markdown.

use std::collections::BTreeSet;

use crate::measure::Outcome;

/// A table that is printed row by row as it is measured. Without a row there is nothing of it.
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    /// How many of the first columns are text.
    texts: usize,
    begun: bool,
    /// What is said below, each thing once.
    notes: BTreeSet<String>,
}

impl Table {
    pub(crate) fn new(title: &str, columns: &[&str], texts: usize) -> Self {
        let columns = columns.iter().map(|&name| name.to_owned()).collect();
        Self { title: title.to_owned(), columns, texts, begun: false, notes: BTreeSet::new() }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        if !self.begun {
            self.begun = true;
            println!("\n{}:\n", self.title);
            line(&self.columns);
            let rule = |i: usize| if i < self.texts { "---" } else { "---:" }.to_owned();
            line(&(0..self.columns.len()).map(rule).collect::<Vec<_>>());
        }
        line(cells);
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.insert(note);
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if !self.notes.is_empty() {
            println!();
        }
        self.notes.iter().for_each(|note| println!("- {note}"));
    }
}

fn line(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

/// A number with commas. From ten thousand on, three digits of it are exact.
pub(crate) fn number(value: f64) -> String {
    let unit = if value < 10_000.0 { 1.0 } else { 10_f64.powf((value.log10() - 2.0).floor()) };
    let digits = format!("{:.0}", (value / unit).round() * unit);
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

pub(crate) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Rate(rate) => number(*rate),
        Outcome::Differs(_) => "other ids".into(),
        Outcome::Failed(_) => "cannot".into(),
    }
}
