//! What a form can write.

/// What a form can write in addition to a prompt's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepts {
    /// Whether it has a place for the text, spans, labels and mask of each prompt.
    pub details: bool,
    /// Whether texts to score can be written.
    pub scores: bool,
    /// Whether columns of its row can be written with each prompt.
    pub columns: bool,
    /// Whether prompts are padded to one length.
    pub padding: bool,
    /// Whether a prompt is a request to a server, with its options; see [`RequestOptions`](crate::sink::RequestOptions).
    pub request: bool,
    /// Whether a request names the model on the server.
    pub served_model_name: bool,
}

impl Accepts {
    /// Columns, which all lines can have.
    pub(crate) const LINE: Self =
        Self { details: false, scores: false, columns: true, padding: false, request: false, served_model_name: false };

    /// Nothing else, as in files of all prompts.
    #[cfg(any(feature = "arrays", feature = "arrow"))]
    pub(crate) const FILE: Self = Self { columns: false, ..Self::LINE };

    /// Columns and request options, which most requests can have.
    pub(crate) const REQUEST: Self = Self { request: true, ..Self::LINE };
}
