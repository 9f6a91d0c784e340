//! The forms in which prompts are written, by name. A new one is a file beside this one, and a line in [`OUTPUT_FORMS`].

use std::num::NonZeroUsize;

use crate::batch::PaddingSide;
use crate::builder::PromptBuilder;
use crate::error::{ErrorKind, Result};
use crate::fingerprint::Fingerprint;
#[cfg(feature = "arrays")]
use crate::sink::arrays;
#[cfg(feature = "arrow")]
use crate::sink::table;
use crate::sink::{Sink, jsonl, llama_cpp, lmdeploy, messages, sglang, vllm};

/// A form: its name, what it takes, and how it is opened.
#[derive(Debug)]
pub struct OutputForm {
    /// What it is called.
    pub name: &'static str,
    /// What is written, in a line.
    pub about: &'static str,
    /// How the names of its files end, without the dot.
    pub ending: &'static str,
    /// What it has a place for.
    pub accepts: Accepts,
    /// None of a form without token ids: messages, which [`MessagesJsonl`](crate::sink::MessagesJsonl) writes.
    pub(super) open: Option<Open>,
}

/// What makes a form's sink.
type Open = fn(&PromptBuilder, FormOptions) -> Result<Box<dyn Sink>>;

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
    pub(super) const LINE: Self = Self { details: false, columns: true, padding: false, served_model_name: false };
}

/// What a form may be told.
#[derive(Debug, Clone, Default)]
pub struct FormOptions {
    /// Whether prompts come with their mask.
    pub attention_mask: bool,
    /// The model's name at the server.
    pub served_model_name: Option<String>,
    /// On which side prompts are padded, instead of the builder's.
    pub padding_side: Option<PaddingSide>,
    /// A length of whose multiples padded prompts are, instead of the builder's.
    pub pad_to_multiple_of: Option<NonZeroUsize>,
    /// What built all prompts of a file.
    pub fingerprint: Option<Fingerprint>,
}

/// All forms.
pub static OUTPUT_FORMS: &[OutputForm] = &[
    jsonl::FORM,
    messages::FORM,
    vllm::FORM,
    vllm::BATCH_FORM,
    sglang::FORM,
    llama_cpp::FORM,
    lmdeploy::FORM,
    #[cfg(feature = "arrays")]
    arrays::NPZ_FORM,
    #[cfg(feature = "arrays")]
    arrays::NPY_FORM,
    #[cfg(feature = "arrays")]
    arrays::SAFETENSORS_FORM,
    #[cfg(feature = "arrow")]
    table::ARROW_FORM,
    #[cfg(feature = "arrow")]
    table::PARQUET_FORM,
];

impl OutputForm {
    /// The form of this name.
    ///
    /// ```
    /// use metatok::sink::{FormOptions, OutputForm, PromptKey};
    /// use metatok::PromptBuilder;
    ///
    /// let builder = PromptBuilder::demo()?;
    /// let sink = OutputForm::find("lmdeploy")?.open(&builder, FormOptions::default())?;
    /// let prompt = builder.build(&metatok::Conversation::Text("Once".into()))?;
    /// let mut line = Vec::new();
    /// sink.write(&PromptKey::of("0"), &(&prompt).into(), &mut line)?;
    /// assert!(line.starts_with(br#"{"id":"0","input_ids":["#));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnknownName`] lists the forms there are.
    pub fn find(name: &str) -> Result<&'static Self> {
        OUTPUT_FORMS.iter().find(|form| form.name == name).ok_or_else(|| {
            let known = OUTPUT_FORMS.iter().map(|form| form.name).collect();
            ErrorKind::UnknownName { what: "form", name: name.to_owned(), known }.into()
        })
    }

    /// Whether it holds token ids, and not messages.
    pub fn has_ids(&self) -> bool {
        self.open.is_some()
    }

    /// What writes the prompts of a builder so.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for messages, which are no token ids, and where there is nothing to pad with.
    pub fn open(&self, builder: &PromptBuilder, options: FormOptions) -> Result<Box<dyn Sink>> {
        match self.open {
            Some(open) => open(builder, options),
            None => Err(ErrorKind::Usage(format!("{:?} is a form without token ids", self.name)).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A form is found by its name alone, and has a place for columns where each prompt is a line.
    #[test]
    fn forms_are_what_they_say() {
        let builder = PromptBuilder::demo().expect("it is embedded");
        for form in OUTPUT_FORMS {
            assert!(std::ptr::eq(OutputForm::find(form.name).expect("it is there"), form), "{}", form.name);
            match form.open(&builder, FormOptions::default()) {
                Ok(sink) => assert_eq!(sink.is_whole(), !form.accepts.columns, "{}", form.name),
                Err(error) => assert!(!form.has_ids(), "{}: {error}", form.name),
            }
        }
    }
}
