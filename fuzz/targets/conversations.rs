//! Files of conversations and rows in every format, and the demo's prompts of them. Input: format of the records, kind
//! of the file, the file.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use metatok::dataset::records::{InputFormat, ReadsFor, RecordReader};
use metatok::{Mode, PromptBuilder, Row};

const FORMATS: &[&str] = &[
    "auto",
    "messages",
    "sharegpt",
    "alpaca",
    "query-response",
    "prompt-completion",
    "text",
    "openai-batch",
    "responses",
    "ultrachat",
    "chosen",
    "rejected",
];
/// The kinds of files by the endings of their names.
const NAMES: [&str; 5] = ["a.jsonl", "a.csv", "a.tsv", "a.jsonl.gz", "a.jsonl.zst"];

static BUILDERS: LazyLock<[PromptBuilder; 2]> = LazyLock::new(|| [Mode::Generate, Mode::Score].map(metatok_fuzz::demo));

fuzz_target!(|input: &[u8]| {
    let [format, name, file @ ..] = input else { return };
    let format: InputFormat = FORMATS[*format as usize % FORMATS.len()].parse().expect("it is one");
    let holds_rows = *name as usize / NAMES.len() % 2 == 1;
    let Ok(records) = metatok::fuzzing::records(NAMES[*name as usize % NAMES.len()], file, holds_rows) else { return };
    let reader = RecordReader::new(format);
    for record in &records {
        let _ = (Row::from_json(record), reader.reads_for(ReadsFor::Server).parse(record));
        for (mode, builder) in [Mode::Generate, Mode::Score].into_iter().zip(&*BUILDERS) {
            let Ok((conversation, scored)) = reader.parse(record).and_then(|record| record.into_conversation(mode)) else {
                continue;
            };
            if let metatok::Conversation::Text(text) = &conversation {
                let _ = scored.bytes(text);
            }
            metatok_fuzz::build(builder, &conversation);
        }
    }
});
