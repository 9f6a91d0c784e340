//! A prompt as a page of its own: no network, no script, light and dark.

use std::fmt::{Display, Write};

use crate::render::Element;
use crate::tokenizer::{Glyph, glyphs};
use crate::view::{View, ViewRow, ViewToken};

impl View {
    /// The prompt as one self-contained HTML page. Hovering over a token shows its id, its bytes, where
    /// in the prompt it stands, and where it comes from.
    pub fn html(&self) -> String {
        let mut out = String::with_capacity(4096 + self.tokens.len() * 128);
        let _ = write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{css}</style></head>\n\
             <body>\n<h1>{model}</h1>\n<p>{mode} · tokenizer {tokenizer} · {tokens} tokens · {bytes} bytes</p>\n\
             {turn}<p class=\"legend\"><span class=\"tokens\"><i>content</i></span> <span class=\"tokens t\"><i>template</i></span> \
             <span class=\"tokens\"><i class=\"c\">control token</i></span> Hover over a token for its id and bytes.</p>\n\
             <table class=\"prompt\">\n<tr><th class=\"who\">role, section</th><th class=\"key\">part</th><th>tokens</th></tr>\n",
            title = Escaped(&format!("{} · metatok", self.model)),
            css = include_str!("page.css"),
            model = Escaped(&self.model),
            mode = self.mode,
            turn =
                self.turn.as_ref().map_or_else(String::new, |turn| format!("<p>{}</p>\n", Escaped(&turn.to_string()))),
            tokenizer = Escaped(&self.tokenizer),
            tokens = self.tokens.len(),
            bytes = self.text.len(),
        );
        let mut before: Option<(String, String)> = None;
        for row in &self.rows {
            let turn = (row.place(), row.speaker());
            self.row(row, before.as_ref() != Some(&turn), &mut out);
            before = Some(turn);
        }
        out.push_str("</table>\n<table class=\"stops\">\n");
        for (i, (stop, sources)) in self.stops().iter().enumerate() {
            let head = if i == 0 { "stops at" } else { "" };
            let _ = writeln!(
                out,
                "<tr><th>{head}</th><td><code>{}</code></td><td>{}</td></tr>",
                Escaped(stop),
                Escaped(sources)
            );
        }
        if self.stop.is_empty() && self.stop_strings.is_empty() {
            out.push_str("<tr><th>stops at</th><td>nothing</td></tr>\n");
        }
        let _ = writeln!(
            out,
            "<tr><th>special tokens</th><td colspan=\"2\">{}</td></tr>\n</table>\n</body></html>",
            Escaped(&self.special_tokens())
        );
        out
    }

    fn row(&self, row: &ViewRow, opens_turn: bool, out: &mut String) {
        let class = if opens_turn { " class=\"turn\"" } else { "" };
        let _ = write!(out, "<tr{class}><td class=\"who\">");
        if opens_turn {
            let _ = write!(out, "<b>{}</b> {}", Escaped(&row.speaker()), Escaped(&row.place()));
        }
        let template = if row.element == Element::Content { "" } else { " t" };
        let _ = write!(out, "</td><td class=\"key\">{}</td><td class=\"tokens{template}\">", row.label());
        let source = row.source();
        if let Some(chip) = row.chip() {
            let tokens = &self.tokens[row.tokens.clone()];
            let ids: Vec<String> = tokens.iter().map(|token| token.id.to_string()).collect();
            let about = format!("{}  ·  tokens {:?}  ·  {source}", shortened(&ids), row.tokens);
            let _ = writeln!(
                out,
                "<div><i class=\"m\" data-t=\"{}\">{}</i></div></td></tr>",
                Escaped(&about),
                Escaped(&chip)
            );
            return;
        }
        let mut positions = row.tokens.clone();
        for line in self.tokens[row.tokens.clone()].split_inclusive(|token| token.bytes.ends_with(b"\n")) {
            // Not dir="auto", which browsers work out again for every token: a minute for 100,000.
            out.push_str(if is_right_to_left(line) { "<div dir=\"rtl\">" } else { "<div>" });
            for (token, position) in line.iter().zip(positions.by_ref()) {
                write_token(token, position, &source, out);
            }
            out.push_str("</div>");
        }
        out.push_str("</td></tr>\n");
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
    let _ = write!(out, "<i{class} data-t=\"{}\">", Escaped(&about(token, position, source)));
    let glyphs = glyphs(&token.bytes);
    for (i, glyph) in glyphs.iter().enumerate() {
        let (text, is_itself) = glyph.text();
        let _ = match glyph {
            _ if is_itself => write!(out, "{}", Escaped(&text)),
            Glyph::Byte(byte) => write!(out, "<s class=\"b\">{byte:02X}</s>"),
            Glyph::Code(c) => write!(out, "<s class=\"b\">U+{:04X}</s>", u32::from(*c)),
            // White space is there itself, so that lines can break at it and copied text is the prompt's;
            // its mark is drawn by the style sheet or cannot be selected.
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

/// What hovering over a token shows.
fn about(token: &ViewToken, position: usize, source: &str) -> String {
    let ViewToken { id, token, bytes, range, .. } = token;
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{id}  {token}  ·  bytes {}  ·  token {position}, bytes {}–{} of the prompt  ·  {source}",
        bytes.join(" "),
        range.start,
        range.end
    )
}

/// Text with what HTML gives a meaning to written out.
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
                // HTML has no way to write it.
                _ => "\u{fffd}",
            })?;
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}
