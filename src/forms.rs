//! The forms in which prompts are written, by name.
//!
//! ```
//! use metatok::forms::OUTPUT_FORMS;
//!
//! assert!(OUTPUT_FORMS.iter().any(|form| form.name == "vllm"));
//! ```

use crate::error::{ErrorKind, Result, Setting, by_name, way_out};
use crate::server::{dynamo, llama_cpp, lmdeploy, openai, sglang, triton, trtllm, vllm, vllm_generate};
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
    vllm_generate::FORM,
    sglang::FORM,
    llama_cpp::FORM,
    lmdeploy::FORM,
    openai::FORM,
    trtllm::FORM,
    dynamo::FORM,
    triton::FORM,
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

/// Not a form: `vllm run-batch` rejects token ids, and [`OutputForm::find`] explains this.
pub const RUN_BATCH: &str = "vllm-batch";

/// Forms that are only in builds with a cargo feature, and the feature.
pub const FORMS_OF_FEATURES: [(&str, &str); 5] =
    [("npz", "arrays"), ("npy", "arrays"), ("safetensors", "arrays"), ("arrow", "arrow"), ("parquet", "arrow")];

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
    /// let (id, mut line) = (serde_json::value::to_raw_value(&0)?, Vec::new());
    /// sink.write(&PromptKey::of(&id), &(&prompt).into(), &mut line)?;
    /// assert!(line.starts_with(br#"{"id":"0","input_ids":["#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnknownName`] lists the known forms; [`ErrorKind::MissingFeature`] for one of [`FORMS_OF_FEATURES`];
    /// [`ErrorKind::Usage`] for [`RUN_BATCH`].
    pub fn find(name: &str) -> Result<&'static Self> {
        if name == RUN_BATCH {
            return Err(no_run_batch());
        }
        by_name("form", name, OUTPUT_FORMS.iter().map(|form| (form.name, form))).map_err(|unknown| {
            match FORMS_OF_FEATURES.iter().find(|(form, _)| *form == name) {
                Some((form, feature)) => ErrorKind::MissingFeature { what: form, feature }.into(),
                None => unknown,
            }
        })
    }
}

fn no_run_batch() -> crate::Error {
    let what = "`vllm run-batch` refuses prompts of token ids: it routes chats, embeddings, scores, reranking and audio, but not /v1/completions";
    let (server, chat) = (Setting::FORMAT.set_to("vllm"), Setting::FORMAT.set_to("messages"));
    let way_out = way_out!["build with ", server, " for the server, or with ", chat, " for the chat route"];
    ErrorKind::Usage(what.into()).with_way_out(way_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::PromptBuilder;
    use crate::sink::{FormOptions, RequestOptions, Sink};

    /// A form is found by its name alone, and one with a place for columns writes lines.
    #[test]
    fn each_form_has_its_name_and_kind() {
        let builder = PromptBuilder::demo().expect("it is embedded");
        for form in OUTPUT_FORMS {
            assert!(std::ptr::eq(OutputForm::find(form.name).expect("it is there"), form), "{}", form.name);
            let request = RequestOptions { served_model_name: Some("m".into()), ..RequestOptions::default() };
            match form.open(&builder, FormOptions { request, ..FormOptions::default() }) {
                Ok(sink) => {
                    let is_line = form.accepts.columns || form.accepts.request;
                    assert_eq!(matches!(sink, Sink::Lines(_)), is_line, "{}", form.name);
                }
                Err(error) => assert!(!form.has_ids(), "{}: {error}", form.name),
            }
        }
    }
}
