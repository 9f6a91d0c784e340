//! The forms in which prompts are written, by name. A new one is a file in `sink` or `server`, and a line in [`OUTPUT_FORMS`].
//!
//! ```
//! use metatok::forms::OUTPUT_FORMS;
//!
//! assert!(OUTPUT_FORMS.iter().any(|form| form.name == "vllm"));
//! ```

use crate::error::{ErrorKind, Result};
use crate::server::{llama_cpp, lmdeploy, sglang, vllm};
#[cfg(feature = "arrays")]
use crate::sink::arrays;
#[cfg(feature = "arrow")]
use crate::sink::table;
use crate::sink::{OutputForm, jsonl, messages};

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
    /// use metatok::sink::{FormOptions, OutputForm, PromptKey, Sink};
    /// use metatok::PromptBuilder;
    ///
    /// let builder = PromptBuilder::demo()?;
    /// let form = OutputForm::find("lmdeploy")?;
    /// let Sink::Lines(sink) = form.open(&builder, FormOptions::default())? else { panic!("its files are lines") };
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::PromptBuilder;
    use crate::sink::{FormOptions, Sink};

    /// A form is found by its name alone, and has a place for columns where each prompt is a line.
    #[test]
    fn forms_are_what_they_say() {
        let builder = PromptBuilder::demo().expect("it is embedded");
        for form in OUTPUT_FORMS {
            assert!(std::ptr::eq(OutputForm::find(form.name).expect("it is there"), form), "{}", form.name);
            match form.open(&builder, FormOptions::default()) {
                Ok(sink) => assert_eq!(matches!(sink, Sink::Lines(_)), form.accepts.columns, "{}", form.name),
                Err(error) => assert!(!form.has_ids(), "{}: {error}", form.name),
            }
        }
    }
}
