//! CSV and TSV files: the first record names the columns unless the caller does, and every value is a string.

use std::collections::HashSet;
use std::io::{self, BufRead};
use std::str::FromStr;

use csv::{ByteRecord, QuoteStyle};

use crate::dataset::rows::{Row, Value};
use crate::dataset::source::csv_records::{CsvRecords, Found};
use crate::dataset::source::{BadRow, TableRows, Wrong};
use crate::error::{Error, ErrorKind, Result, Setting, WayOut, by_name, way_out};
use crate::wording::and_more;

/// What a CSV or TSV file does not say of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// The names of its columns, if its first record does not name them.
    pub columns: Option<Vec<String>>,
    /// What quotes are. By default they enclose fields, and a record of a TSV file that looks otherwise is rejected.
    pub quotes: Option<Quotes>,
}

/// What the quotes of a CSV or TSV file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// They enclose fields, which may have delimiters and several lines.
    Fields,
    /// They are text, as in the TSV files of GLUE.
    Text,
}

impl Quotes {
    /// The name of the option's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fields => "fields",
            Self::Text => "text",
        }
    }
}

impl FromStr for Quotes {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        by_name("use of quotes", name, [Self::Fields, Self::Text].map(|quotes| (quotes.name(), quotes)))
    }
}

pub(super) fn open(file: Box<dyn BufRead + Send>, options: &CsvOptions) -> Result<TableRows> {
    read(file, b',', options)
}

pub(super) fn open_tabs(file: Box<dyn BufRead + Send>, options: &CsvOptions) -> Result<TableRows> {
    read(file, b'\t', options)
}

/// A record after the last one of a file, which a quote that nothing closes takes into its field.
const END: &str = "\u{4}metatok: the end of the file\u{4}";
const BEHIND: &str = "\n\u{4}metatok: the end of the file\u{4}\n";

/// How many bytes the names of the columns may have together.
const LONGEST_NAMES: usize = 1 << 20;

fn read(file: Box<dyn BufRead + Send>, delimiter: u8, options: &CsvOptions) -> Result<TableRows> {
    let CsvOptions { columns, quotes } = options;
    let form = Form { delimiter, quotes: *quotes };
    let file = io::Read::chain(file, BEHIND.as_bytes());
    let mut records = CsvRecords::new(file, delimiter, *quotes != Some(Quotes::Text));
    let mut record = ByteRecord::new();
    let names = match columns {
        Some(columns) => columns.clone(),
        None => match records.next(&mut record, LONGEST_NAMES)? {
            Found::End => Vec::new(),
            Found::Record if record == [END][..] => Vec::new(),
            Found::Record if is_not_closed(&record) => return Err(Error::from(not_closed())),
            Found::Record => names(&record)?,
            Found::TooLong => {
                let what = "the record with the names of the columns is too long; a quote may not be closed";
                return Err(ErrorKind::Parse(what.into()).with_way_out(quotes_are_text()));
            }
        },
    };
    if let [name] = &names[..]
        && let Some(other) = [';', '\t', '|'].into_iter().find(|other| name.contains(*other))
    {
        let what = format!("the only column is named {name:?}, so the delimiter seems to be {other:?}");
        return Err(ErrorKind::Parse(what).with_way_out("save the file with commas, or with tabs as .tsv"));
    }
    let mut seen = HashSet::new();
    // What has no name is not meant to be used.
    if let Some(name) = names.iter().find(|name| !name.is_empty() && !seen.insert(name.as_str())) {
        let what = format!("two columns are named {name:?}");
        return Err(ErrorKind::Parse(what).with_way_out("rename one of them in the first line of the file"));
    }
    let mut may_be_names = columns.is_some();
    Ok(Box::new(move |longest| match records.next(&mut record, longest) {
        Ok(Found::End) => None,
        Ok(Found::Record) if record == [END][..] => None,
        Ok(Found::TooLong) => Some(Ok(Err(BadRow::TooLong))),
        Ok(Found::Record) => {
            let row = match std::mem::take(&mut may_be_names) && record == names {
                true => Err(NAMES_TWICE.to_owned().into()),
                false => form.row(&record, &names),
            };
            Some(Ok(row.map_err(|wrong| BadRow::Wrong(wrong, written(&record, &form)))))
        }
        Err(error) => Some(Err(error)),
    }))
}

