//! What the library promises, shown without the program.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

#[path = "../common/accept.rs"]
mod accept;
#[path = "../common/case_files.rs"]
mod case_files;
#[path = "../common/harness.rs"]
mod harness;
#[path = "../common/root.rs"]
mod root;

mod laws;
mod loaded;
mod subjects;

mod allocations;
mod attack;
mod availability;
mod batch;
mod cases;
mod chat_templates;
mod check;
mod circles;
mod compare;
mod conversations;
mod dependencies;
mod dialogue;
#[cfg(feature = "candle")]
mod engine;
mod exact;
mod examples;
mod fingerprint;
mod gguf;
mod import;
mod invariants;
mod judges;
mod lm_eval;
mod messages_before;
mod models;
mod own_renderer;
#[cfg(feature = "candle")]
mod progress;
mod packages;
mod recorded_ids;
mod requests;
mod schema;
mod servers;
mod structure;
mod template_keys;
mod tokenizers;
mod trim;
mod truncate;
mod turns;
mod types;
mod verified;
mod view;
mod vocabularies;

fn main() -> std::process::ExitCode {
    harness::run([
        invariants::tests(),
        packages::tests(),
        lm_eval::tests(),
        allocations::tests(),
        attack::tests(),
        availability::tests(),
        batch::tests(),
        cases::tests(),
        chat_templates::tests(),
        check::tests(),
        circles::tests(),
        compare::tests(),
        conversations::tests(),
        dependencies::tests(),
        dialogue::tests(),
        #[cfg(feature = "candle")]
        engine::tests(),
        exact::tests(),
        examples::tests(),
        fingerprint::tests(),
        gguf::tests(),
        import::tests(),
        judges::tests(),
        messages_before::tests(),
        models::tests(),
        own_renderer::tests(),
        #[cfg(feature = "candle")]
        progress::tests(),
        recorded_ids::tests(),
        requests::tests(),
        servers::tests(),
        structure::tests(),
        template_keys::tests(),
        tokenizers::tests(),
        trim::tests(),
        truncate::tests(),
        turns::tests(),
        types::tests(),
        verified::tests(),
        view::tests(),
        vocabularies::tests(),
    ])
}
