//! Detects the layout of a file from its beginning: lines, values over several lines, or lists of records.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::value::RawValue;

use crate::dataset::source::{Scan, fill};
use crate::error::Result;
use crate::file_kind::BOM;

/// The kind of records in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Conversations. A list may be one.
    Conversations,
    /// Records that are objects. Items of a list that are not are wrong ones.
    Records,
    /// Rows, which are objects.
    Rows,
    /// Only lines.
    Lines,
}

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileLayout {
    Lines,
    /// Values one after the other, each over several lines, or several on a line.
    Values,
    /// The items of lists.
    Items,
    /// A list over several lines that begins with a string.
    Strings,
}

/// Detects the layout of a file. What it reads is in `head`: at most the first value of a line.
pub(super) fn layout<R: BufRead>(
    reader: &mut R,
    head: &mut Vec<u8>,
    holds: Holds,
    longest: usize,
) -> Result<FileLayout> {
    let mut ahead = Ahead { reader, head, longest };
    let Some(start) = ahead.skip_space(0)? else { return Ok(FileLayout::Lines) };
    match ahead.head[start] {
        b'{' => {
            let is_line = ahead.is_one_line(start)? && !ahead.is_joined(start)?;
            Ok(if is_line { FileLayout::Lines } else { FileLayout::Values })
        }
        b'[' => {
            let Some(first) = ahead.skip_space(start + 1)? else { return Ok(FileLayout::Lines) };
            let mut scan = Scan::default();
            let Some(end) = ahead.end(first, &mut scan, false)? else {
                // The file breaks off within its first record.
                let is_alone = ahead.head[start..first].contains(&b'\n');
                let is_broken_list = is_alone && ahead.head[first] == b'{' && !ahead.is_one_line(start)?;
                return Ok(if is_broken_list { FileLayout::Items } else { FileLayout::Lines });
            };
            let first = &ahead.head[first..end];
            let is_record = match (holds, first.first()) {
                (Holds::Conversations, Some(b'{')) => !is_part(first),
                (Holds::Conversations | Holds::Records, Some(b'[')) | (_, Some(b'{')) => true,
                _ => false,
            };
            let is_string = first.first() == Some(&b'"');
            if is_record {
                Ok(FileLayout::Items)
            } else if ahead.is_one_line(start)? {
                Ok(FileLayout::Lines)
            } else if is_string {
                Ok(FileLayout::Strings)
            } else {
                Ok(FileLayout::Values)
            }
        }
        _ => Ok(FileLayout::Lines),
    }
}

/// Reads ahead.
struct Ahead<'a, R> {
    reader: &'a mut R,
    head: &'a mut Vec<u8>,
    longest: usize,
}

impl<R: BufRead> Ahead<'_, R> {
    /// Reads more. Returns whether there was more.
    fn more(&mut self) -> Result<bool> {
        // A byte order mark is no part of the value.
        if self.head.len() > self.longest.saturating_add(BOM.len()) {
            return Ok(false);
        }
        let available = fill(self.reader)?;
        let read = available.len();
        self.head.extend_from_slice(available);
        self.reader.consume(read);
        Ok(read > 0)
    }

    /// The position of the next byte that is not white space, after a byte order mark at the beginning.
    fn skip_space(&mut self, mut at: usize) -> Result<Option<usize>> {
        loop {
            if at == 0 && self.head.starts_with(&BOM[..1]) {
                while self.head.len() < BOM.len() && self.more()? {}
                at = if self.head.starts_with(BOM) { BOM.len() } else { 0 };
            }
            match self.head[at.min(self.head.len())..].iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(found) => return Ok(Some(at + found)),
                None => {
                    at = at.max(self.head.len());
                    if !self.more()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The position after the value that begins at `start`; none if it does not end, or, if it must be on one line,
    /// does not end on that line.
    fn end(&mut self, start: usize, scan: &mut Scan, on_one_line: bool) -> Result<Option<usize>> {
        let mut at = start;
        loop {
            let rest = &self.head[at..];
            let line = memchr::memchr(b'\n', rest).filter(|_| on_one_line);
            if let Some(end) = scan.end(&rest[..line.unwrap_or(rest.len())]) {
                return Ok(Some(at + end));
            }
            at = self.head.len();
            if line.is_some() || !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Whether an object follows the value that begins at `start` on its line: servers end their answers without a line end.
    /// Read as values, a line of many answers is never in memory as a whole.
    fn is_joined(&mut self, start: usize) -> Result<bool> {
        let Some(mut at) = self.end(start, &mut Scan::default(), true)? else { return Ok(false) };
        loop {
            match self.head.get(at).copied() {
                Some(b' ' | b'\t') => at += 1,
                Some(next) => return Ok(next == b'{'),
                None if self.more()? => {}
                None => return Ok(false),
            }
        }
    }

    /// Whether the value that begins at `start` is meant to be on one line: it is, or its line is cut off. A line is
    /// cut off if it ends within a string, or if the next line is a whole value.
    fn is_one_line(&mut self, start: usize) -> Result<bool> {
        let mut scan = Scan::default();
        if self.end(start, &mut scan, true)?.is_some() || scan.is_in_text() {
            return Ok(true);
        }
        let Some(line) = memchr::memchr(b'\n', &self.head[start..]) else { return Ok(true) };
        let Some(next) = self.skip_space(start + line + 1)? else { return Ok(true) };
        if !matches!(self.head[next], b'{' | b'[') {
            return Ok(false);
        }
        let Some(end) = self.end(next, &mut Scan::default(), true)? else { return Ok(false) };
        while !self.head[end..].contains(&b'\n') && self.more()? {}
        let rest = self.head[end..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(rest.iter().all(u8::is_ascii_whitespace))
    }
}

/// An OpenAI-style message, whatever other keys it has.
const MESSAGE: [&[&str]; 1] = [&["role", "content"]];

/// What makes an object a part of a conversation: a message, which may have its role alone, a marker of a prompt list, or a
/// turn of ShareGPT.
const PARTS: [&[&str]; 3] = [&["role"], &["section", "pos"], &["from", "value"]];

/// What makes it a whole one, even if there is a column with a name like that.
const WHOLES: &[&[&str]] = &[
    &["text"],
    &["messages"],
    &["conversations"],
    &["conversation"],
    &["instruction", "input"],
    &["instruction", "output"],
    &["prompt", "completion"],
    &["prompt", "response"],
    &["chosen", "rejected"],
];

/// The keys of wholes that are no messages: the other keys by which formats are found (`records/input_format.rs`).
const OTHER_WHOLES: &[&[&str]] = &[
    &["body", "custom_id"],
    &["body", "method"],
    &["body", "url"],
    &["input", "instructions"],
    &["query", "response"],
    &["query", "history"],
    &["question", "response"],
    &["chosen_messages", "rejected_messages"],
    &["preferred_output", "non_preferred_output"],
];

/// Whether an object is a part of a conversation rather than a whole one.
fn is_part(object: &[u8]) -> bool {
    let Ok(keys) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(object) else { return false };
    let has = |all: &&[&str]| all.iter().all(|key| keys.contains_key(*key));
    let lists_texts =
        |value: &&RawValue| value.get().strip_prefix('[').is_some_and(|list| !list.trim_start().starts_with('{'));
    let is_ultrachat = || keys.get("data").is_some_and(lists_texts);
    let is_other = || !MESSAGE.iter().any(has) && (OTHER_WHOLES.iter().any(has) || is_ultrachat());
    PARTS.iter().any(has) && !WHOLES.iter().any(has) && !is_other()
}
