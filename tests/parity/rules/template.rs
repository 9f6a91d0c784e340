//! Conditions on a dataset's templates, its rows and its inferencer.

use serde::Deserialize;
use serde_json::Value;

use crate::rules::job::{listed, prompting, split, templates};
use crate::rules::messages::{has_no_role, has_unknown_key, has_wrong_type, is_parts, parts_in_dialogue, said};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TemplateCondition {
    /// One of the templates is a dialogue, or `{}`.
    IsDialogue,
    /// It is one dialogue, and the inferencer lists no labels.
    HasNoLabels,
    /// A row has other choices than the first.
    ChoicesDiffer,
    /// It is a list of messages.
    IsMessages,
    /// A template of several turns is a string.
    TurnsAreText,
    /// A message of the template has content parts.
    HasParts,
    /// The rows have an output column.
    HasOutputColumn,
    /// The range of rows is a float.
    RangeIsFloat,
    /// The range of rows is Python, but no slice of plain numbers.
    RangeIsPython,
    /// Its ice_token, or the token to be replaced, is empty.
    IceTokenIsEmpty,
    /// It has a column_token_map.
    HasColumnTokenMap,
    /// A row has a column of a name that Python's functions use.
    HasPythonName,
    /// It asks for no turn of the model.
    SendsNothing,
    /// A part of the dialogue has a string of its own.
    HasText,
    /// A template of several turns has a row without answers, or with a string or a dict for a list.
    TurnsAreNoLists,
    /// A row's limit of the answer's length is a string.
    LimitIsText,
    /// A string of the template itself has the word "prompt_mm" in it.
    NamesPromptMm,
    /// A row that is asked has no answer, though there is a column for it.
    RowHasNoAnswer,
    /// A row that is asked has no column that the inferencer itself reads.
    RowHasNoLabel,
    /// A row that is asked lacks an input column.
    RowHasNoInput,
    /// The examples are messages, and one of their rows has no answer.
    ExampleHasNoAnswer,
    /// Messages come from a column, and one of them has no role, or a content that is neither text nor a list.
    ExpandsOtherThanMessages,
    /// The parts of a multimodal template are a list, not a text with tags.
    ContentIsList,
    /// What is normalized has no sep_token in it.
    HasNoSepToken,
    /// Each empty turn is asked.
    IsMultiround,
    /// A message of it has a key that nobody reads.
    HasUnknownKey,
    /// A message of it has no role.
    HasNoRole,
    /// A key of a message of it is of another type than it can be, or stands in a marker.
    WrongType,
    /// A message of it has a prompt that is null, and metatok refuses it, at the latest where it is written.
    PromptIsNull,
    /// A message of a dialogue has content parts. Those of a multimodal template are patterns.
    PartsInDialogue,
    /// Content parts in a dialogue are no list, or a column that they name is a list or null.
    OddPartsInDialogue,
    /// How often SCInferencer asks is null.
    SampleSizeIsNull,
}

