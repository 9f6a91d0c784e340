//! A comparison for people: the text before the first difference, both answers from there on, and why each ends.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{Comparison, DifferingAnswer, FirstDifference};
use crate::stop::Stop;
use crate::tokenizer::drawn;

const ID: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const DIFFERENCE: [Style; 2] = [AnsiColor::Red.on_default().bold(), AnsiColor::Green.on_default().bold()];

impl Comparison<'_> {
    /// The comparison as text for a terminal, with the names of the two files. The first token that differs is coloured, or
    /// otherwise in brackets; invisible characters are drawn as signs.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use metatok::PromptBuilder;
    /// use metatok::compare::AnswerComparer;
    /// use metatok::input::Input;
    ///
    /// let comparer = AnswerComparer::new(&PromptBuilder::demo()?)?;
    /// let a = Input::new("a", r#"{"id": 7, "token_ids": [44, 695, 1052]}"#.as_bytes());
    /// let b = Input::new("b", r#"{"id": 7, "token_ids": [44, 695, 13], "finish_reason": "length"}"#.as_bytes());
    /// let mut shown = String::new();
    /// comparer.compare(comparer.read(a, 1 << 20)?, b, 1 << 20, |comparison| {
    ///     shown += &comparison.terminal(["a", "b"], false);
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(shown, "7: differs at token 2, after \"Mars\"\n  a  [<|im_end|>]  stop at <|im_end|>\n  b  [.]  length\n");
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn terminal(&self, names: [&str; 2], colour: bool) -> String {
        let style = |style: Style| if colour { style } else { Style::new() };
        let (bold, mut out) = (style(ID), String::new());
        let _ = write!(out, "{bold}{}{bold:#}", self.prompt());
        let _ = match (&self.only_in, &self.first_difference) {
            (Some(file), _) => writeln!(out, ": only in {}", drawn(file)),
            (None, _) if self.equal => writeln!(out, ": equal"),
            (None, None) => writeln!(out, ": an error in place of an answer"),
            (None, Some(difference)) => {
                let before = self.before.as_deref().unwrap_or_default();
                let after = if before.is_empty() { String::new() } else { format!(", after \"{}\"", drawn(before)) };
                match difference {
                    FirstDifference::Token(index) => writeln!(out, ": differs at token {index}{after}"),
                    FirstDifference::Byte { byte } => writeln!(out, ": differs at byte {byte}{after}"),
                }
            }
        };
        let width = names.iter().map(|name| drawn(name).chars().count()).max().unwrap_or_default();
        for ((answer, name), difference) in [&self.a, &self.b].into_iter().zip(names).zip(DIFFERENCE) {
            let Some(answer) = answer else { continue };
            let (mark, rest) = answer.split();
            let mark = drawn(&mark);
            let mark = match mark.is_empty() {
                true => mark,
                false if colour => format!("{difference}{mark}{difference:#}"),
                false => format!("[{mark}]"),
            };
            let faint = style(FAINT);
            let _ =
                writeln!(out, "  {:<width$}  {mark}{}  {faint}{}{faint:#}", drawn(name), drawn(&rest), answer.end());
        }
        out
    }

    /// Which prompt: its id, and the repeat, turn and choice if there are any.
    fn prompt(&self) -> String {
        let of = [("repeat", self.repeat), ("turn", self.turn), ("choice", self.choice)];
        let of = of.into_iter().filter_map(|(what, number)| Some(format!(", {what} {}", number?)));
        drawn(self.id.get().trim_matches('"')) + &of.collect::<String>()
    }
}

impl DifferingAnswer {
    /// The token at the difference, and the text after it. Of text alone, the first character.
    fn split(&self) -> (String, String) {
        match &self.token {
            Some(token) => {
                let rest = self.text.strip_prefix(token.as_str()).unwrap_or(&self.text);
                (token.clone(), rest.to_owned())
            }
            None => {
                let mut rest = self.text.chars();
                (rest.by_ref().take(1).collect(), rest.collect())
            }
        }
    }

    /// Why the answer ends.
    fn end(&self) -> String {
        let reason = self.finish_reason.as_deref().unwrap_or("unknown end");
        match (&self.error, &self.stop) {
            (Some(error), _) => format!("error {}", drawn(error.get())),
            (None, Some(Stop::Token { token_id, token, .. })) => {
                let token = token.as_deref().map_or_else(|| token_id.to_string(), drawn);
                format!("{reason} at {token}")
            }
            (None, Some(Stop::String { string })) => format!("{reason} at {string:?}"),
            (None, None) => drawn(reason),
        }
    }
}
