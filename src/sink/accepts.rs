//! What a form can write.

/// What a form can write in addition to a prompt's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepts {
    /// The text, spans, labels and the mask of each prompt.
    pub details: bool,
    /// Texts to score.
    pub scores: bool,
    /// Columns of its row with each prompt.
    pub columns: bool,
    /// Padding.
    pub padding: bool,
    /// Options of a request to a server, see [`RequestOptions`](crate::sink::RequestOptions).
    pub request: bool,
    /// The model's name on the server.
    pub served_model_name: bool,
}

impl Accepts {
    /// Columns, which all lines can have.
    pub(crate) const LINE: Self =
        Self { details: false, scores: false, columns: true, padding: false, request: false, served_model_name: false };

    /// Columns and request options, which most requests can have.
    pub(crate) const REQUEST: Self = Self { request: true, ..Self::LINE };
}
