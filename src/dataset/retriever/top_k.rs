//! Examples that another program has found, for example by embeddings.

use std::fs::File;
use std::io::BufRead as _;
use std::io::{BufReader, Lines};
use std::path::Path;

use crate::dataset::retriever::{Examples, Retriever};
use crate::error::{At, ErrorKind, Result, counted};

/// The first numbers of each line of a file of JSON lists, one line for each row.
pub(crate) struct TopK {
    lines: Lines<BufReader<File>>,
    name: String,
    k: usize,
}

impl TopK {
    pub(crate) fn open(path: &Path, k: usize) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).at(&name)?;
        Ok(Self { lines: BufReader::new(file).lines(), name, k })
    }
}

impl Retriever for TopK {
    fn retrieve(&mut self, index: usize) -> Result<Examples> {
        let place = format!("{}: line {}", self.name, index + 1);
        let line = self.lines.next().ok_or_else(|| {
            ErrorKind::Template("there is no line for this row; the file needs one for each row of the test set".into())
        });
        let line = line.at(&place)?.at(&place)?;
        let mut ids: Vec<i64> =
            serde_json::from_str(&line).map_err(|error| crate::wording::in_line(&error)).at(&place)?;
        if ids.len() < self.k {
            let message = format!("{} wanted, and the line has {}", counted(self.k, "example"), ids.len());
            return Err(ErrorKind::Template(message)).at(place);
        }
        ids.truncate(self.k);
        Ok(ids.into())
    }
}
