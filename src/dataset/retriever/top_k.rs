//! Examples that another program has found, for example by embeddings.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::dataset::retriever::{Examples, Retriever};
use crate::dataset::source::{Line, Lines};
use crate::error::{At, ErrorKind, Place, Result, counted};

/// A longer line is an error, so that a file without line ends does not fill the memory.
const LONGEST_LINE: usize = 64 << 20;

/// The first numbers of each line of a file of JSON lists, one line for each row.
pub(crate) struct TopK {
    lines: Lines<BufReader<File>>,
    bytes: Vec<u8>,
    name: String,
    k: usize,
}

impl TopK {
    pub(crate) fn open(path: &Path, k: usize) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).at(Place::file(&name))?;
        let lines = Lines::new(BufReader::new(file), "line", LONGEST_LINE);
        Ok(Self { lines, bytes: Vec::new(), name, k })
    }
}

impl Retriever for TopK {
    fn retrieve(&mut self, index: usize) -> Result<Examples> {
        self.next(index).at(Place::file(&self.name))
    }
}

impl TopK {
    fn next(&mut self, index: usize) -> Result<Examples> {
        self.bytes.clear();
        let line = self.lines.next_into(&mut self.bytes)?.ok_or_else(|| {
            ErrorKind::Row("the neighbours file has no line for this row".into())
                .with_way_out("the file needs one for each row of the test set")
        })?;
        if line.number != index as u64 + 1 {
            let what = "the neighbours file has a blank line, so that its lines are not those of the rows";
            return Err(ErrorKind::Row(what.into())).at(Place::line(index as u64 + 1));
        }
        self.ids(&line).at(&line)
    }

    fn ids(&self, line: &Line) -> Result<Examples> {
        let text = line.text(&self.bytes, LONGEST_LINE)?;
        let mut ids: Vec<i64> = serde_json::from_str(text).map_err(|error| crate::wording::in_line(&error))?;
        if ids.len() < self.k {
            let message = format!("{} wanted, but the line has {}", counted(self.k, "example"), ids.len());
            return Err(ErrorKind::Row(message).into());
        }
        ids.truncate(self.k);
        Ok(ids.into())
    }
}
