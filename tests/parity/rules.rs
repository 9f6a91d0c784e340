//! The exceptions: when a case may differ from what is recorded.

use serde::Deserialize;
use serde_json::Value;

use crate::api::is_none;

/// When a case may differ: every condition that the rule gives must hold for what the case holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) name: String,
    #[allow(dead_code, reason = "for readers")]
    reason: String,
    /// What is recorded is an exception of one of these types.
    #[serde(default)]
    recorded_error: Vec<String>,
    /// What is recorded is so.
    recorded: Option<RecordedCondition>,
    /// Something in the meta template is so.
    meta: Option<MetaCondition>,
    /// Something in the prompt is so.
    prompt: Option<PromptCondition>,
    /// Something in a dataset's template is so.
    template: Option<TemplateCondition>,
    /// Whether metatok gives an error.
    refused: Option<bool>,
    /// One of these inferencers asks; the parsers of a chat are ChatInferencer's.
    inferencer: Option<Vec<String>>,
    /// The conversation has images, and one of these styles.
    images_in: Option<Vec<String>>,
    /// Something in a message of the conversation is so.
    message: Option<MessageCondition>,
    /// The conversation template has no `sep`, and one of these styles.
    no_sep_in: Option<Vec<String>>,
    /// Something in the template of the system message is so.
    system_template: Option<SystemTemplateCondition>,
    /// The conversation template has at most so many roles.
    roles: Option<usize>,
    /// The conversation template's offset is below nothing.
    #[serde(default)]
    negative_offset: bool,
    /// UltraFeedback's script is this one, and the model's name has this in it.
    script: Option<(String, String)>,
    /// This is so in a case about where output ends.
    stop: Option<String>,
    /// One of these wrappers cuts the middle out of a text.
    cuts_text_by: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedCondition {
    /// A string.
    Text,
    /// An empty list, or a list of them.
    EmptyList,
    /// What was found, with an empty list for an empty text.
    EmptyListForText,
    /// What was found, with the fields in content parts that were filled from the rows.
    UnfilledParts,
    /// What was found, with the `api_role` of the meta template's own turn.
    WithApiRole,
    /// A prompt list that opens with a string, or with a list of them.
    ListOpensWithText,
    /// A prompt list in which a turn's prompt is a list.
    PromptIsList,
    /// Content parts among which characters stand by themselves.
    CharactersAmongParts,
    /// A list of sections' names.
    SectionNames,
    /// A prompt list with the markers of its sections.
    SectionMarkers,
    /// No exception.
    Value,
    /// What was found, without the system messages that are empty.
    WithoutEmptySystem,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TemplateCondition {
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

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MetaCondition {
    /// A `begin` or `end` is a list.
    AffixIsList,
    /// `begin` is a dict, as API models have it.
    BeginIsDict,
    /// A role, or a `begin`, `prompt` or `end`, is null or of another type than it can be.
    WrongType,
    /// A role's `api_role` is none of HUMAN, BOT and SYSTEM.
    OtherApiRole,
    /// It is a list of messages, and one of them is of another role than system, user and assistant.
    MessageOfOtherRole,
    /// It is a list, and an item of it is no OpenAI-style message: it has no role, no content, or keys of a prompt list.
    OddMessages,
    /// It is a list of messages, and a content there or in the prompt is a list of parts.
    MessagesHaveParts,
    /// `begin` is a string, or a list.
    BeginIsText,
    /// There is none.
    IsNone,
    /// A role has an `api_role`, it is a list of messages, or the parser is that for APIs.
    IsForApi,
    /// It is a list of messages.
    IsMessages,
    /// A `generate` is neither true nor false.
    GenerateIsNoBool,
    /// The round has no roles.
    RoundIsEmpty,
    /// It has no round.
    HasNoRound,
    /// A role is defined twice.
    RoleTwice,
    /// It, or a role of it, has a key that nobody reads.
    HasUnknownKey,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PromptCondition {
    /// The section `end` is opened by a closing marker.
    EndOpenedByClosing,
    /// OpenAI-style messages.
    RawMessages,
    /// A prompt list.
    IsList,
    /// A marker of a section, or with a `pos`, that does not exist.
    UnknownMarker,
    /// Strings that all contain "role" and "content".
    StringsLikeMessages,
    /// A message in a round has a reserved role, and one to fall back to.
    ReservedInRound,
    /// A string is empty, or has the word "section" in it.
    TextLikeMarker,
    /// A chat has an odd number of messages.
    ChatIsOdd,
    /// In a chat, the model has nothing to answer.
    ChatHasNoTurn,
    /// A message of a chat has content parts.
    ChatHasParts,
    /// A plain list before a prompt list.
    PlainListFirst,
    /// A message is made of parts.
    HasParts,
    /// A chat without a message.
    EmptyChat,
    /// A section begins and never ends.
    SectionLeftOpen,
    /// A section begins in a round that has messages.
    SectionInRound,
    /// A chat names a role as the template does, not as OpenAI-style messages.
    ChatNamesRole,
    /// OpenAI-style messages of which there are none, alone or in a batch.
    NoMessages,
    /// A key of a message in a prompt list is of another type than it can be, or stands in a marker.
    WrongType,
    /// An OpenAI-style message is none: it has no content, or keys of a prompt list.
    OddMessages,
    /// A prompt list, or one in a batch, in which nobody says anything.
    NothingSaid,
    /// A message of a prompt list has no role.
    HasNoRole,
    /// A message of a chat has no role, or no content.
    ChatLacksKey,
    /// A message of a prompt list says nothing, not even an empty text.
    HasNoPrompt,
    /// A message of a prompt list has an `api_role` of its own.
    HasApiRole,
    /// A message of a prompt list has text and parts.
    HasTextAndParts,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageCondition {
    /// A pair of text and images has no image.
    PairWithoutImages,
    /// A pair of text and images has no text.
    PairWithoutText,
    /// It has the label "user" or "assistant", which is not the template's for that role; the prompts differ only in it.
    LabelNamesRole,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SystemTemplateCondition {
    /// Its field has a format, a conversion, an index or an attribute.
    FieldIsFormatted,
}

/// Where sections of a prompt list do not close.
#[derive(Default)]
struct Nesting {
    left_open: bool,
    in_round: bool,
}

impl Nesting {
    fn of(items: &[Value]) -> Self {
        let (mut nesting, mut open, mut has_said) = (Self::default(), Vec::new(), false);
        for item in items {
            let section = &item["section"];
            match item["pos"].as_str() {
                Some("begin") => {
                    let is_round = |section: &&Value| *section == "round" || *section == "ice";
                    nesting.in_round |= has_said && open.last().is_some_and(is_round);
                    open.push(section);
                    has_said = false;
                }
                Some(_) => {
                    // The section `end` may be opened by a closing marker.
                    if open.pop().is_none() && section == "end" {
                        open.push(section);
                    }
                    has_said = false;
                }
                None => has_said |= item.get("role").is_some(),
            }
        }
        nesting.left_open = !open.is_empty();
        nesting
    }
}

impl Rule {
    pub(crate) fn matches(&self, job: &Value, expected: &Value) -> bool {
        let error = expected.get("$error").and_then(Value::as_str);
        let error_fits = self.recorded_error.is_empty()
            || error.is_some_and(|error| self.recorded_error.iter().any(|known| known == error));
        let recorded_fits = match &self.recorded {
            None => true,
            Some(RecordedCondition::PromptIsList) => {
                let turns = [&expected["$pl"], expected].into_iter().filter_map(Value::as_array).flatten();
                turns.flat_map(|turn| [&turn["prompt"], &turn["content"]]).any(Value::is_array)
            }
            Some(RecordedCondition::CharactersAmongParts) => {
                let contents =
                    expected.as_array().into_iter().flatten().flat_map(|turn| [&turn["prompt"], &turn["content"]]);
                contents.filter_map(Value::as_array).any(|parts| parts.iter().any(Value::is_string))
            }
            Some(RecordedCondition::EmptyList) => expected
                .as_array()
                .is_some_and(|items| items.iter().all(|item| item.as_array().is_some_and(Vec::is_empty))),
            Some(RecordedCondition::EmptyListForText) => {
                let list = |found: &Value| if found == "" { Value::Array(Vec::new()) } else { found.clone() };
                let found = &job["found"];
                *expected == found.as_array().map_or_else(|| list(found), |batch| batch.iter().map(list).collect())
            }
            Some(RecordedCondition::UnfilledParts) => {
                job["found"] == with_filled_parts(expected, &mut rows_of_parts(job).into_iter())
            }
            Some(RecordedCondition::WithApiRole) => {
                let own = &job["meta"]["begin"]["api_role"];
                let mut expected = expected.clone();
                let messages = expected.as_array_mut().into_iter().flatten();
                let of_own =
                    messages.filter_map(Value::as_object_mut).find(|message| message.get("api_role") == Some(own));
                of_own.is_some_and(|message| message.remove("api_role").is_some()) && expected == job["found"]
            }
            Some(RecordedCondition::ListOpensWithText) => {
                [&expected["$pl"][0], &expected[0]].iter().any(|first| first.is_string() || first.is_array())
            }
            Some(RecordedCondition::Value) => error.is_none(),
            Some(RecordedCondition::WithoutEmptySystem) => {
                without_empty_systems(&job["found"]).as_ref() == Some(expected)
            }
            Some(RecordedCondition::Text) => expected.is_string() || expected.get("$sha256").is_some(),
            Some(RecordedCondition::SectionMarkers) => {
                expected["$pl"].as_array().is_some_and(|items| items.iter().any(|item| item.get("section").is_some()))
            }
            Some(RecordedCondition::SectionNames) => {
                let is_section = |name: &Value| ["begin", "round", "end"].iter().any(|section| name == section);
                expected.as_array().is_some_and(|names| !names.is_empty() && names.iter().all(is_section))
            }
        };
        let meta = &job["meta"];
        let roles = ["round", "reserved_roles"].into_iter().filter_map(|key| meta[key].as_array()).flatten();
        let is_messages = meta.is_array() && !is_none(meta);
        let meta_fits = match &self.meta {
            None => true,
            Some(MetaCondition::AffixIsList) => {
                roles.chain([meta]).any(|place| place["begin"].is_array() || place["end"].is_array())
            }
            Some(MetaCondition::WrongType) => {
                let is_text = |value: Option<&Value>| value.is_none_or(Value::is_string);
                let is_affix = |value: Option<&Value>| is_text(value) || value.is_some_and(Value::is_array);
                // A role has a prompt of its own, and a template a begin that may be a turn.
                let is_right = |role: &Value| {
                    let texts = ["role", "api_role", "prompt"].iter().all(|key| is_text(role.get(key)));
                    role.is_object() && texts && ["begin", "end"].iter().all(|key| is_affix(role.get(key)))
                };
                let round = || meta["round"].as_array().into_iter().flatten();
                let reserved = || meta["reserved_roles"].as_array().into_iter().flatten();
                let begin = meta.get("begin").filter(|begin| !begin.is_object());
                !is_affix(begin)
                    || !is_affix(meta.get("end"))
                    || !round().filter(|item| !item.is_string()).chain(reserved()).all(is_right)
            }
            // Only messages for an API need its roles.
            Some(MetaCondition::OtherApiRole) => {
                let is_other = |role: &str| !["HUMAN", "BOT", "SYSTEM"].contains(&role);
                job["found"].is_array() && roles.filter_map(|role| role["api_role"].as_str()).any(is_other)
            }
            Some(MetaCondition::MessageOfOtherRole) => {
                let is_known = |role: &Value| ["system", "user", "assistant"].iter().any(|known| role == known);
                is_messages && meta.as_array().into_iter().flatten().any(|message| !is_known(&message["role"]))
            }
            Some(MetaCondition::OddMessages) => {
                is_messages && meta.as_array().into_iter().flatten().any(is_odd_message)
            }
            Some(MetaCondition::MessagesHaveParts) => {
                let all = [meta, &job["prompt"]].into_iter().filter_map(Value::as_array).flatten();
                is_messages && all.into_iter().any(|message| is_parts(&message["content"]))
            }
            Some(MetaCondition::IsNone) => is_none(meta),
            Some(MetaCondition::IsForApi) => {
                let has_api_role = roles.into_iter().any(|role| role.get("api_role").is_some());
                has_api_role || is_messages || job["parser"] == "api"
            }
            Some(MetaCondition::IsMessages) => is_messages,
            Some(MetaCondition::BeginIsText) => {
                meta["begin"].as_str().is_some_and(|begin| !begin.is_empty()) || meta["begin"].is_array()
            }
            Some(MetaCondition::RoundIsEmpty) => meta["round"].as_array().is_some_and(Vec::is_empty),
            Some(MetaCondition::HasNoRound) => meta.is_object() && meta.get("round").is_none(),
            Some(MetaCondition::RoleTwice) => {
                let names: Vec<&Value> = roles.filter_map(|role| role.get("role")).collect();
                (1..names.len()).any(|i| names[..i].contains(&names[i]))
            }
            Some(MetaCondition::HasUnknownKey) => {
                let role_keys = ["role", "api_role", "begin", "prompt", "end", "generate"];
                has_unknown_key(meta, &["begin", "round", "end", "reserved_roles", "eos_token_id"])
                    || roles.into_iter().any(|role| has_unknown_key(role, &role_keys))
            }
            Some(MetaCondition::BeginIsDict) => meta["begin"].is_object(),
            Some(MetaCondition::GenerateIsNoBool) => {
                roles.into_iter().any(|role| role.get("generate").is_some_and(|generate| !generate.is_boolean()))
            }
        };
        // A prompt list, or each in a batch.
        let lists = || {
            let batch = job["prompt"].as_array().into_iter().flatten().chain([&job["prompt"]]);
            batch.filter_map(|prompt| prompt["$pl"].as_array())
        };
        let items = || lists().flatten();
        let nestings = || lists().map(|items| Nesting::of(items));
        let rows = |key: &str| job[key].as_array().into_iter().flatten();
        // All of them, or some by their numbers.
        let split = |key: &str| rows(key).chain(job[key].as_object().into_iter().flat_map(serde_json::Map::values));
        let asked = || split("test");
        let templates = [&job["prompt_template"], &job["ice_template"], &job["kwargs"]];
        // The examples' template makes prompts if there is no other.
        let prompting = [&job["prompt_template"], &job["ice_template"]].into_iter().find(|config| !config.is_null());
        let prompting = prompting.unwrap_or(&Value::Null);
        // The chat itself, or those in the columns of rows.
        let columns = asked().filter_map(Value::as_object);
        let columns = columns.flat_map(serde_json::Map::values).filter_map(Value::as_array);
        let in_rows = columns.filter(|column| column.iter().all(|message| message.get("role").is_some()));
        let in_rows: Vec<_> = in_rows.collect();
        let chats = || job["chat"].as_array().into_iter().chain(in_rows.iter().copied());
        let prompt_fits = match &self.prompt {
            None => true,
            Some(PromptCondition::IsList) => job["prompt"]["$pl"].is_array(),
            Some(PromptCondition::RawMessages) => job["prompt"].is_array(),
            Some(PromptCondition::UnknownMarker) => {
                let is_known = |key: &Value, known: &[&str]| key.is_null() || known.iter().any(|name| key == name);
                items().any(|item| {
                    !is_known(&item["pos"], &["begin", "end"])
                        || !is_known(&item["section"], &["begin", "round", "ice", "end"])
                })
            }
            Some(PromptCondition::StringsLikeMessages) => job["prompt"].as_array().is_some_and(|items| {
                items
                    .iter()
                    .all(|item| item.as_str().is_some_and(|item| item.contains("role") && item.contains("content")))
            }),
            Some(PromptCondition::ReservedInRound) => {
                let reserved = meta["reserved_roles"].as_array().into_iter().flatten();
                let reserved: Vec<&Value> = reserved.map(|role| &role["role"]).collect();
                // The parser that gives text does not lose it.
                !expected.is_string()
                    && items().any(|item| item.get("fallback_role").is_some() && reserved.contains(&&item["role"]))
            }
            Some(PromptCondition::TextLikeMarker) => {
                items().any(|item| item.as_str().is_some_and(|text| text.is_empty() || text.contains("section")))
            }
            Some(PromptCondition::HasParts) => items().any(|item| item.get("prompt_mm").is_some()),
            Some(PromptCondition::SectionLeftOpen) => nestings().any(|nesting| nesting.left_open),
            Some(PromptCondition::SectionInRound) => nestings().any(|nesting| nesting.in_round),
            Some(PromptCondition::ChatNamesRole) => {
                let is_name = |message: &Value| ["HUMAN", "BOT", "SYSTEM"].iter().any(|name| message["role"] == *name);
                chats().flatten().any(is_name)
            }
            Some(PromptCondition::NoMessages) => {
                let is_empty = |prompt: &Value| prompt.as_array().is_some_and(Vec::is_empty);
                is_empty(&job["prompt"]) || job["prompt"].as_array().into_iter().flatten().any(is_empty)
            }
            Some(PromptCondition::WrongType) => {
                items().any(|item| has_wrong_type(item) || item.get("prompt_mm").is_some_and(|parts| !is_parts(parts)))
            }
            Some(PromptCondition::OddMessages) => {
                let batch = job["prompt"].as_array().into_iter().flatten();
                let messages = batch.flat_map(|item| item.as_array().map_or(std::slice::from_ref(item), Vec::as_slice));
                messages.filter(|item| item.get("role").is_some()).any(is_odd_message)
            }
            Some(PromptCondition::NothingSaid) => {
                let has_parts = |item: &Value| item["prompt_mm"].as_array().is_some_and(|parts| !parts.is_empty());
                let has_text = |text: &Value| text.as_str().is_some_and(|text| !text.is_empty());
                let is_said = |item: &Value| has_text(item) || has_text(&item["prompt"]) || has_parts(item);
                lists().any(|items| !items.iter().any(is_said))
            }
            Some(PromptCondition::EmptyChat) => job["chat"].as_array().is_some_and(Vec::is_empty),
            Some(PromptCondition::ChatIsOdd) => chats().any(|chat| chat.len() % 2 == 1),
            Some(PromptCondition::ChatHasNoTurn) => {
                // One that opens the chat answers nothing.
                let has_turn = |chat: &Vec<Value>| chat.iter().skip(1).any(|message| message["role"] == "assistant");
                // A template's chat ends with the row's answer, if not with the model.
                let is_alone = matches!(&spoken(&prompting["template"])[..], [only] if only["role"] == "BOT");
                is_alone || !chats().all(has_turn)
            }
            Some(PromptCondition::ChatHasParts) => chats().flatten().any(|message| is_parts(&message["content"])),
            Some(PromptCondition::HasNoRole) => items().any(has_no_role),
            Some(PromptCondition::HasApiRole) => items().any(|item| item.get("api_role").is_some()),
            Some(PromptCondition::HasTextAndParts) => {
                items().any(|item| item.get("prompt").is_some() && item.get("prompt_mm").is_some())
            }
            Some(PromptCondition::HasNoPrompt) => {
                items().any(|item| item.get("role").is_some() && item.get("prompt").is_none())
            }
            Some(PromptCondition::ChatLacksKey) => {
                let is_message = |message: &Value| message["role"].is_string() && message["content"].is_string();
                chats().flatten().any(|message| !is_message(message))
            }
            Some(PromptCondition::PlainListFirst) => job["fn"] == "radd" && job["b"].is_array(),
            Some(PromptCondition::EndOpenedByClosing) => lists().any(|items| {
                let marker = items.iter().find(|item| item["section"] == "end");
                marker.is_some_and(|marker| marker["pos"] == "end")
            }),
        };
        let output_column = job["reader_cfg"]["output_column"].as_str();
        let lacks = |row: &Value, column: Option<&str>| column.is_some_and(|column| row.get(column).is_none());
        let kind = &job["inferencer"]["type"];
        let kind = kind["$type"].as_str().or(kind.as_str()).and_then(|name| name.rsplit('.').next());
        let template_fits = match &self.template {
            None => true,
            Some(TemplateCondition::IsMessages) => prompting["messages"].is_array(),
            Some(TemplateCondition::TurnsAreText) => {
                prompting["type"] == "MultiTurnPromptTemplate" && prompting["template"].is_string()
            }
            Some(TemplateCondition::HasParts) => prompting.to_string().contains(r#""prompt_mm":"#),
            Some(TemplateCondition::HasOutputColumn) => job["reader_cfg"]["output_column"].is_string(),
            Some(TemplateCondition::RangeIsFloat) => job["size"].is_f64(),
            Some(TemplateCondition::RangeIsPython) => {
                let range = job["size"].as_str().unwrap_or_default().replace("None", "");
                range.contains(|c: char| !"[]:-+ ".contains(c) && !c.is_ascii_digit())
            }
            Some(TemplateCondition::HasNoLabels) => {
                let is_section = |key: &String| ["begin", "round", "end"].contains(&key.as_str());
                let template = prompting["template"].as_object();
                job["inferencer"]["labels"].is_null() && template.is_some_and(|keys| keys.keys().all(is_section))
            }
            Some(TemplateCondition::ChoicesDiffer) => {
                let mut choices = job["test"].as_array().into_iter().flatten().map(|row| &row["choices"]);
                let first = choices.next();
                choices.any(|choices| Some(choices) != first)
            }
            Some(TemplateCondition::IsDialogue) => templates.iter().any(|config| {
                config["template"]
                    .as_object()
                    .is_some_and(|keys| keys.keys().all(|key| ["begin", "round", "end"].contains(&key.as_str())))
            }),
            Some(TemplateCondition::IceTokenIsEmpty) => {
                job["src"] == "" || templates.iter().any(|config| config["ice_token"] == "")
            }
            Some(TemplateCondition::HasColumnTokenMap) => {
                templates.iter().any(|config| config.get("column_token_map").is_some())
            }
            Some(TemplateCondition::NamesPromptMm) => ["begin", "round", "end"].iter().any(|part| {
                let part = &job["prompt_template"]["template"][part];
                let strings = part.as_array().into_iter().flatten().chain([part]).filter_map(Value::as_str);
                strings.into_iter().any(|text| text.contains("prompt_mm"))
            }),
            Some(TemplateCondition::SendsNothing) => job["sends_nothing"] == true,
            Some(TemplateCondition::HasText) => {
                let template = &job["prompt_template"]["template"];
                ["begin", "round", "end"].iter().any(|part| {
                    let part = &template[part];
                    part.is_string() || part.as_array().is_some_and(|items| items.iter().any(Value::is_string))
                })
            }
            Some(TemplateCondition::TurnsAreNoLists) => {
                let is_no_list = |turns: &Value| turns.is_string() || turns.is_object();
                job["prompt_template"]["type"] == "MultiTurnPromptTemplate"
                    && rows("rows").any(|row| {
                        row.get("answer").is_none() || is_no_list(&row["question"]) || is_no_list(&row["answer"])
                    })
            }
            Some(TemplateCondition::RowHasNoAnswer) => asked().any(|row| lacks(row, output_column)),
            Some(TemplateCondition::RowHasNoLabel) => asked().any(|row| lacks(row, Some("label"))),
            Some(TemplateCondition::RowHasNoInput) => {
                let columns = &job["reader_cfg"]["input_columns"];
                let column = columns.as_str().or(columns[0].as_str());
                asked().any(|row| lacks(row, column))
            }
            Some(TemplateCondition::ExampleHasNoAnswer) => {
                job["ice_template"]["messages"].is_array() && split("train").any(|row| lacks(row, output_column))
            }
            Some(TemplateCondition::ExpandsOtherThanMessages) => {
                let columns = || templates.iter().filter_map(|config| config["messages"].as_array()).flatten();
                let is_message = |message: &Value| {
                    message["role"].is_string() && (message["content"].is_string() || is_parts(&message["content"]))
                };
                columns().filter_map(|item| item["expand_column"].as_str()).any(|column| {
                    let expanded = asked().filter_map(|row| row[column].as_array()).flatten();
                    expanded.into_iter().any(|message| !is_message(message))
                })
            }
            Some(TemplateCondition::ContentIsList) => {
                job["prompt_template"]["type"] == "MMPromptTemplate"
                    && rows("rows").any(|row| row["content"].is_array())
            }
            Some(TemplateCondition::HasNoSepToken) => {
                let token = templates.iter().find_map(|config| config["sep_token"].as_str());
                let has_token = |text: &str| token.is_some_and(|token| text.contains(token));
                let template = &prompting["template"];
                let labels = template.as_object().into_iter().flat_map(serde_json::Map::values);
                let pairs = template["$dict"].as_array().into_iter().flatten().map(|pair| &pair[1]);
                let mut texts = labels.chain(pairs).chain([template]).filter_map(Value::as_str);
                job["inferencer"]["normalizing_str"].is_string() && texts.any(|text| !has_token(text))
            }
            Some(TemplateCondition::IsMultiround) => job["inferencer"]["multiround"] == true,
            Some(TemplateCondition::HasUnknownKey) => {
                let keys =
                    ["role", "prompt", "prompt_mm", "fallback_role", "begin", "end", "generate", "section", "pos"];
                templates
                    .iter()
                    .any(|config| said(&config["template"]).into_iter().any(|item| has_unknown_key(item, &keys)))
            }
            Some(TemplateCondition::HasNoRole) => {
                templates.iter().any(|config| said(&config["template"]).into_iter().any(has_no_role))
            }
            Some(TemplateCondition::WrongType) => {
                templates.iter().any(|config| said(&config["template"]).into_iter().any(has_wrong_type))
            }
            Some(TemplateCondition::PromptIsNull) => {
                let is_null = |item: &Value| item.get("prompt").is_some_and(Value::is_null);
                let mut messages = templates.iter().flat_map(|config| said(&config["template"]));
                (job["refused"] == true || job["refused_in_writing"] == true) && messages.any(is_null)
            }
            Some(TemplateCondition::PartsInDialogue) => {
                templates.iter().any(|config| !parts_in_dialogue(config).is_empty())
            }
            Some(TemplateCondition::OddPartsInDialogue) => templates.iter().any(|config| {
                let parts = parts_in_dialogue(config);
                let is_odd = |value: &Value| value.is_null() || value.is_array() || value.is_object();
                let columns = rows("rows").chain(rows("examples")).filter_map(Value::as_object).flatten();
                let odd: Vec<String> =
                    columns.filter(|(_, value)| is_odd(value)).map(|(name, _)| format!("{{{name}}}")).collect();
                parts.into_iter().any(|parts| {
                    let text = parts.to_string();
                    !is_parts(parts) || odd.iter().any(|field| text.contains(field.as_str()))
                })
            }),
            Some(TemplateCondition::SampleSizeIsNull) => job["inferencer"].get("sc_size").is_some_and(Value::is_null),
            Some(TemplateCondition::LimitIsText) => rows("rows").any(|row| row["max_out_len"].is_string()),
            Some(TemplateCondition::HasPythonName) => [&job["args"]["entry"], &job["kwargs"]]
                .into_iter()
                .chain(rows("rows"))
                .chain(rows("examples"))
                .any(|row| row.get("input_str").is_some() || row.get("self").is_some()),
        };
        let inferencer_fits = match &self.inferencer {
            None => true,
            Some(known) => known.iter().any(|name| kind == Some(name)),
        };
        let wrapper_fits = match &self.cuts_text_by {
            None => true,
            Some(wrappers) => wrappers.iter().any(|wrapper| job["cuts_text_by"] == **wrapper),
        };
        let has_images = || {
            job["messages"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|message| message["images"].as_u64().is_some_and(|n| n > 0))
        };
        let images_fit = match &self.images_in {
            None => true,
            Some(styles) => styles.iter().any(|style| job["sep_style"] == **style) && has_images(),
        };
        let mut messages = job["messages"].as_array().into_iter().flatten();
        let message_fits = match &self.message {
            None => true,
            Some(MessageCondition::PairWithoutImages) => messages.any(|message| message["images"] == 0),
            Some(MessageCondition::PairWithoutText) => {
                messages.any(|message| message["images"].is_number() && message["content"].is_null())
            }
            Some(MessageCondition::LabelNamesRole) => messages.any(|message| {
                let role = ["user", "assistant"].iter().position(|role| message["label"] == *role);
                let is_by_role = job["found"]["prompt"] == job["labelled"]["by_role"];
                let is_literal = expected["prompt"] == job["labelled"]["literally"];
                let stops = ["stop_str", "stop_token_ids"];
                let has_stops = stops.iter().all(|key| job["found"][key] == expected[key]);
                let is_other = role.is_some_and(|role| message["label"] != job["roles"][role]);
                is_other && is_by_role && is_literal && has_stops
            }),
        };
        let sep_fits = match &self.no_sep_in {
            None => true,
            Some(styles) => job["sep"].is_null() && styles.iter().any(|style| job["sep_style"] == **style),
        };
        let system_template_fits = match &self.system_template {
            None => true,
            Some(SystemTemplateCondition::FieldIsFormatted) => {
                let text = job["system_template"].as_str().unwrap_or_default();
                [":", "!", "[", "."].iter().any(|then| text.contains(&format!("{{system_message{then}")))
            }
        };
        let roles_fit = self.roles.is_none_or(|n| job["roles"].as_array().is_some_and(|roles| roles.len() <= n));
        let offset_fits = !self.negative_offset || job["offset"].as_i64().is_some_and(|offset| offset < 0);
        let script_fits = match &self.script {
            None => true,
            Some((script, model)) => {
                job["script"] == **script
                    && job["model_type"].as_str().is_some_and(|name| name.contains(model.as_str()))
            }
        };
        let stop_fits = match &self.stop {
            None => true,
            Some(fact) => job["stop"].as_array().into_iter().flatten().any(|known| known == fact.as_str()),
        };
        let refused_fits = self.refused.is_none_or(|refused| refused == (job["refused"] == true));
        stop_fits
            && refused_fits
            && inferencer_fits
            && images_fit
            && message_fits
            && sep_fits
            && system_template_fits
            && roles_fit
            && offset_fits
            && script_fits
            && wrapper_fits
            && error_fits
            && recorded_fits
            && meta_fits
            && prompt_fits
            && template_fits
    }
}

/// Whether a dict has another key than these.
fn has_unknown_key(value: &Value, known: &[&str]) -> bool {
    value.as_object().is_some_and(|keys| keys.keys().any(|key| !known.contains(&key.as_str())))
}

/// Whether a key of a message is of another type than it can be, or stands in a marker. Content parts are others' business.
fn has_wrong_type(item: &Value) -> bool {
    let is_text = |key: &&str| item.get(key).is_none_or(Value::is_string);
    let has_texts = ["role", "prompt", "begin", "end"].iter().all(is_text);
    let has_fallback = item["fallback_role"].is_null() || item["fallback_role"].is_string();
    let has_generate = item.get("generate").is_none_or(Value::is_boolean);
    let is_two = item.get("section").is_some() && has_unknown_key(item, &["section", "pos"]);
    item.is_object() && (!has_texts || !has_fallback || !has_generate || is_two)
}

/// Whether this is no OpenAI-style message: it has no role, no content, or keys of a prompt list.
fn is_odd_message(item: &Value) -> bool {
    let others = ["prompt", "prompt_mm", "fallback_role", "begin", "end", "generate", "section", "pos"];
    let has_content = item["content"].is_string() || is_parts(&item["content"]);
    !item["role"].is_string() || !has_content || others.iter().any(|key| item.get(key).is_some())
}

/// Whether an item of a prompt list is a message of nobody.
fn has_no_role(item: &Value) -> bool {
    item.is_object() && item.get("role").is_none() && item.get("section").is_none()
}

/// Whether a content is a list of parts.
fn is_parts(content: &Value) -> bool {
    content.as_array().is_some_and(|parts| parts.iter().all(Value::is_object))
}

/// The items of a dialogue, or of those for each label.
fn said(template: &Value) -> Vec<&Value> {
    let dialogues = template.as_object().into_iter().flat_map(serde_json::Map::values).chain([template]);
    let parts = dialogues.flat_map(|dialogue| ["begin", "round", "end"].map(|part| &dialogue[part]));
    parts.filter_map(Value::as_array).flatten().collect()
}

/// The content parts in a dialogue, each message's.
fn parts_in_dialogue(config: &Value) -> Vec<&Value> {
    let is_pattern = config["type"] == "MMPromptTemplate";
    let messages = if is_pattern { Vec::new() } else { said(&config["template"]) };
    messages.into_iter().filter_map(|message| message.get("prompt_mm")).collect()
}

/// The row that each content part of a prompt is filled from, in their order: those of the examples, then those of the
/// row, or of each turn in it.
fn rows_of_parts(job: &Value) -> Vec<Value> {
    let list = |key: &str| job[key].as_array().cloned().unwrap_or_default();
    let config = &job["prompt_template"];
    let has_turns = config["type"] == "MultiTurnPromptTemplate";
    let mut rows = Vec::new();
    for mut row in list("rows") {
        let Some(columns) = row.as_object_mut() else { continue };
        if !has_turns {
            // The answer is masked.
            let answer = job["reader_cfg"]["output_column"].as_str();
            if let Some(answer) = answer.and_then(|column| columns.get_mut(column)) {
                *answer = "".into();
            }
            rows.push(row);
            continue;
        }
        let turns = columns.values().filter_map(Value::as_array).map(Vec::len).max().unwrap_or(1);
        let of_turn =
            |i: usize| columns.iter().map(move |(name, value)| (name.clone(), value.get(i).unwrap_or(value).clone()));
        rows.extend((0..turns).map(|i| Value::Object(of_turn(i).collect())));
    }
    let repeated = |rows: Vec<Value>, config: &Value| {
        let parts: usize = parts_in_dialogue(config).into_iter().filter_map(Value::as_array).map(Vec::len).sum();
        rows.into_iter().flat_map(move |row| std::iter::repeat_n(row, parts))
    };
    repeated(list("examples"), &job["ice_template"]).chain(repeated(rows, config)).collect()
}

/// What is recorded, with each content part filled from its row.
fn with_filled_parts(recorded: &Value, rows: &mut dyn Iterator<Item = Value>) -> Value {
    match recorded {
        Value::Array(items) => items
            .iter()
            .map(|item| match item.get("type") {
                Some(_) => rows.next().map_or_else(|| item.clone(), |row| filled(item, &row)),
                None => with_filled_parts(item, rows),
            })
            .collect(),
        Value::Object(keys) => {
            // A fallback role that is null is none.
            let keys = keys.iter().filter(|(key, value)| *key != "fallback_role" || !value.is_null());
            Value::Object(keys.map(|(key, value)| (key.clone(), with_filled_parts(value, rows))).collect())
        }
        other => other.clone(),
    }
}

/// A content part with the columns of a row for its fields.
fn filled(part: &Value, row: &Value) -> Value {
    match part {
        Value::String(text) => {
            let (mut filled, mut rest) = (String::new(), text.as_str());
            while let Some((before, after)) = rest.split_once('{') {
                filled += before;
                let field = after.split_once('}').and_then(|(name, after)| Some((row.get(name)?, after)));
                match field {
                    Some((value, _)) => filled += &value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                    None => filled.push('{'),
                }
                rest = field.map_or(after, |(_, after)| after);
            }
            (filled + rest).into()
        }
        Value::Array(items) => items.iter().map(|item| self::filled(item, row)).collect(),
        Value::Object(keys) => keys.iter().map(|(key, value)| (key.clone(), self::filled(value, row))).collect(),
        other => other.clone(),
    }
}

/// What `ChatInferencer` makes messages of.
fn spoken(template: &Value) -> Vec<&Value> {
    let parts = ["begin", "round", "end"].map(|part| &template[part]);
    let items = parts.into_iter().flat_map(|part| part.as_array().map_or(std::slice::from_ref(part), Vec::as_slice));
    let is_spoken = |item: &&Value| match item.as_str() {
        Some(text) => !text.is_empty(),
        None => ["HUMAN", "BOT", "SYSTEM"].iter().any(|role| item["role"] == *role),
    };
    items.filter(is_spoken).collect()
}

/// Messages without the empty ones of the system, if they have some, after which those beside them are merged.
fn without_empty_systems(messages: &Value) -> Option<Value> {
    let is_empty_system = |message: &Value| message["role"] == "system" && message["content"] == "";
    let messages = messages.as_array().filter(|messages| messages.iter().any(is_empty_system))?;
    let mut kept: Vec<Value> = Vec::new();
    for message in messages.iter().filter(|message| !is_empty_system(message)) {
        match kept.last_mut().filter(|last| last["role"] == message["role"]) {
            Some(last) => {
                let text = |content: &Value| content.as_str().unwrap_or_default().to_owned();
                last["content"] = format!("{}\n{}", text(&last["content"]), text(&message["content"])).into();
            }
            None => kept.push(message.clone()),
        }
    }
    Some(kept.into())
}
