//! Parquet files, as the hub has its datasets. Behind the feature `parquet`.

use std::fs::File;
use std::io::BufRead;

use crate::error::Result;

#[cfg(not(feature = "parquet"))]
pub(super) fn open(_: File) -> Result<Box<dyn BufRead + Send>> {
    use crate::error::ErrorKind;

    let way_out = "build it with the cargo feature `parquet`, or convert the file to JSON lines";
    Err(ErrorKind::MissingFeature { what: "Parquet", feature: "parquet" }.with_way_out(way_out))
}

#[cfg(feature = "parquet")]
pub(super) fn open(file: File) -> Result<Box<dyn BufRead + Send>> {
    use parquet::file::reader::SerializedFileReader;
    use std::io;

    use crate::dataset::source::{made, write_object};
    use crate::error::ErrorKind;
    use crate::panics::caught;

    let parse = |error: parquet::errors::ParquetError| ErrorKind::Parse(error.to_string());
    let opened = caught(|| SerializedFileReader::new(file).map(IntoIterator::into_iter));
    let mut rows = opened.map_err(ErrorKind::Parse)?.map_err(parse)?;
    let mut next = move |line: &mut Vec<u8>| -> io::Result<()> {
        let Some(row) = rows.next() else { return Ok(()) };
        let row = row.map_err(io::Error::other)?;
        write_object(row.get_column_iter().map(|(name, value)| (name.as_str(), value)), nested::write, line)?;
        line.push(b'\n');
        Ok(())
    };
    Ok(made(move |line| caught(|| next(line)).unwrap_or_else(|panicked| Err(io::Error::other(panicked)))))
}

/// Values, of which dicts keep the order of their keys.
#[cfg(feature = "parquet")]
mod nested {
    use std::io;

    use parquet::record::Field;

    use crate::dataset::source::write_object;

    pub(super) fn write(field: &Field, out: &mut Vec<u8>) -> io::Result<()> {
        match field {
            Field::Group(row) => {
                write_object(row.get_column_iter().map(|(name, value)| (name.as_str(), value)), write, out)
            }
            Field::ListInternal(list) => {
                out.push(b'[');
                for (i, item) in list.elements().iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    write(item, out)?;
                }
                out.push(b']');
                Ok(())
            }
            other => Ok(serde_json::to_writer(out, &other.to_json_value())?),
        }
    }
}
