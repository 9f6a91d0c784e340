//! Examples that another program has found, for example by embeddings.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::dataset::retriever::{Examples, Retriever};
use crate::dataset::source::{Line, Lines};
use crate::error::{At, ErrorKind, Place, Result, counted};

/// A longer line is an error, so that a file without line ends does not fill the memory.
const LONGEST_LINE: usize = 64 << 20;

/// The first numbers of each line of a file of JSON lists, one line for each row of the rows' file.
pub(crate) struct TopK {
    lines: Lines<BufReader<File>>,
    bytes: Vec<u8>,
    name: String,
    k: usize,
    /// How many lines were read.
    read: usize,
    /// The lists of the first rows, if rows may be asked in any order and more than once.
    kept: Vec<Vec<i64>>,
}

impl TopK {
    pub(crate) fn open(path: &Path, k: usize) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).at(Place::file(&name))?;
        let lines = Lines::new(BufReader::new(file), "line", LONGEST_LINE);
        Ok(Self { lines, bytes: Vec::new(), name, k, read: 0, kept: Vec::new() })
    }
}

impl Retriever for TopK {
    fn retrieve(&mut self, _: usize) -> Result<Examples> {
        let ids = self.next_list().at(Place::file(&self.name))?;
        Ok(ids.into())
    }

    fn retrieve_picked(&mut self, _: usize, row: usize) -> Result<Examples> {
        while self.kept.len() <= row {
            let ids = self.next_list().at(Place::file(&self.name))?;
            self.kept.push(ids);
        }
        Ok(self.kept[row].clone().into())
    }
}

/// What the file must have.
const ONE_FOR_EACH: &str = "the file needs one line for each row of the rows' file, in its order";

impl TopK {
    fn next_line(&mut self) -> Result<Option<Line>> {
        self.bytes.clear();
        let line = self.lines.next_into(&mut self.bytes)?;
        self.read += usize::from(line.is_some());
        Ok(line)
    }

    fn next_list(&mut self) -> Result<Vec<i64>> {
        let line = self.next_line()?.ok_or_else(|| {
            ErrorKind::Row("the neighbours file has no line for this row".into()).with_way_out(ONE_FOR_EACH)
        })?;
        let number = self.read as u64;
        if line.number != number {
            let what = "the neighbours file has a blank line, so that its lines are not those of the rows";
            return Err(ErrorKind::Row(what.into())).at(Place::line(number));
        }
        self.ids(&line).at(&line)
    }

    fn ids(&self, line: &Line) -> Result<Vec<i64>> {
        let text = line.text(&self.bytes, LONGEST_LINE)?;
        let mut ids: Vec<i64> = serde_json::from_str(text).map_err(|error| crate::wording::in_line(&error))?;
        if ids.len() < self.k {
            let message = format!("{} wanted, but the line has {}", counted(self.k, "example"), ids.len());
            return Err(ErrorKind::Row(message).into());
        }
        ids.truncate(self.k);
        if let Some(id) = ids.iter().find(|id| **id < 0) {
            let what = format!(
                "{id} is no row of the training set, whose rows count from 0; FAISS writes -1 for a neighbour that it did not find"
            );
            let way_out = format!("list {} for each row, or lower ice_num", counted(self.k, "neighbour"));
            return Err(ErrorKind::Row(what).with_way_out(way_out));
        }
        Ok(ids)
    }
}
