//! Reading the judge of a dataset file: OpenCompass's evaluators that ask a model about answers.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::dataset::config::dataset::MISPLACED_LIMIT;
use crate::dataset::config::{Dataset, class_name};
use crate::dataset::dataset_error;
use crate::dataset::judge::{Evaluator, Judge, PredictionColumns, REFERENCE};
use crate::dataset::prompter::{InferMode, Inferencer, Task};
use crate::dataset::retriever::{RetrieverConfig, RetrieverKind};
use crate::dataset::rows::Value;
use crate::dataset::template::{RowTemplate, TemplateFile};
use crate::error::{At, Error, Place, Result, Setting, Warning, way_out};
use crate::wording;

const EVALUATOR: &str = "eval_cfg.evaluator";
const WITHIN_CASCADE: &str = "eval_cfg.evaluator.llm_evaluator";

/// An evaluator that asks a judge, as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvaluatorFile {
    prompt_template: TemplateFile,
    judge_cfg: Option<JudgeModel>,
    #[serde(default)]
    pack_all_predictions: Option<bool>,
    #[serde(default)]
    multi_eval: Option<bool>,
    pred_postprocessor: Option<IgnoredAny>,
    dict_postprocessor: Option<IgnoredAny>,
    meta_review_prompt_template: Option<IgnoredAny>,
    #[serde(default, rename = "type")]
    _class: IgnoredAny,
    // The rows and the references are the dataset's own, in OpenCompass too.
    #[serde(default, rename = "dataset_cfg")]
    _dataset_cfg: IgnoredAny,
    // What is stored with the judge's answers, and where.
    #[serde(default, rename = "keep_predictions")]
    _keep_predictions: IgnoredAny,
    #[serde(default, rename = "output_path")]
    _output_path: IgnoredAny,
}

/// The judge's model, most of which is configured elsewhere.
#[derive(Deserialize)]
struct JudgeModel {
    max_out_len: Option<u64>,
    pred_postprocessor: Option<IgnoredAny>,
}

impl Dataset {
    /// The judge that `eval_cfg` names: its prompts, and the columns that rows need for them.
    ///
    /// ```
    /// use metatok::dataset::judge::Prediction;
    /// use metatok::{Conversation, Dataset, Row};
    ///
    /// let dataset = Dataset::parse("x.toml", br#"
    ///     [reader_cfg]
    ///     output_column = "answer"
    ///     [infer_cfg]
    ///     prompt_template = { template = "{question}" }
    ///     [eval_cfg.evaluator]
    ///     type = "GenericLLMEvaluator"
    ///     prompt_template = { template = "Q: {question}\nA: {answer}\nIs this right? {prediction}" }
    /// "#)?;
    /// let judge = dataset.judge()?;
    /// let mut row = judge.dataset.row(r#"{"question": "1+1=?", "answer": "2"}"#)?;
    /// judge.columns.add(&mut row, &[Prediction::Text("two".into())])?;
    /// let prompt = judge.dataset.task.prompt(&row, &Conversation::Text(String::new()))?;
    /// assert_eq!(prompt, Conversation::Text("Q: 1+1=?\nA: 2\nIs this right? two".into()));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] and [`crate::ErrorKind::Parse`] if the evaluator does not ask a judge, or not a
    /// known one.
    pub fn judge(&self) -> Result<Judge> {
        self.read_judge().at(Place::file(&self.name))
    }

    fn read_judge(&self) -> Result<Judge> {
        let (evaluator, key_path, keys) = self.evaluator()?;
        let file: EvaluatorFile = from_value(keys, key_path)?;
        if file.multi_eval == Some(true) {
            let what = "multi_eval asks the judge about a row several times, with prompts from the row";
            return Err(dataset_error(what).with_way_out("write a row for each prompt").at(key_path));
        }
        let notes = self.judge_notes(evaluator, &file);
        let max_out_len = file.judge_cfg.and_then(|judge| judge.max_out_len);
        let template = file.prompt_template.read().at(format_args!("{key_path}.prompt_template"))?;
        let asks_turns = self.inferencer.kind.has_turns();
        let sees_turns = asks_turns && self.inferencer.infer_mode != InferMode::Last;
        if sees_turns && evaluator != Evaluator::Lm {
            let what = "this judge sees one answer, but the dataset generates every turn of a dialogue";
            let way_out = way_out![
                "use LMEvaluator, which shows each turn (",
                Setting::INFER_MODE.set_to("last"),
                " generates only the last turn)"
            ];
            return Err(dataset_error(what).with_way_out(way_out).at(key_path));
        }
        let columns = PredictionColumns {
            evaluator,
            output_column: self.task.output_column.clone(),
            dialogues: asks_turns.then(|| Arc::new(self.clone())),
            sees_turns,
            packs_turns: file.pack_all_predictions == Some(true),
        };
        let mut dataset = Self {
            key_path,
            task: self.task_of_judge(template),
            inferencer: Inferencer { max_out_len, ..Inferencer::default() },
            train_range: None,
            ..self.clone()
        };
        dataset.unread_keys.retain(|key| !["infer_order", MISPLACED_LIMIT].contains(&&**key));
        dataset.set_max_row_bytes(self.task.max_row_bytes);
        let notes = notes.into_iter().chain(dataset.masked_reference());
        let notes = notes.map(|note| note.at(Place::file(&self.name))).collect();
        Ok(Judge { dataset, columns, notes })
    }

