//! metatok beside its peers, on real text: prompts a second on one core, in thread processor time, for equal ids; then loading,
//! files, Python, and what more than ids costs.
//!
//! ```text
//! cargo bench --bench peers                 all of it
//! cargo bench --bench peers -- qwen3 W2     rows of tokenizers and workloads whose names have this
//! cargo bench --bench peers -- loading      one section: speed, loading, files, python or extras
//! ```
//!
//! `docs/benchmarks.md` says what is measured, and by which variables it learns where tokenizers and text are.
#![allow(clippy::print_stdout, missing_docs, reason = "what it shows is for people")]

mod chat_format;
mod completed;
mod extras;
mod files;
mod loading;
mod measure;
mod python;
mod setting;
mod speed;
mod subjects;
mod table;
mod text;
mod versions;
mod workloads;

use std::process::ExitCode;

use setting::{Section, Setting};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((loading::ARGUMENT, rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return loading::load(rest);
    }
    let setting = Setting::read(arguments);
    if setting.folders.is_empty() {
        println!("skipped: no tokenizers in {}", setting.tokenizers.display());
        return ExitCode::SUCCESS;
    }
    versions::say();
    let mut code = ExitCode::SUCCESS;
    for section in setting.sections() {
        let ran = match section {
            Section::Speed => speed::table(&setting),
            Section::Loading => loading::table(&setting),
            Section::Files => files::table(&setting),
            Section::Python => python::table(&setting),
            Section::Extras => extras::table(&setting),
        };
        if let Err(message) = ran {
            println!("\nFAILED: {message}");
            code = ExitCode::FAILURE;
        }
    }
    code
}
