//! Output on standard error, in which no byte can move the cursor or change the surrounding text.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::io::{self, Write};

use metatok::error::{Error, Place, Setting, Warning, WayOut};

/// Prints a line: `metatok: ` and the formatted text.
macro_rules! say {
    ($($what:tt)*) => {
        $crate::say::line(format_args!($($what)*))
    };
}
pub(crate) use say;

/// Messages that name settings, with their names on the command line.
pub(crate) trait InFlags {
    fn in_flags(&self) -> String;
}

impl InFlags for Error {
    fn in_flags(&self) -> String {
        self.display_with(&flag).to_string()
    }
}

impl InFlags for Warning {
    fn in_flags(&self) -> String {
        self.display_with(&flag).to_string()
    }
}

impl InFlags for WayOut {
    fn in_flags(&self) -> String {
        self.display_with(&flag).to_string()
    }
}

impl InFlags for Place {
    fn in_flags(&self) -> String {
        match self {
            Self::Setting(setting) => flag(setting),
            other => other.to_string(),
        }
    }
}

/// Flags whose name differs from the library's option.
const FLAGS: [(Setting, &str); 4] = [
    (Setting::CHAT_WRAPPER, "--as"),
    (Setting::CONVERSATION_TEMPLATE, "--conversation"),
    (Setting::STOP_STRINGS, "--stop"),
    (Setting::STOP_TOKEN_IDS, "--stop-id"),
];

/// The flag of a setting, with its value.
pub(crate) fn flag(setting: &Setting) -> String {
    let flag = match FLAGS.iter().find(|(other, _)| other.name() == setting.name()) {
        Some((_, flag)) => (*flag).to_owned(),
        None => format!("--{}", setting.name().replace('_', "-")),
    };
    let is_plain = |value: &str| value.chars().all(|c| c.is_alphanumeric() || "-_./:@+=,".contains(c));
    match setting.value() {
        None => flag,
        Some(value) if is_plain(value) && !value.is_empty() => format!("{flag} {value}"),
        Some(value) => format!("{flag} {value:?}"),
    }
}

/// Prints a line for each of these notes.
pub(crate) fn notes(notes: impl IntoIterator<Item = impl Borrow<Warning>>) {
    notes.into_iter().for_each(|note| say!("note: {}", note.borrow().in_flags()));
}

/// If standard error is closed, there is nobody to tell.
pub(crate) fn line(what: fmt::Arguments<'_>) {
    let line = format!("metatok: {}\n", escaped_line(&what.to_string()));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// A piece of text as it arrives.
pub(crate) fn piece(text: &str) {
    let _ = io::stderr().write_all(escaped(text).as_bytes());
}

/// The text with control characters, and those that change its direction, escaped as in Rust. Line ends stay.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    escaped_where(text, |c| c != '\n' && is_harmful(c))
}

/// The text as a single line, with its line ends escaped, too: file names, roles and values can contain anything, and must
/// not begin a new line.
pub(crate) fn escaped_line(text: &str) -> Cow<'_, str> {
    escaped_where(text, is_harmful)
}

fn escaped_where(text: &str, is_harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_harmful) {
        return text.into();
    }
    let escape = |c: char, out: &mut String| if is_harmful(c) { out.extend(c.escape_debug()) } else { out.push(c) };
    let mut out = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| escape(c, &mut out));
    out.into()
}

fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_setting_is_an_option() {
        let mut command = crate::args::command();
        command.build();
        let flags: HashSet<String> = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments)
            .filter_map(|argument| argument.get_long())
            .map(|long| format!("--{long}"))
            .collect();
        let missing: Vec<_> = Setting::ALL.iter().map(flag).filter(|flag| !flags.contains(flag)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn values_are_written_as_a_shell_reads_them() {
        assert_eq!(flag(&Setting::SPECIAL_TOKENS.set_to("always")), "--special-tokens always");
        assert_eq!(flag(&Setting::CHAT_WRAPPER.set_to("opencompass-chat")), "--as opencompass-chat");
        assert_eq!(flag(&Setting::RESERVE.set_to("<|x|>")), r#"--reserve "<|x|>""#);
    }

    #[test]
    fn only_what_is_harmful() {
        for (text, expected) in [
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("\u{9b}2J\x07\x7f\r\t", "\\u{9b}2J\\u{7}\\u{7f}\\r\\t"),
            ("x\u{202e}y\u{2069}", "x\\u{202e}y\\u{2069}"),
            ("two\nlines, \"quoted\" \\ c:\\x", "two\nlines, \"quoted\" \\ c:\\x"),
            ("a\u{2028}b", "a\\u{2028}b"),
            ("שלום 中文 e\u{301} 👩\u{200d}👩", "שלום 中文 e\u{301} 👩\u{200d}👩"),
        ] {
            assert_eq!(escaped(text), expected);
            assert_eq!(escaped_line(text), expected.replace('\n', "\\n"));
        }
    }
}
