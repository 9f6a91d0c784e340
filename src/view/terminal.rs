//! A prompt in the terminal.

use std::fmt::Write;

use anstyle::{Ansi256Color, Style};
use unicode_width::UnicodeWidthStr;

use crate::error::counted;
use crate::render::Element;
use crate::tokenizer::{Glyph, drawn, glyphs};
use crate::view::{View, ViewRow, ViewToken};

/// How a prompt is shown in a terminal.
#[derive(Debug, Clone, Copy)]
pub struct TerminalOptions {
    /// The number of columns.
    pub width: usize,
    /// Whether tokens are distinguished by colour; otherwise by marks.
    pub colour: bool,
    /// Whether each token's id is shown below it.
    pub ids: bool,
}

/// Dark blocks with light text, which can be read on a dark and on a light terminal.
const fn block(background: u8, foreground: u8) -> Style {
    Style::new()
        .bg_color(Some(anstyle::Color::Ansi256(Ansi256Color(background))))
        .fg_color(Some(anstyle::Color::Ansi256(Ansi256Color(foreground))))
}

const CONTENT: [Style; 2] = [block(236, 255), block(240, 255)];
const TEMPLATE: [Style; 2] = [block(24, 231), block(31, 231)];
const CONTROL: Style = block(90, 231).bold();
/// The block for an image, audio or video.
const MEDIA: Style = block(64, 231).bold();
const FAINT: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// The heading of the margin.
const HEADS: [&str; 4] = ["section", "role", "part", "n"];

/// The narrowest column of tokens, however wide the margin is.
const NARROWEST: usize = 16;

impl View {
    /// The prompt as text for a terminal, including ANSI colours.
    pub fn terminal(&self, options: TerminalOptions) -> String {
        let mut out = String::new();
        let style = |style: Style| if options.colour { style } else { Style::new() };
        let (bold, faint) = (style(BOLD), style(FAINT));
        let _ = writeln!(
            out,
            "{bold}{}{bold:#} {faint}{} · tokenizer {} · {} · {}{faint:#}\n",
            drawn(&self.model),
            self.mode,
            drawn(&self.tokenizer),
            counted(self.tokens.len(), "token"),
            counted(self.text.len(), "byte")
        );
        if let Some(turn) = &self.turn {
            let _ = writeln!(out, "{faint}{}{faint:#}\n", drawn(&turn.to_string()));
        }
        Rows::new(self, options).write(&mut out);
        out.push('\n');
        let stops = self.stops();
        let widest = stops.iter().map(|(stop, _)| stop.width()).max().unwrap_or(0);
        for (i, (stop, sources)) in stops.iter().enumerate() {
            let head = if i == 0 { "stops at" } else { "" };
            let fill = " ".repeat(widest - stop.width());
            let _ = writeln!(out, "{faint}{head:<9}{faint:#}{stop}{fill}  {faint}{sources}{faint:#}");
        }
        if stops.is_empty() {
            let _ = writeln!(out, "{faint}stops at{faint:#} nothing");
        }
        let _ = writeln!(out, "{faint}special  {}{faint:#}", self.special_tokens());
        out
    }
}

/// Draws the rows, each with its margin.
struct Rows<'v> {
    view: &'v View,
    options: TerminalOptions,
    /// The widths of the margin's columns.
    margin: [usize; 4],
    /// The columns left for tokens.
    room: usize,
}

impl<'v> Rows<'v> {
    fn new(view: &'v View, options: TerminalOptions) -> Self {
        let widest =
            |column: fn(&ViewRow) -> String| view.rows.iter().map(|row| column(row).width()).max().unwrap_or(0);
        let widths = [
            widest(ViewRow::place),
            widest(ViewRow::speaker),
            widest(|row| row.label().into()),
            widest(|row| row.tokens.len().to_string()),
        ];
        let margin = std::array::from_fn(|i| if widths[i] == 0 { 0 } else { widths[i].max(HEADS[i].len()) });
        // Two spaces after each column that is not empty.
        let taken: usize = margin.iter().filter(|width| **width > 0).map(|width| width + 2).sum();
        Self { view, options, margin, room: options.width.saturating_sub(taken).max(NARROWEST) }
    }

    fn write(&self, out: &mut String) {
        match self.view.rows[..] {
            [] => out.push_str("(the prompt is empty)"),
            _ => out.push_str(self.margin(HEADS).trim_end()),
        }
        out.push('\n');
        let mut before: Option<&ViewRow> = None;
        for row in &self.view.rows {
            let is_same = |before: &ViewRow| before.speaker() == row.speaker() && before.place() == row.place();
            let goes_on = before.is_some_and(is_same);
            let head = if goes_on { [String::new(), String::new()] } else { [row.place(), row.speaker()] };
            let mut margin = self.margin([&head[0], &head[1], row.label(), &row.tokens.len().to_string()]);
            for line in Lines::new(self, row).lay_out() {
                out.push_str(&margin);
                out.push_str(line.cells.trim_end_matches(' '));
                out.push('\n');
                margin = self.margin([""; 4]);
                if self.options.ids {
                    out.push_str(&margin);
                    out.push_str(line.ids.trim_end());
                    out.push('\n');
                }
            }
            before = Some(row);
        }
    }

