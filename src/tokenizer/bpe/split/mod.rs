//! Where a text is cut into pieces that are encoded one by one: words.

mod blocks;
#[cfg(test)]
mod laws;
mod older_unicode;
mod pattern;
mod scanner;
mod seams;
mod variant;

pub(super) use pattern::Pattern;
pub(super) use scanner::Scanner;
pub(super) use seams::Seams;
