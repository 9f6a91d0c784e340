//! Lines that each end with the checksum of everything so far, so that only what was written is accepted: no line that
//! was changed, repeated, moved, inserted or removed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};

use sha2::{Digest, Sha256};

use crate::digest::hex;

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct Chain(Sha256);

impl Chain {
    /// Adds a line, which contains no line end. Returns it as written to the file.
    pub(super) fn link(&mut self, line: &str) -> String {
        self.0.update(line);
        self.0.update("\n");
        format!("{line}\t{}\n", self.checksum())
    }

    /// Two chains with the same checksum have the same lines.
    pub(super) fn checksum(&self) -> String {
        hex(self.0.clone())
    }
}

/// What comes next in a file.
pub(super) enum Line<'l> {
    /// The next line, without its checksum.
    Whole(&'l str),
    /// Something other than what was written.
    Damaged,
    /// Nothing, or a line without an end, which was being written.
    End,
}

/// Reads a file from its beginning.
pub(super) struct Lines {
    reader: BufReader<File>,
    line: Vec<u8>,
    /// The lines that were read.
    pub(super) chain: Chain,
    /// Where these end, in bytes.
    pub(super) end: u64,
}

impl Lines {
    pub(super) fn of(mut file: File) -> io::Result<Self> {
        file.rewind()?;
        Ok(Self { reader: BufReader::new(file), line: Vec::new(), chain: Chain::default(), end: 0 })
    }

    /// What comes next, up to a few thousand bytes.
    pub(super) fn ahead(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    pub(super) fn next(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        let read = self.reader.read_until(b'\n', &mut self.line)? as u64;
        if !self.line.ends_with(b"\n") {
            return Ok(Line::End);
        }
        let text = std::str::from_utf8(&self.line).ok();
        let Some((line, _)) = text.and_then(|text| text.rsplit_once('\t')) else { return Ok(Line::Damaged) };
        if self.chain.link(line).as_bytes() != self.line {
            return Ok(Line::Damaged);
        }
        self.end += read;
        Ok(Line::Whole(line))
    }
}
