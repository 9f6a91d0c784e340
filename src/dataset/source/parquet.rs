//! Parquet files, the hub's format for datasets, with the feature `parquet`.

use std::fs::File;

use crate::dataset::source::TableRows;
use crate::error::Result;

#[cfg(not(feature = "parquet"))]
pub(super) fn open(_: File) -> Result<TableRows> {
    use crate::error::ErrorKind;

    let way_out = "build it with the cargo feature `parquet`, or convert the file to JSON lines";
    Err(ErrorKind::MissingFeature { what: "Parquet", feature: "parquet" }.with_way_out(way_out))
}

#[cfg(feature = "parquet")]
pub(super) fn open(file: File) -> Result<TableRows> {
    use parquet::file::reader::SerializedFileReader;
    use std::io;

    use crate::dataset::source::parquet_row;
    use crate::error::ErrorKind;
    use crate::panics::caught;

    let parse = |error: parquet::errors::ParquetError| ErrorKind::Parse(error.to_string());
    let opened =
        caught(|| SerializedFileReader::new(file).map(|file| (parquet_row::may_be_deep(&file), file.into_iter())));
    let (may_be_deep, mut rows) = opened.map_err(ErrorKind::Parse)?.map_err(parse)?;
    let mut next = move || rows.next().map(|row| Ok(parquet_row::row(row.map_err(io::Error::other)?, may_be_deep)));
    Ok(Box::new(std::iter::from_fn(move || {
        caught(&mut next).unwrap_or_else(|panicked| Some(Err(io::Error::other(panicked))))
    })))
}