    /// The evaluator that asks a judge, its key path, and its configuration.
    fn evaluator(&self) -> Result<(Evaluator, &'static str, &Value)> {
        let written = self.eval_cfg.as_ref().and_then(|eval_cfg| eval_cfg.get("evaluator"));
        let known = "the supported ones are GenericLLMEvaluator, LMEvaluator and CascadeEvaluator";
        let Some(written) = written else {
            return Err(dataset_error(&format!("the dataset has no evaluator that asks a judge; {known}")))
                .at(EVALUATOR);
        };
        let class = |keys: &Value| keys.get("type").map(Value::text).map(|class| class_name::bare(&class).to_owned());
        let other = |class: Option<String>| {
            let class = class.unwrap_or_else(|| "an evaluator without a type".into());
            dataset_error(&format!("{class} is not a supported evaluator that asks a judge; {known}"))
        };
        match class(written).as_deref() {
            Some("GenericLLMEvaluator") => Ok((Evaluator::GenericLlm, EVALUATOR, written)),
            Some("LMEvaluator") => Ok((Evaluator::Lm, EVALUATOR, written)),
            Some("CascadeEvaluator") => match written.get("llm_evaluator") {
                Some(keys) if class(keys).as_deref() == Some("GenericLLMEvaluator") => {
                    Ok((Evaluator::Cascade, WITHIN_CASCADE, keys))
                }
                keys => Err(other(keys.and_then(class))).at(WITHIN_CASCADE),
            },
            class => Err(other(class.map(str::to_owned))).at(EVALUATOR),
        }
    }

    /// What the judge is asked about a row. The model's own limits for a row do not apply to the judge.
    fn task_of_judge(&self, template: Box<dyn RowTemplate>) -> Task {
        Task {
            input_columns: Vec::new(),
            output_column: Some(REFERENCE.to_owned()),
            ice_template: None,
            prompt_template: Some(template),
            retriever: RetrieverConfig { kind: RetrieverKind::Zero, ice_separator: None, ice_eos_token: None },
            gen_field_replace_token: String::new(),
            ..self.task.clone()
        }
    }

    /// The parts of the evaluator that metatok does not run.
    fn judge_notes(&self, evaluator: Evaluator, file: &EvaluatorFile) -> Vec<Warning> {
        let of_eval_cfg = |key: &str| self.eval_cfg.as_ref().is_some_and(|eval_cfg| eval_cfg.get(key).is_some());
        let of_judge = file.judge_cfg.as_ref().is_some_and(|judge| judge.pred_postprocessor.is_some());
        let before = listed([
            ("eval_cfg.pred_postprocessor", of_eval_cfg("pred_postprocessor")),
            ("eval_cfg.dataset_postprocessor", of_eval_cfg("dataset_postprocessor")),
            ("the evaluator's pred_postprocessor", file.pred_postprocessor.is_some()),
        ]);
        let after = listed([
            ("the judge's pred_postprocessor", of_judge),
            ("dict_postprocessor", file.dict_postprocessor.is_some()),
            ("rule_evaluator", evaluator == Evaluator::Cascade),
            ("meta_review_prompt_template", file.meta_review_prompt_template.is_some()),
        ]);
        let mut notes = Vec::new();
        if !before.is_empty() {
            let what = "Python code that changes answers or references before the judge sees them is not run: "
                .to_owned()
                + &before;
            let way_out = "use answers and rows that this code has already processed";
            notes.push(Warning::new("not-run-before-judge", what).with_way_out(way_out));
        }
        if !after.is_empty() {
            let what = format!("OpenCompass's processing of the judge's answers is not done: {after}");
            notes.push(Warning::new("not-run-after-judge", what));
        }
        let parallel = self.eval_cfg.as_ref().and_then(|eval_cfg| eval_cfg.get("evaluator")?.get("parallel"));
        if evaluator == Evaluator::Cascade && parallel == Some(&Value::Bool(false)) {
            let what = "OpenCompass only asks the judge about the answers that its rule rejects; metatok asks about all given answers";
            notes.push(Warning::new("judge-asked-about-all", what).at("parallel = false"));
        }
        if let Some(order) = self.infer_order.as_deref() {
            let way_out = "for the other order, build again with the models in reverse";
            let what = format!(
                "infer_order {order:?} is not supported: answers are in the order in which the models are given"
            );
            notes.push(Warning::new("unread-infer-order", what).with_way_out(way_out));
        }
        notes
    }

    /// Warns that the judge's template contains the reference, but no prompt will.
    fn masked_reference(&self) -> Option<Warning> {
        let template = self.task.prompt_template.as_ref().filter(|template| template.masks_answer())?;
        let field = template.fields().into_iter().find(|field| field.column == REFERENCE)?;
        let what = format!("{{{REFERENCE}}} is empty, as in OpenCompass, because it is the judge's output column");
        let warning = Warning::new("masked-reference", what)
            .with_way_out("use the dataset's own output column, which has the reference");
        Some(warning.at(format_args!("{}.prompt_template.{}", self.key_path, field.place)))
    }
}

/// The keys that are present.
fn listed<const N: usize>(keys: [(&str, bool); N]) -> String {
    keys.iter().filter(|(_, is_there)| *is_there).map(|(key, _)| *key).collect::<Vec<_>>().join(", ")
}

/// A value's contents, with the key path of any error in it.
fn from_value<T: serde::de::DeserializeOwned>(value: &Value, key_path: &str) -> Result<T> {
    let json = serde_json::to_string(value).expect("what was read from a file is JSON");
    let mut json = serde_json::Deserializer::from_str(&json);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let below = wording::key_path(error.path()).map(|path| format!(".{path}"));
        Error::from(wording::in_value(error.inner())).at(format_args!("{key_path}{}", below.unwrap_or_default()))
    })
}
