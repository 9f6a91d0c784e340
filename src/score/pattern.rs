//! The part of a text that a regular expression finds.

use regex::Regex;

use crate::error::{ErrorKind, Result};

/// Which of several matches counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
}

/// A regular expression: it finds its first group that takes part in a match, or without groups the whole match.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    which: Which,
}

impl Pattern {
    /// Compiles it. The syntax is that of the crate `regex`, which takes linear time.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] with what is wrong.
    pub fn new(regex: &str, which: Which) -> Result<Self> {
        let regex = Regex::new(regex).map_err(|error| {
            let error = error.to_string();
            // A drawing of several lines comes before it.
            let what = error.rsplit_once("error: ").map_or(&*error, |(_, what)| what);
            ErrorKind::Parse(format!("{regex:?} is not a regular expression: {what}"))
        })?;
        Ok(Self { regex, which })
    }

    /// The text that it finds.
    ///
    /// ```
    /// use metatok::score::{Pattern, Which};
    ///
    /// let number = r"(\d+) dollars|#### (\d+)";
    /// let text = "5 dollars and 6 dollars\n#### 11";
    /// assert_eq!(Pattern::new(number, Which::First)?.find(text), Some("5"));
    /// assert_eq!(Pattern::new(number, Which::Last)?.find(text), Some("11"));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut matches = self.regex.captures_iter(text);
        let captures = match self.which {
            Which::First => matches.next(),
            Which::Last => matches.last(),
        }?;
        let group = captures.iter().skip(1).flatten().next().or(captures.get(0))?;
        Some(group.as_str())
    }
}
