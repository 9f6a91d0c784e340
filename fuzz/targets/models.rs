//! Model files, what `check` says of them, and the prompts that they build. Input: options, the file (TOML or JSON), a
//! conversation.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use metatok::dataset::records::Record;
use metatok::{BuilderOptions, Checker, Mode, Model, PromptBuilder};
use metatok_fuzz::DEMO;

fuzz_target!(|input: &[u8]| {
    let Some((flags, rest)) = input.split_first() else { return };
    let Some([file, conversation]) = metatok_fuzz::parts(rest) else { return };
    let is_set = |bit: u8| flags & (1 << bit) != 0;
    let name = if file.trim_start().starts_with('{') { "model.json" } else { "model.toml" };
    let Ok(model) = Model::parse(name, file.as_bytes()) else { return };
    let options = BuilderOptions {
        round_fallback: is_set(1),
        continue_final_message: is_set(2),
        each_message: is_set(3),
        compat: is_set(4),
        ..metatok_fuzz::options(if is_set(0) { Mode::Score } else { Mode::Generate })
    };
    let _ = model.to_api();
    let record = Record::parse(conversation);
    let Ok(mut checker) = Checker::new(&model, Arc::clone(&DEMO), &options) else { return };
    if let Ok(record) = &record {
        checker.see(&record.conversation, "line 1");
    }
    let _ = checker.finish();
    let Ok(builder) = PromptBuilder::new(&model, Arc::clone(&DEMO), &options) else { return };
    if let Ok(record) = &record {
        metatok_fuzz::build(&builder, &record.conversation);
    }
});
