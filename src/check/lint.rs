//! A lint: something that can be wrong, and the function that finds it.

use crate::check::finding::{Finding, Level};
use crate::check::subject::Subject;
use crate::error::{Place, Result, WayOut};

/// Something that can be wrong, and how it is found.
#[derive(Debug)]
pub struct Lint {
    /// The stable code, such as `double-bos`.
    pub code: &'static str,
    /// How severe it is.
    pub level: Level,
    /// What is wrong, in a sentence.
    pub about: &'static str,
    /// Why that matters, and what to do about it.
    pub why: &'static str,
    pub(crate) find: fn(&Subject, &mut Findings) -> Result<()>,
}

/// Collects what one lint finds.
pub(crate) struct Findings {
    code: &'static str,
    /// How severe the next finding is.
    pub(crate) level: Level,
    found: Vec<Finding>,
}

impl Findings {
    /// What a lint finds.
    pub(crate) fn of(lint: &Lint, subject: &Subject) -> Result<Vec<Finding>> {
        let mut findings = Self { code: lint.code, level: lint.level, found: Vec::new() };
        (lint.find)(subject, &mut findings)?;
        Ok(findings.found)
    }

    pub(crate) fn add(&mut self, place: impl Into<Place>, message: impl Into<String>, help: impl Into<WayOut>) {
        let finding = Finding {
            code: self.code,
            level: self.level,
            place: place.into(),
            message: message.into(),
            help: help.into(),
        };
        // Two prompts may have the same problem.
        if !self.found.contains(&finding) {
            self.found.push(finding);
        }
    }

    /// Adds how many more rows have a problem than are listed: what one does, and what several do.
    pub(crate) fn add_rest(&mut self, rest: usize, [one, several]: [&str; 2], help: impl Into<WayOut>) {
        match rest {
            0 => {}
            1 => self.add("rows", format!("1 more row {one}"), help),
            rest => self.add("rows", format!("{rest} more rows {several}"), help),
        }
    }
}
