//! Tables in Markdown.

use crate::measure::Outcome;

/// Writes a line of a table.
pub(crate) fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

/// Writes the head of a table, whose first columns are text.
pub(crate) fn head(columns: &[&str], texts: usize) {
    row(&columns.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    let rule = |i: usize| if i < texts { "---" } else { "---:" }.to_owned();
    row(&(0..columns.len()).map(rule).collect::<Vec<_>>());
}

/// A number with commas, rounded to three digits or so.
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
        Outcome::Differs => "other ids".into(),
        Outcome::Failed(_) => "cannot".into(),
    }
}
