//! A file that is opened when it is first read: a process cannot have thousands of them open at once.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

/// A file, which is not open yet.
pub(super) struct Later {
    path: PathBuf,
    capacity: usize,
    reader: Option<BufReader<File>>,
}

impl Later {
    /// The file at this path, with a buffer of this many bytes.
    pub(super) fn new(path: PathBuf, capacity: usize) -> Self {
        Self { path, capacity, reader: None }
    }

    fn reader(&mut self) -> io::Result<&mut BufReader<File>> {
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => BufReader::with_capacity(self.capacity, File::open(&self.path)?),
        };
        Ok(self.reader.insert(reader))
    }
}

impl Read for Later {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader()?.read(buffer)
    }
}

impl BufRead for Later {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader()?.fill_buf()
    }

    fn consume(&mut self, read: usize) {
        if let Some(reader) = &mut self.reader {
            reader.consume(read);
        }
    }
}