fn names(record: &ByteRecord) -> Result<Vec<String>> {
    let name = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_owned);
    record.iter().map(name).collect::<std::result::Result<_, _>>().map_err(|error| {
        match record.get(0).and_then(ErrorKind::other_encoding) {
            Some(other) => other.into(),
            None => ErrorKind::Parse(format!("the names of the columns are not UTF-8 ({error})")).with_way_out(CONVERT),
        }
    })
}

/// How a file is written.
struct Form {
    delimiter: u8,
    quotes: Option<Quotes>,
}

impl Form {
    /// The row of a record, or the error in it.
    fn row(&self, record: &ByteRecord, names: &[String]) -> std::result::Result<Row, Wrong> {
        if is_not_closed(record) {
            return Err(not_closed());
        }
        if record.iter().any(|field| self.looks_like_rows(field)) {
            let what = "a field between quotes has tabs and line ends, as if it were several records".to_owned();
            let way_out = quotes_are_text().and(", or else ").and(Setting::QUOTES.set_to(Quotes::Fields.name()));
            return Err(Wrong { what, way_out: Some(way_out) });
        }
        if record.len() != names.len() {
            return Err(other_length(record.len(), names).into());
        }
        let column = |(name, value): (&String, &[u8])| match std::str::from_utf8(value) {
            Ok(text) => Ok((name.clone(), Value::from(text))),
            Err(_) => Err(format!("column {name:?} is not UTF-8; {CONVERT}").into()),
        };
        names.iter().zip(record).map(column).collect::<std::result::Result<_, _>>().map(Row::new)
    }

    /// Whether a field may be several records between two quotes that are text, as nearly no field of TSV is otherwise.
    fn looks_like_rows(&self, field: &[u8]) -> bool {
        self.delimiter == b'\t' && self.quotes.is_none() && field.contains(&b'\n') && field.contains(&b'\t')
    }
}

/// What is wrong with a first record that has the names which were given.
const NAMES_TWICE: &str =
    "the first record has the names that were given for the columns; leave them out, because the file has its own";

/// What to do about text that is not UTF-8.
const CONVERT: &str =
    "convert the file first from its own encoding, for example with `iconv -f WINDOWS-1252 -t UTF-8` if it is Excel's";

/// Whether a quote has taken all that is left of the file.
fn is_not_closed(record: &ByteRecord) -> bool {
    record.iter().next_back().is_some_and(|last| last.ends_with(BEHIND.as_bytes()))
}

/// What is wrong with a last record that takes all that is left of a file.
fn not_closed() -> Wrong {
    let what = "a quote is not closed before the end of the file".to_owned();
    Wrong { what, way_out: Some(quotes_are_text()) }
}

/// What to do about a file in which quotes do not enclose fields.
fn quotes_are_text() -> WayOut {
    way_out!["if quotes are text in this file, set ", Setting::QUOTES.set_to(Quotes::Text.name())]
}

/// An error shows at most so many names of columns.
const MOST_NAMES: usize = 40;

fn other_length(found: usize, names: &[String]) -> String {
    let fields = if found == 1 { "1 field".to_owned() } else { format!("{found} fields") };
    let columns = if names.len() == 1 { "column is" } else { "columns are" };
    let some = names[..names.len().min(MOST_NAMES)].join(", ");
    let more = and_more(names.len().saturating_sub(MOST_NAMES));
    format!("the record has {fields}, and the {columns} {some}{more}: is a quote or a delimiter missing?")
}

/// A writer without any room would try for ever.
const LEAST_ROOM: usize = 1 << 10;

/// A record almost as it is written in the file.
fn written(record: &ByteRecord, form: &Form) -> Vec<u8> {
    // For a field that is longer than the writer's room, the rest of it is searched for quotes each time that the room is full.
    let room = record.as_slice().len().max(LEAST_ROOM);
    let style = if form.quotes == Some(Quotes::Text) { QuoteStyle::Never } else { QuoteStyle::Necessary };
    let mut writer = csv::WriterBuilder::new()
        .delimiter(form.delimiter)
        .quote_style(style)
        .flexible(true)
        .buffer_capacity(room)
        .from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_byte_record(record);
    let mut bytes = writer.into_inner().unwrap_or_default();
    bytes.pop();
    // What was read after the end, and the quote that the writer adds after it.
    if let Some(file) = bytes.strip_suffix(b"\"").and_then(|bytes| bytes.strip_suffix(BEHIND.as_bytes())) {
        return file.to_vec();
    }
    bytes
}
