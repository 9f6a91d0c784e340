//! Prompt templates in tasks and dataset files: how they handle examples, and which keys they read.

use crate::conversation::{Conversation, Item};
use crate::dataset::dataset_error;
use crate::dataset::rows::{Row, Value};
use crate::dataset::template::fields::TemplateText;
use crate::dataset::template::label_templates::{LabelTemplate, Template};
use crate::dataset::template::row_template::{ExampleSupport, RowTemplate, TemplateInput};
use crate::dataset::template::template_kind::{TemplateKeys, TemplateKind};
use crate::dataset::template::{PromptTemplate, SECTIONS, Substitution, TemplateField, fields};
use crate::error::{At, Result};
use crate::wording::is_misspelt;

impl RowTemplate for PromptTemplate {
    fn describe(&self) -> &'static str {
        "a template"
    }

    fn fill(&self, input: &TemplateInput<'_>) -> Result<Conversation> {
        self.prompt(input.row, input.masked, input.examples)
    }

    fn fill_for_label(&self, input: &TemplateInput<'_>, label: &Value, keep_sep_token: bool) -> Result<Conversation> {
        self.label_prompt(input.row, input.examples, label, keep_sep_token)
    }

    fn labels(&self) -> Option<Vec<Value>> {
        Self::labels(self).map(|labels| labels.cloned().collect())
    }

    fn example_support(&self) -> ExampleSupport {
        ExampleSupport::Placed
    }

    fn example_needs_label(&self) -> bool {
        true
    }

    fn example(&self, row: &Row, label: Option<&Value>) -> Result<Conversation> {
        Self::example(self, row, label.unwrap_or(&Value::Null))
    }

    fn join_examples(&self, examples: Vec<Conversation>, separators: (&str, &str)) -> Result<Conversation> {
        joined(examples, if self.is_dialogue() { ("", "") } else { separators })
    }

    fn ice_token(&self) -> Option<&str> {
        self.ice_token.as_deref()
    }

    fn sep_token(&self) -> Option<&str> {
        self.sep_token.as_deref()
    }

    fn is_string(&self) -> bool {
        matches!(self.template, Template::Text(_))
    }

    fn string_beside_dialogues(&self) -> Option<&Value> {
        let Template::Labels(labels) = &self.template else { return None };
        let is_dialogue = |(_, template): &(Value, LabelTemplate)| matches!(template, LabelTemplate::Dialogue(_));
        let string = labels.iter().find(|(_, template)| matches!(template, LabelTemplate::Text(_)));
        string.filter(|_| labels.iter().any(is_dialogue)).map(|(label, _)| label)
    }

    fn is_dialogue(&self) -> bool {
        Self::is_dialogue(self)
    }

    fn masks_answer(&self) -> bool {
        true
    }

    fn fields(&self) -> Vec<TemplateField> {
        let mut found = fields::of_texts(&self.texts());
        // A token is not a field, even if it looks like one.
        let tokens = [&self.ice_token, &self.sep_token];
        found.retain(|field| !tokens.into_iter().flatten().any(|token| *token == format!("{{{}}}", field.column)));
        found
    }

    /// Except in one pass.
    fn fills_examples(&self) -> bool {
        !self.is_single_pass()
    }

    /// None if tokens name the fields.
    fn texts(&self) -> Vec<TemplateText> {
        if !self.column_token_map.is_empty() {
            return Vec::new();
        }
        match &self.template {
            Template::Text(text) => vec![TemplateText::new("template", text)],
            Template::Dialogue(dialogue) => dialogue.texts("template"),
            Template::Labels(labels) => {
                let of_label = |(label, template): &(Value, LabelTemplate)| {
                    let place = format!("template.{}", label.text());
                    match template {
                        LabelTemplate::Text(text) => vec![TemplateText::new(place, text)],
                        LabelTemplate::Dialogue(dialogue) => dialogue.texts(&place),
                        LabelTemplate::List => Vec::new(),
                    }
                };
                labels.iter().flat_map(of_label).collect()
            }
        }
    }

    fn set_single_pass(&mut self) {
        self.substitution = Substitution::SinglePass;
    }

    fn set_max_row_bytes(&mut self, bytes: usize) {
        self.max_row_bytes = bytes;
    }
}

