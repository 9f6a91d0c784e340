//! metatok beside its peers, on real text: prompts a second on one core, in thread processor time, for equal ids.
//!
//! ```text
//! cargo bench --bench peers               all of it
//! cargo bench --bench peers -- qwen3 W2   tables, tokenizers and workloads whose names have one of these
//! ```
//!
//! `docs/benchmarks.md` says what is measured and by which variables it is told where tokenizers and text are.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "what it shows is for people")]

mod chat_format;
mod measure;
mod setting;
mod speed;
mod subjects;
mod table;
mod text;
mod workloads;

use std::process::ExitCode;

use setting::Setting;

fn main() -> ExitCode {
    let setting = Setting::read();
    if setting.folders.is_empty() {
        println!("skipped: no tokenizers in {}", setting.tokenizers.display());
        return ExitCode::SUCCESS;
    }
    if speed::table(&setting) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
