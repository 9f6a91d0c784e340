//! A dataset: which rows are used, and how they become prompts.

use std::path::Path;
use std::sync::Arc;

use crate::dataset::dataset_error;
use crate::dataset::prompter::{Inferencer, InferencerKind, Task};
use crate::dataset::rows::{DerivedColumns, Repeats, SplitRange, Value};
use crate::dataset::template::Layout;
use crate::error::{Place, Result, Setting, Warning, way_out};

/// A limit of answers beside the inferencer, where OpenCompass does not read it.
pub(in crate::dataset) const MISPLACED_LIMIT: &str = "infer_cfg.max_out_len";

/// A dataset: which rows are used, and how they become prompts.
///
/// ```
/// use metatok::{Conversation, Dataset, Row};
///
/// let dataset = Dataset::parse("x.toml", br#"
///     [reader_cfg]
///     output_column = "answer"
///     [infer_cfg]
///     prompt_template = { template = "Q: {question}\nA: {answer}" }
/// "#)?;
/// let row = Row::from_json(r#"{"question": "1+1=?", "answer": "2"}"#)?;
/// let prompt = dataset.task.prompt(&row, &Conversation::Text(String::new()))?;
/// assert_eq!(prompt, Conversation::Text("Q: 1+1=?\nA: ".into()));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// The file.
    pub name: String,
    /// The dataset's short name, if the file declares one.
    pub abbr: Option<String>,
    /// How rows become prompts.
    pub task: Task,
    /// Which rows of the test set are used; all by default.
    pub test_range: Option<SplitRange>,
    /// Which rows of the training set are used.
    pub train_range: Option<SplitRange>,
    /// The columns that are derived from a row's own columns.
    pub derived_columns: DerivedColumns,
    /// How often each row of the test set is asked.
    pub repeats: Repeats,
    /// What is done with the prompts.
    pub inferencer: Inferencer,
    /// Whether the file names a retriever, even one that chooses nothing.
    pub names_retriever: bool,
    /// How answers are evaluated, as written in the file. [`Self::judge`] reads the judge from it.
    pub eval_cfg: Option<Value>,
    /// In which order a judge that compares models sees their answers, as written in the file.
    pub infer_order: Option<String>,
    /// The key path of the templates: `infer_cfg`, or the place where the file describes a judge.
    pub key_path: &'static str,
    /// The keys of the file that do not affect prompts, except those that all of OpenCompass's datasets have.
    pub unread_keys: Vec<String>,
}

impl Dataset {
    /// The dataset's short name, or else the file's name.
    pub fn abbr(&self) -> &str {
        let stem = || Path::new(&self.name).file_stem().and_then(|stem| stem.to_str());
        self.abbr.as_deref().or_else(stem).unwrap_or_default()
    }

    /// What the user should know: keys that are ignored, defaults that were chosen, examples that are left out, and answers
    /// that are not.
    pub fn notes(&self) -> Vec<Warning> {
        let mut notes = Vec::new();
        let (limit, keys): (Vec<&str>, Vec<&str>) =
            self.unread_keys.iter().map(String::as_str).partition(|key| *key == MISPLACED_LIMIT);
        if !limit.is_empty() {
            let note = Warning::new("unread-keys", "ignored, as in OpenCompass, which reads it in inferencer alone")
                .with_way_out(way_out!["write it there, or use ", Setting::MAX_OUT_LEN]);
            notes.push(note.at(MISPLACED_LIMIT));
        }
        if !keys.is_empty() {
            let keys = keys.join(", ");
            let note = Warning::new("unread-keys", "ignored")
                .with_way_out("the rows must already be in the form that the dataset's own loader returns");
            notes.push(note.at(keys));
        }
        if !self.inferencer.unread_keys.is_empty() {
            let keys = self.inferencer.unread_keys.join(", ");
            let note = Warning::new("unread-keys", "not passed on to engines, whose answers may depend on them");
            notes.push(note.at(keys).at(format_args!("{}.inferencer", self.key_path)));
        }
        if self.inferencer.kind == InferencerKind::Chat && !self.inferencer.infer_mode_is_explicit {
            let what = "only the last turn is generated, as in OpenCompass, because infer_mode is not set; AISBench generates every turn (infer_mode = \"every\")";
            notes.push(Warning::new("default-infer-mode", what).at(format_args!("{}.inferencer", self.key_path)));
        }
        if self.inferencer.kind == InferencerKind::FunctionCalls {
            let what = "only the first prompt of each row is built; the others depend on the results of its functions, which metatok does not call";
            notes.push(Warning::new("first-prompt-only", what).at("infer_cfg.inferencer"));
        }
        notes.into_iter().map(|note| note.at(Place::file(&self.name))).chain(self.doubts()).collect()
    }

    /// Returns a copy whose templates fill fields only once, and not those in what they have filled, see
    /// [`Substitution::SinglePass`](crate::dataset::template::Substitution::SinglePass).
    #[must_use]
    pub fn single_pass(&self) -> Self {
        let mut dataset = self.clone();
        for template in dataset.task.templates_mut() {
            template.set_single_pass();
        }
        dataset
    }

    /// Sets how many bytes the texts of a row's prompts may have after their fields are filled. The default is 16 MiB.
    pub fn set_max_row_bytes(&mut self, bytes: usize) {
        self.task.max_row_bytes = bytes;
        for template in self.task.templates_mut() {
            template.set_max_row_bytes(bytes);
        }
    }

    /// Sets the layout of its questions and answers.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] if its template is of another kind.
    pub fn set_layout(&mut self, layout: Layout) -> Result<()> {
        match self.task.prompt_template.as_mut().filter(|template| template.layout().is_some()) {
            Some(template) => template.set_layout(layout),
            None => {
                return Err(dataset_error("only a prompt_template of type = \"QaTemplate\" has layouts; remove it"));
            }
        }
        Ok(())
    }
}

impl From<&Dataset> for Arc<Dataset> {
    fn from(dataset: &Dataset) -> Self {
        Self::new(dataset.clone())
    }
}