impl TemplateCondition {
    pub(super) fn holds(&self, job: &Value) -> bool {
        let asked = || split(job, "test");
        let (templates, prompting) = (templates(job), prompting(job));
        let output_column = job["reader_cfg"]["output_column"].as_str();
        let lacks = |row: &Value, column: Option<&str>| column.is_some_and(|column| row.get(column).is_none());
        match self {
            Self::IsMessages => prompting["messages"].is_array(),
            Self::TurnsAreText => prompting["type"] == "MultiTurnPromptTemplate" && prompting["template"].is_string(),
            Self::HasParts => prompting.to_string().contains(r#""prompt_mm":"#),
            Self::HasOutputColumn => job["reader_cfg"]["output_column"].is_string(),
            Self::RangeIsFloat => job["size"].is_f64(),
            Self::RangeIsPython => {
                let range = job["size"].as_str().unwrap_or_default().replace("None", "");
                range.contains(|c: char| !"[]:-+ ".contains(c) && !c.is_ascii_digit())
            }
            Self::HasNoLabels => {
                let is_section = |key: &String| ["begin", "round", "end"].contains(&key.as_str());
                let template = prompting["template"].as_object();
                job["inferencer"]["labels"].is_null() && template.is_some_and(|keys| keys.keys().all(is_section))
            }
            Self::ChoicesDiffer => {
                let mut choices = job["test"].as_array().into_iter().flatten().map(|row| &row["choices"]);
                let first = choices.next();
                choices.any(|choices| Some(choices) != first)
            }
            Self::IsDialogue => templates.iter().any(|config| {
                config["template"]
                    .as_object()
                    .is_some_and(|keys| keys.keys().all(|key| ["begin", "round", "end"].contains(&key.as_str())))
            }),
            Self::IceTokenIsEmpty => job["src"] == "" || templates.iter().any(|config| config["ice_token"] == ""),
            Self::HasColumnTokenMap => templates.iter().any(|config| config.get("column_token_map").is_some()),
            Self::NamesPromptMm => ["begin", "round", "end"].iter().any(|part| {
                let part = &job["prompt_template"]["template"][part];
                let strings = part.as_array().into_iter().flatten().chain([part]).filter_map(Value::as_str);
                strings.into_iter().any(|text| text.contains("prompt_mm"))
            }),
            Self::SendsNothing => job["sends_nothing"] == true,
            Self::HasText => {
                let template = &job["prompt_template"]["template"];
                ["begin", "round", "end"].iter().any(|part| {
                    let part = &template[part];
                    part.is_string() || part.as_array().is_some_and(|items| items.iter().any(Value::is_string))
                })
            }
            Self::TurnsAreNoLists => {
                let is_no_list = |turns: &Value| turns.is_string() || turns.is_object();
                job["prompt_template"]["type"] == "MultiTurnPromptTemplate"
                    && listed(job, "rows").any(|row| {
                        row.get("answer").is_none() || is_no_list(&row["question"]) || is_no_list(&row["answer"])
                    })
            }
            Self::RowHasNoAnswer => asked().any(|row| lacks(row, output_column)),
            Self::RowHasNoLabel => asked().any(|row| lacks(row, Some("label"))),
            Self::RowHasNoInput => {
                let columns = &job["reader_cfg"]["input_columns"];
                let column = columns.as_str().or(columns[0].as_str());
                asked().any(|row| lacks(row, column))
            }
            Self::ExampleHasNoAnswer => {
                job["ice_template"]["messages"].is_array() && split(job, "train").any(|row| lacks(row, output_column))
            }
            Self::ExpandsOtherThanMessages => {
                let columns = || templates.iter().filter_map(|config| config["messages"].as_array()).flatten();
                let is_message = |message: &Value| {
                    message["role"].is_string() && (message["content"].is_string() || is_parts(&message["content"]))
                };
                columns().filter_map(|item| item["expand_column"].as_str()).any(|column| {
                    let expanded = asked().filter_map(|row| row[column].as_array()).flatten();
                    expanded.into_iter().any(|message| !is_message(message))
                })
            }
            Self::ContentIsList => {
                job["prompt_template"]["type"] == "MMPromptTemplate"
                    && listed(job, "rows").any(|row| row["content"].is_array())
            }
            Self::HasNoSepToken => {
                let token = templates.iter().find_map(|config| config["sep_token"].as_str());
                let has_token = |text: &str| token.is_some_and(|token| text.contains(token));
                let template = &prompting["template"];
                let labels = template.as_object().into_iter().flat_map(serde_json::Map::values);
                let pairs = template["$dict"].as_array().into_iter().flatten().map(|pair| &pair[1]);
                let mut texts = labels.chain(pairs).chain([template]).filter_map(Value::as_str);
                job["inferencer"]["normalizing_str"].is_string() && texts.any(|text| !has_token(text))
            }
            Self::IsMultiround => job["inferencer"]["multiround"] == true,
            Self::HasUnknownKey => {
                let keys =
                    ["role", "prompt", "prompt_mm", "fallback_role", "begin", "end", "generate", "section", "pos"];
                templates
                    .iter()
                    .any(|config| said(&config["template"]).into_iter().any(|item| has_unknown_key(item, &keys)))
            }
            Self::HasNoRole => templates.iter().any(|config| said(&config["template"]).into_iter().any(has_no_role)),
            Self::WrongType => templates.iter().any(|config| said(&config["template"]).into_iter().any(has_wrong_type)),
            Self::PromptIsNull => {
                let is_null = |item: &Value| item.get("prompt").is_some_and(Value::is_null);
                let mut messages = templates.iter().flat_map(|config| said(&config["template"]));
                (job["refused"] == true || job["refused_in_writing"] == true) && messages.any(is_null)
            }
            Self::PartsInDialogue => templates.iter().any(|config| !parts_in_dialogue(config).is_empty()),
            Self::OddPartsInDialogue => templates.iter().any(|config| {
                let parts = parts_in_dialogue(config);
                let is_odd = |value: &Value| value.is_null() || value.is_array() || value.is_object();
                let columns = listed(job, "rows").chain(listed(job, "examples")).filter_map(Value::as_object).flatten();
                let odd: Vec<String> =
                    columns.filter(|(_, value)| is_odd(value)).map(|(name, _)| format!("{{{name}}}")).collect();
                parts.into_iter().any(|parts| {
                    let text = parts.to_string();
                    !is_parts(parts) || odd.iter().any(|field| text.contains(field.as_str()))
                })
            }),
            Self::SampleSizeIsNull => job["inferencer"].get("sc_size").is_some_and(Value::is_null),
            Self::LimitIsText => listed(job, "rows").any(|row| row["max_out_len"].is_string()),
            Self::HasPythonName => [&job["args"]["entry"], &job["kwargs"]]
                .into_iter()
                .chain(listed(job, "rows"))
                .chain(listed(job, "examples"))
                .any(|row| row.get("input_str").is_some() || row.get("self").is_some()),
        }
    }
}
