//! Parquet files. Input: the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use metatok::Row;

fuzz_target!(|input: &[u8]| {
    let Ok(rows) = metatok::fuzzing::records("a.parquet", input, true) else { return };
    for row in rows {
        Row::from_json(&row).expect("what is read is a row");
    }
});
