//! Notes about what prompts leave out: special tokens of the tokenizer, and final answers.

use crate::build::totals::BatchRemarks;
use crate::error::{Setting, Warning, way_out};
use crate::tokenizer::{TokenId, Tokenizer};

impl BatchRemarks {
    /// Notes about the special tokens that the tokenizer would have added.
    ///
    /// ```
    /// use metatok::Tokenizer;
    /// use metatok::build::BatchRemarks;
    ///
    /// let remarks = BatchRemarks { omitted: vec![1050], ..BatchRemarks::default() };
    /// assert_eq!(
    ///     remarks.omitted_tokens(&Tokenizer::demo()?)[0].message(),
    ///     "the template already writes \"<|endoftext|>\" (id 1050), so it is not added again",
    /// );
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn omitted_tokens(&self, tokenizer: &Tokenizer) -> Vec<Warning> {
        let mut notes = Vec::new();
        if !self.omitted.is_empty() {
            let what =
                format!("the template already writes {}, so it is not added again", names(&self.omitted, tokenizer));
            notes.push(special_tokens(what, " would double it"));
        }
        if !self.omitted_end.is_empty() {
            let what = format!(
                "the tokenizer would add {} after every prompt, but a prompt to continue ends where the model continues",
                names(&self.omitted_end, tokenizer)
            );
            notes.push(special_tokens(what, " would add it"));
        }
        notes
    }
}

fn special_tokens(what: String, always: &'static str) -> Warning {
    let way_out = way_out![Setting::SPECIAL_TOKENS.set_to("always"), always];
    Warning::new("special-tokens-omitted", what).with_way_out(way_out)
}

fn names(ids: &[TokenId], tokenizer: &Tokenizer) -> String {
    let names: Vec<String> = ids.iter().map(|&id| format!("{} (id {id})", tokenizer.quoted_token(id))).collect();
    names.join(" ")
}

/// A note about conversations, this many, whose last message was left out; none for 0.
///
/// ```
/// let note = metatok::build::answers_omitted(1).expect("there is one");
/// assert_eq!(
///     note.message(),
///     "1 conversation ends with an answer, which is left out because the model generates it",
/// );
/// ```
pub fn answers_omitted(conversations: u64) -> Option<Warning> {
    let end = match conversations {
        0 => return None,
        1 => "conversation ends with an answer, which is",
        _ => "conversations end with an answer, each of which is",
    };
    let what = format!("{conversations} {end} left out because the model generates it");
    let way_out = way_out![
        Setting::CONTINUE_FINAL_MESSAGE,
        " lets the model continue it, ",
        Setting::MODE.set_to("ppl"),
        " scores it"
    ];
    Some(Warning::new("answers-omitted", what).with_way_out(way_out))
}
