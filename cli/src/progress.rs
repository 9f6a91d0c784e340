//! A progress bar on standard error, if that is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `bytes` of input, or a counter if the length is unknown.
pub(crate) fn bar(bytes: Option<u64>, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match bytes {
        Some(bytes) => {
            (ProgressBar::new(bytes), "{bar:32} {percent:>3}% {bytes}/{total_bytes} {binary_bytes_per_sec} {msg} {eta}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {binary_bytes_per_sec} {msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("the template is valid"))
}
