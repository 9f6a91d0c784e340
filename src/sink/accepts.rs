//! What a form has a place for.

/// What a form has a place for, beside a prompt's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepts {
    /// The text, spans, labels and the mask of each prompt.
    pub details: bool,
    /// Columns of its row beside each prompt.
    pub columns: bool,
    /// How prompts are padded.
    pub padding: bool,
    /// The model's name at the server.
    pub served_model_name: bool,
}

impl Accepts {
    /// Columns, as all lines do.
    pub(crate) const LINE: Self = Self { details: false, columns: true, padding: false, served_model_name: false };
}
