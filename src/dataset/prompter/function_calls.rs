//! Rows that ask a model to call functions: AISBench's `BFCLV3FunctionCallInferencer`.

use std::borrow::Cow;

use crate::conversation::{Conversation, tools_would_be_lost};
use crate::dataset::prompter::RowPrompt;
use crate::dataset::row_error;
use crate::dataset::rows::{Row, Value};
use crate::dataset::template::message;
use crate::error::{At, Place, Result};

/// The messages of the first turn in the column `question`, and the descriptions of tools in the column `tools`. Either
/// may be JSON in a string. Later turns depend on the functions' results.
pub(crate) fn first_prompt(row: &Row, for_server: bool) -> Result<RowPrompt> {
    let question = match (listed(row, "question")?, row.get("question")) {
        (Some(question), _) => question,
        (None, Some(empty)) => return Err(no_turns(empty)),
        (None, None) => return Err(row.no_column("question")),
    };
    let Value::List(turns) = &*question else { return Err(no_turns(&question)) };
    let Some(Value::List(messages)) = turns.first() else { return Err(no_turns(&question)) };
    let messages =
        messages.iter().enumerate().map(|(i, one)| message(one).at(format_args!("column \"question\"[0][{i}]")));
    let messages = messages.collect::<Result<Vec<_>>>()?;
    let tools = tools(row)?;
    if tools.is_some() && !for_server {
        return Err(tools_would_be_lost());
    }
    Ok(RowPrompt { tools, ..Conversation::Messages(messages).into() })
}

fn tools(row: &Row) -> Result<Option<String>> {
    match listed(row, "tools")? {
        // The order of keys stays, because templates write it out.
        Some(tools) => Ok(Some(serde_json::to_string(&*tools).expect("a row's values are JSON"))),
        None if row.get("function").is_some() => Err(row_error(
            "the row has a column \"function\" but no \"tools\": put the result of bfcl_eval's convert_to_tool in \"tools\", or its system prompt in the messages, and then remove \"function\"",
        )),
        None => Ok(None),
    }
}

/// A column that contains a list; none if the row lacks it, or if the list is empty.
fn listed<'r>(row: &'r Row, column: &str) -> Result<Option<Cow<'r, Value>>> {
    let value = match row.get(column) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Text(json)) => Cow::Owned(Value::from_json(json).at(Place::column(column))?),
        Some(value) => Cow::Borrowed(value),
    };
    match &*value {
        Value::List(items) if items.is_empty() => Ok(None),
        Value::List(_) => Ok(Some(value)),
        other => Err(row_error(&format!("column {column:?} must be a list, not {}", other.shown()))),
    }
}

fn no_turns(question: &Value) -> crate::Error {
    row_error(&format!(
        "column \"question\" must be a list of turns, each a list of {{role, content}} messages, not {}",
        question.shown()
    ))
}
