//! Why a prompt does not begin with everything that the engine has seen.

use std::fmt;

/// Why a prompt does not begin with everything that the engine has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrefixBreak {
    /// The earlier turns contain the dataset's answers, not the model's own.
    DatasetAnswers,
    /// The earlier turns open with other tokens than the turn that was answered, for example if a model's thoughts are
    /// left out of them.
    GenerationPrompt {
        /// The end of the previous prompt.
        text: String,
    },
    /// The tokenizer adds this token after every prompt.
    SpecialToken(String),
    /// The answer ended with this token, but the template ends the turn with another one.
    StopToken(String),
    /// The thoughts were removed from the answer.
    Thoughts,
    /// The answer was given as text, which is tokenized together with the text before it.
    AnswerAsText,
    /// The text before the answer is written differently if more follows.
    Earlier,
    /// Messages, or tokens of them, were dropped so that the prompt fits.
    Truncated,
    /// The previous prompt was not answered.
    Unanswered,
}

impl fmt::Display for PrefixBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DatasetAnswers => f.write_str("the dataset's answers stand in the turns before, not the model's"),
            Self::GenerationPrompt { text } => {
                write!(f, "the prompt ended with {text:?}, and a turn that was answered does not open so")
            }
            Self::SpecialToken(token) => write!(f, "the tokenizer puts \"{token}\" after every prompt"),
            Self::StopToken(token) => {
                write!(f, "the answer ended with \"{token}\", and the template ends the turn with another token")
            }
            Self::Thoughts => f.write_str("the thoughts were taken out of the answer"),
            Self::AnswerAsText => f.write_str(
                "the answer was given as text, whose first letters are one token with what stands before it; give its ids",
            ),
            Self::Earlier => f.write_str(
                "the template or the tokenizer writes what stands before the answer otherwise where more follows",
            ),
            Self::Truncated => f.write_str("something of what was said before went to make the prompt fit"),
            Self::Unanswered => f.write_str("the prompt before was not answered"),
        }
    }
}