/// Examples of one kind side by side: strings with the separators, dialogues with the separators as separate items. Source:
/// `BaseRetriever.generate_ice` of OpenCompass.
fn joined(examples: Vec<Conversation>, (separator, eos): (&str, &str)) -> Result<Conversation> {
    if !matches!(examples.first(), Some(Conversation::List(_))) {
        let texts = examples.iter().map(|example| match example {
            Conversation::Text(text) => Ok(text.as_str()),
            _ => Err(dataset_error("some examples are strings and some are dialogues; use only one kind")),
        });
        return Ok(Conversation::Text(texts.collect::<Result<Vec<_>>>()?.join(separator) + eos));
    }
    let mut list = Vec::new();
    for example in examples {
        match example {
            Conversation::List(items) => {
                list.extend(items);
                list.extend(Some(separator.to_owned()).filter(|text| !text.is_empty()).map(Item::Text));
            }
            // Python's `+` makes one string of two.
            Conversation::Text(text) => {
                list.extend(Some(text + separator).filter(|text| !text.is_empty()).map(Item::Text));
            }
            Conversation::Messages(_) | Conversation::Chat(_) => {
                return Err(dataset_error("messages cannot be mixed with dialogues"));
            }
        }
    }
    list.push(Item::Text(eos.to_owned()));
    Ok(Conversation::List(list))
}

pub(super) const KIND: TemplateKind = TemplateKind { class: "PromptTemplate", keys: &[], read };

/// OpenCompass's name for templates of messages. It is one only if it has `messages`.
pub(super) const RAW_KIND: TemplateKind = TemplateKind { class: "RawPromptTemplate", keys: &[], read };

fn read(template: &Value, keys: &mut TemplateKeys) -> Result<Box<dyn RowTemplate>> {
    let (ice_token, sep_token) = (keys.text("ice_token"), keys.text("sep_token"));
    check_keys(template)?;
    let mut read = PromptTemplate::new(template, ice_token.as_deref(), sep_token.as_deref())?;
    read.substitution = keys.substitution();
    // Keys of files are strings, whatever type the labels of the rows have.
    read.labels_by_text = true;
    if let Some(Value::Dict(map)) = keys.column_token_map.take() {
        let pairs = map.into_iter().map(|(column, token)| (column.text().into(), token.text().into()));
        read = read.with_column_token_map(pairs.collect())?;
    }
    Ok(read.into())
}

/// Rejects a dialogue with an unknown key, and lists in place of the templates of labels. The reference only does so once a
/// row has that label.
fn check_keys(template: &Value) -> Result<()> {
    let Value::Dict(entries) = template else { return Ok(()) };
    let is_list_of_section = |(key, value): &(Value, Value)| is_section(&key.text()) && matches!(value, Value::List(_));
    let wrong = match entries.iter().any(is_list_of_section) {
        true => entries.iter().find(|(key, _)| !is_section(&key.text())).map(|(key, _)| unknown_section(&key.text())),
        false => entries.iter().find(|(_, value)| matches!(value, Value::List(_))).map(|(key, _)| list(&key.text())),
    };
    wrong.map_or(Ok(()), |what| Err(dataset_error(&what))).at("template")
}

fn is_section(key: &str) -> bool {
    SECTIONS.contains(&key)
}

fn unknown_section(key: &str) -> String {
    match SECTIONS.iter().find(|section| is_misspelt(key, section)) {
        Some(section) => format!("unknown key `{key}`; did you mean `{section}`?"),
        None => format!("unknown key `{key}`; a dialogue has begin, round and end"),
    }
}

/// What is wrong with a list in place of the template of a label.
fn list(label: &str) -> String {
    match label {
        "messages" => {
            "messages stand in place of template, not within it: write prompt_template = { messages = [ … ] }".into()
        }
        label if SECTIONS.iter().any(|section| is_misspelt(label, section)) => unknown_section(label),
        label => format!("{label}: a list is not a template; write {{round = [ … ]}}"),
    }
}
