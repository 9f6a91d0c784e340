//! What is done as in OpenCompass, but is probably not meant.

use crate::dataset::config::Dataset;
use crate::dataset::prompter::InferencerKind;
use crate::dataset::template::MessageTemplate;
use crate::error::{Place, Warning};

impl Dataset {
    /// Examples that no prompt contains, and answers that prompts contain.
    pub(crate) fn doubts(&self) -> Vec<Warning> {
        let doubts = self.examples_left_out().into_iter().chain(self.answer_shown());
        doubts.map(|doubt| doubt.at(Place::file(&self.name))).collect()
    }

    fn examples_left_out(&self) -> Option<Warning> {
        let (name, template) = self.own_template()?;
        let kind = self.inferencer.kind;
        let has_messages = template.downcast_ref::<MessageTemplate>().is_some();
        let (what, way_out, key) = if self.task.retriever.count() == 0 {
            return None;
        } else if kind.builds_messages() {
            let what = "the inferencer leaves out the examples, as the reference does";
            (what, "use ZeroRetriever, or MultiTurnGenInferencer, whose prompts contain them", "inferencer")
        } else if kind.has_labels() && has_messages {
            let what = "the texts of labels are written without the examples, because messages have no place for them there, as in OpenCompass";
            (what, "use ZeroRetriever, or write dialogues in place of messages: { round = [ … ] }", name)
        } else {
            return None;
        };
        let warning = Warning::new("examples-left-out", what).with_way_out(way_out);
        Some(warning.at(format_args!("{}.{key}", self.key_path)))
    }

    /// A judge is meant to see the right answer.
    fn answer_shown(&self) -> Option<Warning> {
        use InferencerKind::{Choose, Generate};
        let (name, template) = self.own_template()?;
        let is_meant = template.masks_answer() || template.turn_columns().is_some() || template.layout().is_some();
        if is_meant || self.key_path != "infer_cfg" || !matches!(self.inferencer.kind, Generate | Choose) {
            return None;
        }
        let answer = self.task.output_column.as_deref()?;
        let shown = template.fields().into_iter().find(|field| field.column == answer)?;
        let what = format!(
            "the prompts contain the right answer: {{{answer}}} is the output_column, and {} does not leave it empty",
            template.describe()
        );
        let warning = Warning::new("answer-shown", what)
            .with_way_out("remove the field; only strings and dialogues { round = [ … ] } leave that column empty");
        Some(warning.at(self.located(name, shown).place))
    }
}
