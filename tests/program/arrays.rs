//! Files of arrays: what the libraries of their readers find in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use metatok::batch::Batch;
use metatok::{Conversation, PromptBuilder};
use ndarray_npy::ReadNpyExt;
use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::program::METATOK;
use crate::python::read_by_python;

pub(crate) fn tests() -> Tests {
    tests![libraries_of_rust_read_them, the_same_prompts_are_the_same_bytes, libraries_of_python_read_them]
}

const CHATS: &str = r#"{"id": "a", "messages": [{"role": "user", "content": "Hi!"}]}
{"id": 7, "messages": [{"role": "user", "content": "What is the Sun?"}, {"role": "assistant", "content": "A star."}, {"role": "user", "content": "Sure?"}]}
{"messages": [{"role": "user", "content": ""}]}
"#;

/// Builds a file in a folder, with some arguments more.
fn build(folder: &Path, format: &str, args: &[&str]) -> PathBuf {
    let (input, output) = (folder.join("chats.jsonl"), folder.join(format!("built.{format}")));
    std::fs::write(&input, CHATS).expect("files can be written");
    let mut command = Command::new(METATOK);
    command
        .args(["build", "--model", "demo", "--quiet", "--format", format])
        .args(args)
        .arg("-o")
        .arg(&output)
        .arg(&input);
    let ran = command.output().expect("it can be run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    output
}

/// The batch that a file must hold.
fn batch() -> Batch {
    let conversation = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("it is JSON");
        serde_json::from_value::<Conversation>(line["messages"].clone()).expect("it is one")
    };
    let conversations: Vec<Conversation> = CHATS.lines().map(conversation).collect();
    PromptBuilder::demo().expect("it loads").build_batch(&conversations).expect("they build")
}

fn libraries_of_rust_read_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let batch = batch();
    let npz = std::fs::File::open(build(folder.path(), "npz", &[])).expect("it is there");
    let mut npz = ndarray_npy::NpzReader::new(npz).expect("it is one");
    for (name, expected) in [("input_ids", &batch.input_ids), ("attention_mask", &batch.attention_mask())] {
        let array: ndarray::Array2<i64> = npz.by_name(&format!("{name}.npy")).expect("it is there");
        assert_eq!(array, expected);
    }
    let bytes = std::fs::read(build(folder.path(), "npy", &[])).expect("it is there");
    let starts: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"\x93NUMPY")).collect();
    assert_eq!(starts.len(), 3);
    for (i, expected) in [&batch.input_ids, &batch.attention_mask()].into_iter().enumerate() {
        let array = ndarray::Array2::<i64>::read_npy(&bytes[starts[i]..starts[i + 1]]).expect("it is one");
        assert_eq!(array, expected);
    }
    let bytes = std::fs::read(build(folder.path(), "safetensors", &[])).expect("it is there");
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("it is one");
    for (name, expected) in [("input_ids", &batch.input_ids), ("attention_mask", &batch.attention_mask())] {
        let tensor = tensors.tensor(name).expect("it is there");
        assert_eq!(tensor.shape(), expected.shape());
        let numbers = tensor.data().chunks_exact(8).map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight")));
        assert_eq!(numbers.collect::<Vec<_>>(), expected.iter().copied().collect::<Vec<_>>());
    }
}

fn the_same_prompts_are_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for format in ["npz", "npy", "safetensors"] {
        let bytes = |threads| std::fs::read(build(folder.path(), format, &["-j", threads])).expect("it is there");
        assert_eq!(bytes("1"), bytes("4"));
        let path = folder.path().join(format!("built.{format}"));
        let mut check = Command::new(METATOK);
        let ran = check.args(["check", "--model", "demo", "--against"]).arg(&path).output().expect("it can be run");
        assert_eq!(
            String::from_utf8_lossy(&ran.stderr),
            "metatok: 3 prompts, up to date by fingerprint; ids are not compared\n"
        );
    }
}

fn libraries_of_python_read_them() {
    let program = r#"
import json, sys, numpy
from safetensors import safe_open
npz = numpy.load(sys.argv[1])
with safe_open(sys.argv[2], "np") as tensors:
    for name in ["input_ids", "attention_mask"]:
        assert npz[name].dtype == numpy.int64
        assert (npz[name] == tensors.get_tensor(name)).all()
    assert bytes(npz["metatok"]).decode() == tensors.metadata()["metatok"]
with open(sys.argv[3], "rb") as npy:
    for name in ["input_ids", "attention_mask", "metatok"]:
        assert (numpy.load(npy) == npz[name]).all()
assert (numpy.load(sys.argv[3], mmap_mode="r") == npz["input_ids"]).all()
ids, mask, said = npz["input_ids"], npz["attention_mask"], json.loads(bytes(npz["metatok"]))
print(json.dumps({"input_ids": ids.tolist(), "attention_mask": mask.tolist(), "metatok": said}))
"#;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let files = ["npz", "safetensors", "npy"].map(|format| build(folder.path(), format, &[]));
    let Some(read) = read_by_python("numpy, safetensors", program, files) else { return };
    let batch = batch();
    let rows = |array: &ndarray::Array2<i64>| json!(array.outer_iter().map(|row| row.to_vec()).collect::<Vec<_>>());
    assert_eq!(read["input_ids"], rows(&batch.input_ids));
    assert_eq!(read["attention_mask"], rows(&batch.attention_mask()));
    assert_eq!(read["metatok"]["prompts"], json!([{"id": "a"}, {"id": 7}, {"id": 2}]));
    assert_eq!(read["metatok"]["stop_token_ids"], json!([1052, 1050]));
    assert_eq!(read["metatok"]["pad_token_id"], 1053);
}
