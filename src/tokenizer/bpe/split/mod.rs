//! Where a text is cut into pieces that are encoded one by one: words.

mod automaton;
mod blocks;
mod by_library;
mod cuts;
#[cfg(test)]
mod laws;
mod older_unicode;
mod pattern;
mod runs;
mod scanner;
mod seams;
mod splits;
mod variant;

pub(super) use cuts::Cuts;
#[cfg(test)]
pub(super) use pattern::Pattern;
pub(crate) use pattern::{DEEPSEEK, GPT2, KIMI, O200K, TEKKEN};
pub(crate) use runs::{LINE_END, THREES};
pub(super) use scanner::Scanner;
pub(super) use seams::Seams;
pub(super) use splits::SplitBuffers;
