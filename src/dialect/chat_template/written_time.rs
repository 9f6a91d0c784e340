//! How much of the time a chat template writes: the day alone, or more.

use std::ops::Range;

use jiff::{Timestamp, ZonedDateTime};

use crate::dialect::chat_template::code::{Code, codes};
use crate::dialect::chat_template::environment::TELLS_TIME;
use crate::dialect::chat_template::escapes::unescaped;

/// The directives of `strftime` that give the same text all day.
const OF_DAYS: &str = "aAbBCdDeFgGhjmuUVwWxyY";

/// Whether each call that tells the time has a format of days, which stands in the code.
pub(super) fn tells_days_alone(source: &str) -> bool {
    let is_told = |code: &Code<'_>, at: usize| {
        let format = code.text(at + 2).filter(|_| code.is(at + 1, '(') && code.is(at + 3, ')'));
        let is_test = code.word(at + 1) == Some("is");
        is_test || format.and_then(unescaped).is_some_and(|format| is_of_days(&format))
    };
    let is_time = |code: &Code<'_>, at: usize| code.word(at) == Some(TELLS_TIME);
    codes(source).all(|code| code.places().filter(|at| is_time(&code, *at)).all(|at| is_told(&code, at)))
}

fn is_of_days(format: &str) -> bool {
    let mut directives = format.split('%').skip(1);
    // `%%` is a sign alone, after which the next part is text.
    while let Some(part) = directives.next() {
        let first = part.trim_start_matches('-').chars().next();
        match first {
            Some(directive) if OF_DAYS.contains(directive) => {}
            Some(_) => return false,
            None if part.is_empty() && directives.next().is_some() => {}
            None => return false,
        }
    }
    true
}

/// A day in local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Day(Range<Timestamp>);

impl Day {
    /// This one, if the system knows it.
    pub(crate) fn today() -> Option<Self> {
        let now = ZonedDateTime::now();
        let (start, end) = (now.start_of_day().ok()?, now.tomorrow().ok()?.start_of_day().ok()?);
        Some(Self(start.timestamp()..end.timestamp()))
    }

    #[cfg(test)]
    pub(crate) fn long_ago() -> Self {
        Self(Timestamp::UNIX_EPOCH..Timestamp::UNIX_EPOCH)
    }

    /// Whether it is that day now.
    pub(crate) fn is_now(&self) -> bool {
        self.0.contains(&Timestamp::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_days_are_told_from_others() {
        for (code, is_day) in [
            ("strftime_now('%d %b %Y')", true),
            ("strftime_now(\"%Y-%m-%d\") if strftime_now is defined else '%H'", true),
            ("strftime_now('%A, %-d %B %Y')", true),
            ("strftime_now('100%%H: %j')", true),
            ("strftime_now('')", true),
            ("messages", true),
            ("strftime_now('%H:%M')", false),
            ("strftime_now('%%%H')", false),
            ("strftime_now('%d %')", false),
            ("strftime_now('%-')", false),
            ("strftime_now('%d \\x25H')", false),
            ("strftime_now('%c')", false),
            ("strftime_now('%d', '%H')", false),
            ("strftime_now('%' ~ 'H')", false),
            ("strftime_now(format)", false),
            ("[strftime_now][0]('%H')", false),
            ("'%H'|map('strftime_now')", true),
        ] {
            assert_eq!(tells_days_alone(&format!("{{{{ {code} }}}}")), is_day, "{code}");
        }
        assert!(!tells_days_alone("{% set tell = strftime_now %}{{ tell('%H') }}"));
    }

    #[test]
    fn today_is_a_day() {
        let today = Day::today().expect("the system has a clock");
        assert!(today.is_now() || Day::today() != Some(today));
        assert!(!Day::long_ago().is_now());
    }
}
