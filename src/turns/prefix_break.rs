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
    /// The answer is written differently, for example without the spaces around it.
    Answer,
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
            Self::DatasetAnswers => f.write_str("the earlier turns contain the dataset's answers, not the model's"),
            Self::GenerationPrompt { text } => {
                write!(f, "the prompt ended with {text:?}, but an answered turn does not open with it")
            }
            Self::SpecialToken(token) => write!(f, "the tokenizer adds \"{token}\" after every prompt"),
            Self::StopToken(token) => {
                write!(f, "the answer ended with \"{token}\", but the template ends the turn with another token")
            }
            Self::Thoughts => f.write_str("the thoughts were removed from the answer"),
            Self::AnswerAsText => f.write_str(
                "the answer was given as text, whose first letters form a token with the text before it; use its ids",
            ),
            Self::Answer => f.write_str("the template or the tokenizer writes the answer differently"),
            Self::Earlier => f.write_str(
                "the template or the tokenizer writes the text before the answer differently if more follows",
            ),
            Self::Truncated => f.write_str("some earlier content was dropped so that the prompt fits"),
            Self::Unanswered => f.write_str("the previous prompt was not answered"),
        }
    }
}
