//! A prompt as a self-contained page: no network, no script, light and dark.

use std::fmt::{Display, Write};
use std::ops::Range;

use crate::error::counted;
use crate::render::Element;
use crate::tokenizer::{Glyph, drawn, glyphs};
use crate::view::{View, ViewRow, ViewToken};

/// Rows with at most this many tokens are shown completely.
const UNFOLDED: usize = 600;
/// How many tokens of a longer row come before the fold.
const HEAD: usize = 300;
/// And after it.
const TAIL: usize = 60;

impl View {
    /// The prompt as one self-contained HTML page. Pointing at a token shows its id, its bytes, its position in the
    /// prompt, and its origin.
    pub fn html(&self) -> String {
        let mut out = String::with_capacity(4096 + self.tokens.len() * 160);
        let _ = write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{css}</style></head>\n<body>\n<header>\n<h1>{model}</h1>\n\
             <p>{mode} · tokenizer {tokenizer} · {tokens} · {bytes}</p>\n{turn}\
             <p class=\"legend\"><span class=\"tokens\"><i>content</i></span> <span class=\"tokens t\"><i>template</i></span> \
             <span class=\"tokens\"><i class=\"c\">control token</i></span> Point at a token, or tap it, for its bytes and \
             origin.</p>\n</header>\n\
             <input type=\"checkbox\" id=\"ids\"><label for=\"ids\">Show ids</label>\n<main class=\"prompt\">\n",
            title = Escaped(&drawn(&format!("{} · metatok", self.model))),
            css = include_str!("page.css"),
            model = Escaped(&drawn(&self.model)),
            mode = self.mode,
            tokenizer = Escaped(&drawn(&self.tokenizer)),
            tokens = counted(self.tokens.len(), "token"),
            bytes = counted(self.text.len(), "byte"),
            turn = self
                .turn
                .as_ref()
                .map_or_else(String::new, |turn| format!("<p>{}</p>\n", Escaped(&drawn(&turn.to_string())))),
        );
        if self.rows.is_empty() {
            out.push_str("<p>The prompt is empty.</p>\n");
        }
        for rows in self.rows.chunk_by(|one, next| one.place() == next.place() && one.speaker() == next.speaker()) {
            self.section(rows, &mut out);
        }
        out.push_str("</main>\n");
        self.ending(&mut out);
        out.push_str("</body></html>\n");
        out
    }

    /// The rows of one speaker's turn, with a heading.
    fn section(&self, rows: &[ViewRow], out: &mut String) {
        let [first, ..] = rows else { return };
        let tokens: usize = rows.iter().map(|row| row.tokens.len()).sum();
        let _ = writeln!(
            out,
            "<section>\n<h2><b>{}</b> <span>{}</span> <span class=\"n\">{}</span></h2>",
            Escaped(&first.speaker()),
            Escaped(&first.about_speaker()),
            counted(tokens, "token")
        );
        for row in rows {
            self.row(row, out);
        }
        out.push_str("</section>\n");
    }

    fn row(&self, row: &ViewRow, out: &mut String) {
        let template = if row.element == Element::Content { "" } else { " t" };
        let _ = write!(
            out,
            "<div class=\"row\"><div class=\"key\">{} <span class=\"n\">{}</span></div><div class=\"tokens{template}\">",
            row.label(),
            row.tokens.len()
        );
        let Range { start, end } = row.tokens;
        match row.chip() {
            Some(chip) => self.chip(row, &chip, out),
            None if row.tokens.len() <= UNFOLDED => self.lines(row, start..end, out),
            None => {
                self.lines(row, start..start + HEAD, out);
                // A mark element, so that copied text is the prompt's.
                let _ =
                    write!(out, "<details><summary><s>{} more tokens</s></summary>", row.tokens.len() - HEAD - TAIL);
                self.lines(row, start + HEAD..end - TAIL, out);
                out.push_str("</details>");
                self.lines(row, end - TAIL..end, out);
            }
        }
        out.push_str("</div></div>\n");
    }

    /// A block instead of the tokens of an image, audio or video.
    fn chip(&self, row: &ViewRow, chip: &str, out: &mut String) {
        let ids: Vec<String> = self.tokens[row.tokens.clone()].iter().map(|token| token.id.to_string()).collect();
        let about = format!("{}  ·  tokens {:?}  ·  {}", shortened(&ids), row.tokens, row.source());
        let _ = write!(out, "<p><i class=\"m\" data-t=\"{}\">{}</i></p>", Escaped(&about), Escaped(chip));
    }

    /// Tokens of a row, a paragraph for each line.
    fn lines(&self, row: &ViewRow, tokens: Range<usize>, out: &mut String) {
        let source = row.source();
        let mut positions = tokens.clone();
        for line in self.tokens[tokens].split_inclusive(|token| token.bytes.ends_with(b"\n")) {
            // Not dir="auto", which browsers compute again for every token: a minute for 100,000.
            out.push_str(if is_right_to_left(line) { "<p dir=\"rtl\">" } else { "<p>" });
            for (token, position) in line.iter().zip(positions.by_ref()) {
                write_token(token, position, &source, out);
            }
            out.push_str("</p>");
        }
    }

    /// The stops, and what the tokenizer added.
    fn ending(&self, out: &mut String) {
        out.push_str("<dl>\n<dt>stops at</dt>\n");
        for (stop, sources) in self.stops() {
            let _ = writeln!(out, "<dd><code>{}</code> <span>{}</span></dd>", Escaped(&stop), Escaped(&sources));
        }
        if self.stop.is_empty() && self.stop_strings.is_empty() {
            out.push_str("<dd>nothing</dd>\n");
        }
        let _ = writeln!(out, "<dt>special tokens</dt>\n<dd>{}</dd>\n</dl>", Escaped(&self.special_tokens()));
    }
}

