//! A dialogue that grows, turn by turn.

use std::sync::{Mutex, MutexGuard, PoisonError};

use metatok::build::Notes;
use metatok::conversation::{Chat, ChatMessage, Conversation};
use metatok::error::{ErrorKind, Warning};
use metatok::turns::DialogueState;
use metatok::{PromptBuilder, read_options};
use pyo3::prelude::*;

use crate::builder::{Builder, budget_of};
use crate::error::{OrRaise, warn};
use crate::json::{options_to_json, to_json};
use crate::objects::data;
use crate::prompt::{Built, Prompt, known};

/// A dialogue, which remembers what the engine has seen.
#[pyclass(frozen, module = "metatok._metatok")]
#[derive(Debug)]
pub(crate) struct Dialogue {
    dialogue: Mutex<metatok::Dialogue>,
    builder: PromptBuilder,
    told: Mutex<Notes>,
}

#[pymethods]
impl Dialogue {
    /// `chat` has what a chat template reads besides messages.
    #[new]
    fn new(
        builder: &Builder,
        chat: &Bound<'_, PyAny>,
        budget: Option<&Bound<'_, PyAny>>,
        headroom: usize,
        strip_thoughts: bool,
    ) -> PyResult<Self> {
        let chat: Chat = read_options(&options_to_json(chat)?).or_raise(chat.py())?;
        let mut dialogue = builder.shared.builder.dialogue().headroom(headroom).strip_thoughts(strip_thoughts);
        dialogue = dialogue.chat_template_kwargs(chat.chat_template_kwargs);
        if let Some(tools) = chat.tools {
            dialogue = dialogue.tools(tools);
        }
        if let Some(documents) = chat.documents {
            dialogue = dialogue.documents(documents);
        }
        if let Some(budget) = budget {
            dialogue = dialogue.budget(budget_of(budget)?);
        }
        Ok(Self::of(builder, dialogue))
    }

    /// Goes on with what [`Self::state`] gave.
    #[staticmethod]
    fn resume(py: Python<'_>, builder: &Builder, state: &str) -> PyResult<Self> {
        let state: metatok::Result<DialogueState> =
            serde_json::from_str(state).map_err(|error| ErrorKind::Invalid(error.to_string()).into());
        let dialogue = builder.shared.builder.resume(state.or_raise(py)?).or_raise(py)?;
        Ok(Self::of(builder, dialogue))
    }

    /// Everything but the builder, as JSON.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        let state = serde_json::to_string(&self.locked().state());
        state.map_err(|error| ErrorKind::Invalid(error.to_string()).into()).or_raise(py)
    }

    fn push(&self, message: &Bound<'_, PyAny>) -> PyResult<()> {
        let read = serde_json::from_value::<ChatMessage>(to_json(message)?);
        let read = read.map_err(|error| ErrorKind::Conversation(error.to_string()).into());
        let message = read.or_raise(message.py())?;
        self.locked().push(message);
        Ok(())
    }

    fn pop<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let message = self.locked().pop();
        data(py, &message)
    }

    fn answer_ids(&self, py: Python<'_>, ids: Vec<u32>) -> PyResult<()> {
        let read = self.locked().answer_ids(&ids);
        read.or_raise(py)
    }

    fn answer_text(&self, text: String) {
        self.locked().answer_text(text);
    }

    /// The prompt, how many of its tokens the engine has seen, why not more, and what was dropped.
    fn next_prompt<'py>(&self, py: Python<'py>) -> PyResult<(Built<'py>, usize, Option<String>, Bound<'py, PyAny>)> {
        let next = py.detach(|| self.locked().next_prompt()).or_raise(py)?;
        let conversation = Conversation::from(self.locked().chat().clone());
        let warnings = py.detach(|| self.omitted(&conversation));
        warnings.iter().try_for_each(|warning| warn(py, warning))?;
        let truncated = next.truncated.map(|truncated| serde_json::json!(truncated));
        let why = next.prefix_break.map(|why| why.to_string());
        let built = Prompt { truncated, ..Prompt::of(next.prompt, || Ok(conversation)).or_raise(py)? };
        Ok((known(py, &self.builder.role_names(), built.split())?, next.prefix_tokens, why, data(py, &next.dropped)?))
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let messages = self.locked().messages().to_vec();
        data(py, &messages)
    }
}

impl Dialogue {
    fn of(builder: &Builder, dialogue: metatok::Dialogue) -> Self {
        Self { dialogue: Mutex::new(dialogue), builder: builder.shared.builder.clone(), told: Mutex::default() }
    }

    /// What the prompt leaves out of the messages, unless that was told before.
    fn omitted(&self, conversation: &Conversation) -> Vec<Warning> {
        let mut notes = Notes::default();
        notes.see_conversation(conversation, &self.builder, "the dialogue");
        self.told.lock().unwrap_or_else(PoisonError::into_inner).tell_new(notes)
    }

    /// Not to be held while Python may run: another thread would wait for it with the interpreter's lock.
    fn locked(&self) -> MutexGuard<'_, metatok::Dialogue> {
        self.dialogue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
