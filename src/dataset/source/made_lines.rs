//! JSON lines that are made one by one of rows in another format.

use std::io::{self, BufRead, Read};

use crate::dataset::rows::Row;

pub(crate) type Reader = Box<dyn BufRead + Send>;

/// Lines that are made one by one.
struct Made<F> {
    /// Appends a line, or nothing at the end.
    next: F,
    line: Vec<u8>,
    at: usize,
}

/// Reads what `next` appends, until it appends nothing.
pub(crate) fn made<F: FnMut(&mut Vec<u8>) -> io::Result<()> + Send + 'static>(next: F) -> Reader {
    Box::new(Made { next, line: Vec::new(), at: 0 })
}

impl<F: FnMut(&mut Vec<u8>) -> io::Result<()>> BufRead for Made<F> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.line.len() {
            self.line.clear();
            self.at = 0;
            (self.next)(&mut self.line)?;
        }
        Ok(&self.line[self.at..])
    }

    fn consume(&mut self, read: usize) {
        self.at += read;
    }
}

impl<F: FnMut(&mut Vec<u8>) -> io::Result<()>> Read for Made<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

/// Rows as JSON lines.
pub(crate) fn json_lines(rows: Vec<Row>) -> Reader {
    let mut rows = rows.into_iter();
    made(move |line| {
        let Some(row) = rows.next() else { return Ok(()) };
        serde_json::to_writer(&mut *line, &row)?;
        line.push(b'\n');
        Ok(())
    })
}

/// Appends a JSON object of columns that are written one by one, in their order.
pub(crate) fn write_object<'n, T>(
    columns: impl IntoIterator<Item = (&'n str, T)>,
    mut write: impl FnMut(T, &mut Vec<u8>) -> io::Result<()>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut separator = b'{';
    for (name, value) in columns {
        out.push(separator);
        serde_json::to_writer(&mut *out, name)?;
        out.push(b':');
        write(value, out)?;
        separator = b',';
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
    Ok(())
}
