//! What a form has a place for.

/// What a form has a place for, beside a prompt's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepts {
    /// The text, spans, labels and the mask of each prompt.
    pub details: bool,
    /// Texts to score.
    pub scores: bool,
    /// Columns of its row beside each prompt.
    pub columns: bool,
    /// How prompts are padded.
    pub padding: bool,
    /// What a request to a server asks for, see [`RequestOptions`](crate::sink::RequestOptions).
    pub request: bool,
    /// The model's name at the server.
    pub served_model_name: bool,
}

impl Accepts {
    /// Columns, as all lines do.
    pub(crate) const LINE: Self =
        Self { details: false, scores: false, columns: true, padding: false, request: false, served_model_name: false };

    /// Columns and what a request asks for, as most requests have.
    pub(crate) const REQUEST: Self = Self { request: true, ..Self::LINE };
}
