//! Examples that another program has found, for example by embeddings.

use std::fs::File;
use std::io::BufRead as _;
use std::io::{BufReader, Lines};
use std::path::Path;

use crate::dataset::retriever::{Examples, Retriever};
use crate::error::{At, ErrorKind, Place, Result, counted};

/// The first numbers of each line of a file of JSON lists, one line for each row.
pub(crate) struct TopK {
    lines: Lines<BufReader<File>>,
    name: String,
    k: usize,
}

impl TopK {
    pub(crate) fn open(path: &Path, k: usize) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).at(Place::file(&name))?;
        Ok(Self { lines: BufReader::new(file).lines(), name, k })
    }
}

impl Retriever for TopK {
    fn retrieve(&mut self, index: usize) -> Result<Examples> {
        let ids = self.next();
        ids.map_err(|error| error.at(Place::line(index as u64 + 1)).at(Place::file(&self.name)))
    }
}

impl TopK {
    fn next(&mut self) -> Result<Examples> {
        let line = self.lines.next().ok_or_else(|| {
            ErrorKind::Row("the neighbours file has no line for this row".into())
                .with_way_out("the file needs one for each row of the test set")
        })??;
        let mut ids: Vec<i64> = serde_json::from_str(&line).map_err(|error| crate::wording::in_line(&error))?;
        if ids.len() < self.k {
            let message = format!("{} wanted, but the line has {}", counted(self.k, "example"), ids.len());
            return Err(ErrorKind::Row(message).into());
        }
        ids.truncate(self.k);
        Ok(ids.into())
    }
}
