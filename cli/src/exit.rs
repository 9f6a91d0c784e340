//! The exit codes other than 0.

/// Some rows were rejected, or one stopped the run.
pub(crate) const REJECTED: u8 = 1;
/// Two files have different answers.
pub(crate) const DIFFERENT: u8 = 1;
/// The command, or a file that it names, is wrong.
pub(crate) const FAILED: u8 = 2;