    fn margin(&self, columns: [&str; 4]) -> String {
        let faint = if self.options.colour { FAINT } else { Style::new() };
        let mut margin = String::new();
        for (i, (column, width)) in
            columns.into_iter().zip(self.margin).enumerate().filter(|(_, (_, width))| *width > 0)
        {
            let fill = " ".repeat(width - column.width());
            let _ = match (column, i) {
                ("", _) => write!(margin, "{fill}  "),
                // Numbers are right-aligned.
                (_, 3) => write!(margin, "{fill}{faint}{column}{faint:#}  "),
                _ => write!(margin, "{faint}{column}{faint:#}{fill}  "),
            };
        }
        margin
    }
}

/// Lays the tokens of a row out in lines.
struct Lines<'v> {
    rows: &'v Rows<'v>,
    row: &'v ViewRow,
    lines: Vec<Line>,
    line: Line,
}

#[derive(Default)]
struct Line {
    cells: String,
    ids: String,
    width: usize,
}

impl<'v> Lines<'v> {
    fn new(rows: &'v Rows<'v>, row: &'v ViewRow) -> Self {
        Self { rows, row, lines: Vec::new(), line: Line::default() }
    }

    fn lay_out(mut self) -> Vec<Line> {
        match self.row.chip() {
            Some(chip) => self.chip(&chip),
            None => {
                for position in self.row.tokens.clone() {
                    self.token(position, &self.rows.view.tokens[position]);
                }
            }
        }
        if self.line.width > 0 {
            self.lines.push(self.line);
        }
        self.lines
    }

    fn token(&mut self, position: usize, token: &ViewToken) {
        let TerminalOptions { colour, ids, .. } = self.rows.options;
        let mut pieces = pieces(&glyphs(&token.bytes), self.rows.room - 4);
        if pieces.is_empty() {
            pieces.push((String::new(), false));
        }
        let last = pieces.len() - 1;
        for (i, (text, ends_line)) in pieces.into_iter().enumerate() {
            let text = match (colour, token.control) {
                (true, true) => format!(" {text} "),
                (false, true) => format!("[{text}]"),
                _ => text,
            };
            let id = if ids && i == 0 { token.id.to_string() } else { String::new() };
            // Without colours, a bar separates tokens; ids need a space between them anyway.
            let bar = if !colour && !ids && i == last { "|" } else { "" };
            let width = text.width().max(id.len() + usize::from(ids)) + bar.len();
            if self.line.width > 0 && self.line.width + width > self.rows.room {
                self.end_line();
            }
            let fill = " ".repeat(width - bar.len() - text.width());
            let style = if colour { self.style(position, token) } else { Style::new() };
            let _ = write!(self.line.cells, "{style}{text}{style:#}{fill}{bar}");
            let _ = write!(self.line.ids, "{id:width$}");
            self.line.width += width;
            if ends_line {
                self.end_line();
            }
        }
    }

    /// One block for all tokens of an image, audio or video; below it the first and the last id.
    fn chip(&mut self, chip: &str) {
        let TerminalOptions { colour, ids, .. } = self.rows.options;
        let tokens = &self.rows.view.tokens[self.row.tokens.clone()];
        let style = if colour { MEDIA } else { Style::new() };
        for (text, ends_line) in pieces(&[Glyph::Text(chip.to_owned())], self.rows.room - 4) {
            let text = if colour { format!(" {text} ") } else { format!("[{text}]") };
            let _ = write!(self.line.cells, "{style}{text}{style:#}");
            self.line.width += text.width();
            if ids && self.line.ids.is_empty() && self.lines.is_empty() {
                self.line.ids = match tokens {
                    [] => String::new(),
                    [only] => only.id.to_string(),
                    [first, .., last] => format!("{} … {}", first.id, last.id),
                };
            }
            if ends_line {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
    }

    fn style(&self, position: usize, token: &ViewToken) -> Style {
        match (token.control, self.row.element) {
            (true, _) => CONTROL,
            (false, Element::Content) => CONTENT[position % 2],
            (false, _) => TEMPLATE[position % 2],
        }
    }
}

/// A token's glyphs as texts of at most `room` columns, and whether the line ends after each.
fn pieces(glyphs: &[Glyph], room: usize) -> Vec<(String, bool)> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for glyph in glyphs {
        for part in parts(glyph) {
            if !piece.is_empty() && piece.width() + part.width() > room {
                pieces.push((std::mem::take(&mut piece), true));
            }
            piece.push_str(&part);
        }
        if *glyph == Glyph::Newline {
            pieces.push((std::mem::take(&mut piece), true));
        }
    }
    if !piece.is_empty() {
        pieces.push((piece, false));
    }
    pieces
}

/// The part of a glyph that must stay on one line: a character with its marks, or the whole sign.
fn parts(glyph: &Glyph) -> Vec<String> {
    let Glyph::Text(text) = glyph else { return vec![glyph.text().0] };
    let mut parts: Vec<String> = Vec::new();
    for c in text.chars() {
        match parts.last_mut() {
            Some(part) if unicode_width::UnicodeWidthChar::width(c) == Some(0) => part.push(c),
            _ => parts.push(c.to_string()),
        }
    }
    parts
}
