//! The head of a request over HTTP, for servers of tests.

use std::io::{BufRead, Result};

/// The first line of a request, and its headers.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Reads the next one; none at the end of the connection.
    pub(crate) fn read(reader: &mut impl BufRead) -> Result<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut head = Self { method, path, ..Self::default() };
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else { return Ok(Some(head)) };
            head.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }
}
