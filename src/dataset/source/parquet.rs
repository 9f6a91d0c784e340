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
pub(super) fn open(mut file: File) -> Result<TableRows> {
    use std::collections::HashSet;
    use std::io;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::reader::RowIter;

    use crate::dataset::source::parquet_depth;
    use crate::dataset::source::parquet_meaning::Meaning;
    use crate::dataset::source::parquet_raw::RawFile;
    use crate::dataset::source::parquet_row;
    use crate::error::ErrorKind;
    use crate::panics::caught;

    parquet_depth::check(&mut file)?;
    let open = || -> Result<_> {
        let file = SerializedFileReader::new(file).map_err(|error| ErrorKind::Parse(error.to_string()))?;
        let schema = file.metadata().file_metadata().schema();
        let meaning = Meaning::of_schema(schema)?;
        let mut seen = HashSet::new();
        if let Some(field) = schema.get_fields().iter().find(|field| !seen.insert(field.name())) {
            return Err(ErrorKind::Parse(format!("two columns are named {:?}", field.name()))
                .with_way_out("rename one of them"));
        }
        let may_be_deep = meaning.has_json() || parquet_row::may_be_deep(&file);
        Ok((meaning, may_be_deep, RowIter::from_file_into(Box::new(RawFile(file)))))
    };
    let (meaning, may_be_deep, mut rows) = caught(open).map_err(ErrorKind::Parse)??;
    let row = move |row| parquet_row::row(row, &meaning, may_be_deep);
    let mut next = move || rows.next().map(|next| Ok(row(next.map_err(io::Error::other)?)));
    Ok(Box::new(move |_| caught(&mut next).unwrap_or_else(|panicked| Some(Err(io::Error::other(panicked))))))
}
