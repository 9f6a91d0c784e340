//! The exit codes other than 0.

/// The command found something: bad rows, which it rejected or at the first of which it stopped; what a lint finds; a
/// fingerprint that is no longer current; prompts or answers that differ.
pub(crate) const FOUND: u8 = 1;
/// The command, or a file that it names, is wrong.
pub(crate) const FAILED: u8 = 2;
