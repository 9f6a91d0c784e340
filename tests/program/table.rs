//! Tables: what the libraries of their readers find in them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use metatok::{Conversation, PromptBuilder};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::program::METATOK;
use crate::python::read_by_python;

pub(crate) fn tests() -> Tests {
    tests![libraries_of_rust_read_them, they_say_what_they_were_built_with, pyarrow_reads_them]
}

const CHATS: &str = r#"{"id": "a", "messages": [{"role": "user", "content": "Hi!"}]}
{"id": 7, "messages": [{"role": "user", "content": "What is the Sun?"}]}
{"messages": [{"role": "user", "content": ""}]}
"#;

/// Builds a file in a folder.
fn build(folder: &Path, format: &str, input: &str) -> PathBuf {
    let (chats, output) = (folder.join("chats.jsonl"), folder.join(format!("built.{format}")));
    std::fs::write(&chats, input).expect("files can be written");
    let mut command = Command::new(METATOK);
    command
        .args(["build", "--model", "demo", "--quiet", "--max-out-len", "9", "--format", format])
        .arg("-o")
        .arg(&output)
        .arg(&chats);
    let ran = command.output().expect("it can be run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    output
}

/// The prompts that a file must hold.
fn prompts(input: &str) -> Vec<Vec<i64>> {
    let builder = PromptBuilder::demo().expect("it loads");
    let prompt = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("it is JSON");
        let conversation: Conversation = serde_json::from_value(line["messages"].clone()).expect("it is one");
        builder.build(&conversation).expect("it builds").input_ids.iter().map(|&id| id.into()).collect()
    };
    input.lines().map(prompt).collect()
}

fn batches(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).expect("it is there");
    if path.extension().is_some_and(|extension| extension == "arrow") {
        let reader = arrow_ipc::reader::FileReader::try_new(file, None).expect("it is one");
        reader.map(|batch| batch.expect("a batch")).collect()
    } else {
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(file).expect("it is one").build().expect("it can be read");
        reader.map(|batch| batch.expect("a batch")).collect()
    }
}

fn libraries_of_rust_read_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    // More than are written at once.
    for input in [CHATS.to_owned(), CHATS.repeat(3_000)] {
        let expected = prompts(&input);
        for format in ["arrow", "parquet"] {
            let (mut ids, mut found) = (Vec::new(), Vec::new());
            for batch in batches(&build(folder.path(), format, &input)) {
                let column = |name: &str| batch.column_by_name(name).expect("a column").clone();
                let id = column("id");
                ids.extend(id.as_string::<i32>().iter().map(|id| id.expect("an id").to_owned()));
                let input_ids = column("input_ids");
                let rows = input_ids.as_list::<i32>().iter().map(|row| row.expect("a row"));
                found.extend(rows.map(|row| row.as_primitive::<Int64Type>().values().to_vec()));
                assert_eq!(column("turn").null_count(), batch.num_rows());
                assert!(column("max_out_len").as_primitive::<Int64Type>().values().iter().all(|length| *length == 9));
            }
            assert_eq!(found, expected);
            assert_eq!(ids[..3], ["a", "7", "2"]);
        }
    }
}

fn they_say_what_they_were_built_with() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for format in ["arrow", "parquet"] {
        let path = build(folder.path(), format, CHATS);
        let bytes = std::fs::read(&path).expect("it is there");
        assert_eq!(bytes, std::fs::read(build(folder.path(), format, CHATS)).expect("it is there"), "the same bytes");
        let check = |args: &[&str]| {
            let mut command = Command::new(METATOK);
            let ran = command
                .args(["check", "--model", "demo", "--against"])
                .arg(&path)
                .args(args)
                .output()
                .expect("it can be run");
            (ran.status.code(), String::from_utf8_lossy(&ran.stderr).replace(&path.display().to_string(), "FILE"))
        };
        assert_eq!(
            check(&[]),
            (Some(0), "metatok: 3 prompts, up to date by fingerprint; ids are not compared\n".into())
        );
        let differs = "metatok: FILE: prompt 1 and 2 more: mode differs: file has the default, current is \"ppl\"\n";
        assert_eq!(
            check(&["--mode", "ppl"]),
            (Some(1), format!("{differs}metatok: 3 of 3 prompts may be different if built now\n"))
        );
        std::fs::write(&path, "no table").expect("files can be written");
        let (code, message) = check(&[]);
        assert!(code == Some(2) && message.starts_with("metatok: FILE: this is not a"), "{message}");
    }
}

fn pyarrow_reads_them() {
    let program = r#"
import json, sys, pyarrow, pyarrow.parquet
arrow = pyarrow.ipc.open_file(sys.argv[1]).read_all()
parquet = pyarrow.parquet.read_table(sys.argv[2])
assert arrow.equals(parquet) and arrow.schema.equals(parquet.schema), (arrow.schema, parquet.schema)
said = json.loads(arrow.schema.metadata[b"metatok"])
assert said == json.loads(pyarrow.parquet.read_metadata(sys.argv[2]).metadata[b"metatok"])
print(json.dumps({"rows": arrow.to_pylist(), "metatok": said}))
"#;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let files = ["arrow", "parquet"].map(|format| build(folder.path(), format, CHATS));
    let Some(read) = read_by_python("pyarrow.parquet", program, files) else { return };
    let rows = ["a", "7", "2"].iter().zip(prompts(CHATS));
    let row = |(id, ids)| json!({"id": id, "repeat": null, "turn": null, "max_out_len": 9, "input_ids": ids});
    assert_eq!(read["rows"], rows.map(row).collect::<Value>());
    assert_eq!(read["metatok"]["stop_token_ids"], json!([1052, 1050]));
    assert_eq!(read["metatok"]["rows"], 3);
}