/// The ids of a placeholder, which may be thousands.
fn shortened(ids: &[String]) -> String {
    match ids {
        [first, second, third, .., last] if ids.len() > 6 => format!("{first} {second} {third} … {last}"),
        all => all.join(" "),
    }
}

fn write_token(token: &ViewToken, position: usize, source: &str, out: &mut String) {
    let class = if token.control { " class=\"c\"" } else { "" };
    let _ = write!(out, "<i{class} data-i=\"{}\" data-t=\"{}\">", token.id, Escaped(&about(token, position, source)));
    let glyphs = glyphs(&token.bytes);
    for (i, glyph) in glyphs.iter().enumerate() {
        let (text, is_itself) = glyph.text();
        let _ = match glyph {
            _ if is_itself => write!(out, "{}", Escaped(&text)),
            Glyph::Byte(byte) => write!(out, "<s class=\"b\">{byte:02X}</s>"),
            Glyph::Code(c) => write!(out, "<s class=\"b\">U+{:04X}</s>", u32::from(*c)),
            // White space is there itself, so that lines can break at it and copied text is the prompt's. Its mark is
            // drawn by the style sheet or cannot be selected.
            Glyph::Space => out.write_str("<u> </u>"),
            Glyph::Tab => write!(out, "<s>{text}</s>\t"),
            _ => write!(out, "<s>{text}</s>"),
        };
        if *glyph == Glyph::Newline && i + 1 < glyphs.len() {
            out.push_str("<br>");
        }
    }
    out.push_str("</i>");
}

/// Whether the first letter is of a script that is written from right to left.
fn is_right_to_left(line: &[ViewToken]) -> bool {
    let text = line.iter().flat_map(|token| token.bytes.utf8_chunks()).map(|chunk| chunk.valid());
    text.flat_map(str::chars).find(|c| c.is_alphabetic()).is_some_and(|c| {
        matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
    })
}

/// The tooltip of a token, in addition to its id.
fn about(token: &ViewToken, position: usize, source: &str) -> String {
    let ViewToken { token, bytes, range, .. } = token;
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{}  ·  bytes {}  ·  token {position}, bytes {}–{} of the prompt  ·  {source}",
        drawn(token),
        bytes.join(" "),
        range.start,
        range.end
    )
}

/// Text with HTML's special characters escaped.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'', '\0', '\r']) {
            f.write_str(&rest[..at])?;
            f.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'\'' => "&#39;",
                b'\r' => "&#13;",
                // HTML cannot represent it.
                _ => "\u{fffd}",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}
