//! Figures in columns: names on the left, numbers on the right.

use unicode_width::UnicodeWidthStr;

use crate::say::escaped_line;

/// The name of all datasets together.
pub(crate) const ALL: &str = "all";

/// Rows of as many cells as there are heads.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heads: Vec<String>) -> Self {
        Self { rows: vec![heads] }
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row.iter().map(|cell| escaped_line(cell).into_owned()).collect());
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        for row in &self.rows {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let space = " ".repeat(width - cell.width());
                let cell = if column == 0 { format!("{cell}{space}") } else { format!("  {space}{cell}") };
                out.extend_from_slice(cell.as_bytes());
            }
            out.push(b'\n');
        }
    }
}
