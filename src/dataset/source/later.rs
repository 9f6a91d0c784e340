//! A reader that is opened when it is first read.

use std::io::{self, BufRead, Read};

type Reader = Box<dyn BufRead + Send>;

/// A reader, or how to open it.
pub(super) enum Later {
    Closed(Option<Box<dyn FnOnce() -> io::Result<Reader> + Send>>),
    Open(Reader),
}

impl Later {
    pub(super) fn new(open: impl FnOnce() -> io::Result<Reader> + Send + 'static) -> Self {
        Self::Closed(Some(Box::new(open)))
    }

    fn reader(&mut self) -> io::Result<&mut Reader> {
        if let Self::Closed(open) = self {
            let open = open.take().ok_or_else(|| io::Error::other("reading failed before"))?;
            *self = Self::Open(open()?);
        }
        match self {
            Self::Open(reader) => Ok(reader),
            Self::Closed(_) => Err(io::Error::other("reading failed before")),
        }
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
        if let Self::Open(reader) = self {
            reader.consume(read);
        }
    }
}
