//! What the program promises, shown by running it.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

#[path = "../common/accept.rs"]
mod accept;
#[path = "../common/case_files.rs"]
mod case_files;
#[path = "../common/harness.rs"]
mod harness;
mod lines;
mod program;
mod python;
#[path = "../common/root.rs"]
mod root;

mod accelerated;
#[cfg(feature = "arrays")]
mod arrays;
mod cli;
mod datasets;
#[cfg(feature = "http")]
mod fake_server;
mod files;
mod fingerprint;
mod help;
#[cfg(unix)]
mod hostile;
#[cfg(any(feature = "http", feature = "hub"))]
mod http_head;
#[cfg(feature = "hub")]
mod hub;
#[cfg(feature = "hub")]
mod hub_downloads;
#[cfg(feature = "parquet")]
mod parquet;
mod readme;
#[cfg(feature = "candle")]
mod resume;
mod run;
#[cfg(unix)]
mod safety;
#[cfg(feature = "http")]
mod scripted_server;
#[cfg(feature = "http")]
mod server;
#[cfg(feature = "http")]
mod server_address;
#[cfg(feature = "http")]
mod server_answers;
#[cfg(feature = "http")]
mod server_ends;
#[cfg(feature = "http")]
mod server_waits;
mod scores;
mod streams;
#[cfg(feature = "arrow")]
mod table;

fn main() -> std::process::ExitCode {
    harness::run([
        accelerated::tests(),
        run::tests(),
        #[cfg(feature = "http")]
        server::tests(),
        #[cfg(feature = "http")]
        server_address::tests(),
        #[cfg(feature = "http")]
        server_answers::tests(),
        #[cfg(feature = "http")]
        server_ends::tests(),
        #[cfg(feature = "http")]
        server_waits::tests(),
        #[cfg(feature = "candle")]
        resume::tests(),
        scores::tests(),
        streams::tests(),
        #[cfg(unix)]
        safety::tests(),
        #[cfg(feature = "arrays")]
        arrays::tests(),
        cli::tests(),
        datasets::tests(),
        files::tests(),
        fingerprint::tests(),
        help::tests(),
        #[cfg(unix)]
        hostile::tests(),
        #[cfg(feature = "hub")]
        hub::tests(),
        #[cfg(feature = "hub")]
        hub_downloads::tests(),
        #[cfg(feature = "parquet")]
        parquet::tests(),
        readme::tests(),
        #[cfg(feature = "arrow")]
        table::tests(),
    ])
}
