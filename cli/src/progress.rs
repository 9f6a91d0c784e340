//! A progress bar on standard error, if that is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows a hidden bar over `bytes` of input, or a counter if the length is unknown.
pub(crate) fn show(bar: &ProgressBar, bytes: Option<u64>, quiet: bool) {
    if quiet || !std::io::stderr().is_terminal() {
        return;
    }
    let template = match bytes {
        Some(_) => "{bar:32} {percent:>3}% {bytes}/{total_bytes} {binary_bytes_per_sec} {msg} {eta}",
        None => "{spinner} {bytes} {binary_bytes_per_sec} {msg}",
    };
    match bytes {
        Some(bytes) => bar.set_length(bytes),
        None => bar.unset_length(),
    }
    bar.reset();
    bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
    bar.set_draw_target(ProgressDrawTarget::stderr());
}
