//! A builder of prompts, made of a model, a tokenizer and options.

use std::borrow::Cow;

use metatok::batch::{Padding, PaddingSide};
use metatok::builder::TokenizedPrompt;
use metatok::conversation::{Conversation, Mode};
use metatok::dataset::prompter::ScoredText;
use metatok::dialect::{Model, ModelChoice};
use metatok::error::{ErrorKind, Place, Result, Warning};
use metatok::truncate::Fitted;
use metatok::{ContextBudget, Fingerprint, Session, read_options};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::at_least_one::{Threads, at_least_one};
use crate::conversation::{Reader, Said, conversation};
use crate::error::OrRaise;
use crate::ids::Ids;
use crate::json::options_to_json;
use crate::many::{build_many, of_objects};
use crate::objects::data;
use crate::padded::{padded, padded_labels};
use crate::prompt::{Built, Prompt, known};
use crate::recipe::Recipe;
use crate::setting_name::setting_name;
use crate::shared::Shared;
use crate::spare::Spare;
use crate::tokenizer::Tokenizer;

/// A builder of prompts.
#[pyclass(frozen, module = "metatok._metatok")]
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) shared: Shared,
    pub(crate) model: Model,
    pub(crate) recipe: Recipe,
    tokenizer: Py<Tokenizer>,
}

/// The ids of many prompts and what else is known of them, in lists of their own: Python's garbage collector looks at every tuple.
type AllBuilt<'py> = (Vec<Ids>, Option<Vec<Option<Bound<'py, PyAny>>>>);

/// The class, and what it is made of.
type Pickled<'py> = (Bound<'py, PyAny>, (String, Py<Tokenizer>));

/// The ids of all prompts, and where each begins, and the last ends.
type Flat<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>);

/// Arrays of the ids of prompts, of their mask, and of their labels.
type Padded<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

#[pymethods]
impl Builder {
    /// A builder of a recipe, as JSON.
    #[new]
    fn new(py: Python<'_>, recipe: &str, tokenizer: Py<Tokenizer>) -> PyResult<Self> {
        let recipe: Recipe = serde_json::from_str(recipe)
            .map_err(|error| ErrorKind::Invalid(format!("this is not a recipe of a builder: {error}")).into())
            .or_raise(py)?;
        Self::of(py, recipe, tokenizer)
    }

    /// A builder of what a person names. A tokenizer is one, or its name. A chat template is given with the one for tools,
    /// and whether the tokenizer brings it.
    #[staticmethod]
    #[pyo3(signature = (model, model_text, tokenizer, chat_template, conversation_template, template_kwargs, options))]
    #[expect(clippy::too_many_arguments, reason = "they are those of the class in Python")]
    fn open(
        py: Python<'_>,
        model: Option<&str>,
        model_text: Option<String>,
        tokenizer: Option<&Bound<'_, PyAny>>,
        chat_template: Option<(&str, Option<String>, bool)>,
        conversation_template: Option<String>,
        template_kwargs: Option<&Bound<'_, PyAny>>,
        options: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let loaded: Option<Py<Tokenizer>> = tokenizer.and_then(|tokenizer| tokenizer.extract().ok());
        let name: Option<String> = match (&loaded, tokenizer) {
            (None, Some(tokenizer)) => Some(tokenizer.extract()?),
            _ => None,
        };
        let template_kwargs = match template_kwargs.map(options_to_json).transpose()? {
            Some(serde_json::Value::Object(mut kwargs)) => {
                kwargs.sort_keys();
                Some(kwargs)
            }
            Some(_) => return Err(PyTypeError::new_err("template_kwargs must be a dict")),
            None => None,
        };
        let mut options = options_to_json(options)?;
        // Builders with the same options are pickled in the same way, so that caches know them again.
        options.as_object_mut().into_iter().for_each(serde_json::Map::sort_keys);
        let model = match model_text {
            Some(text) => Some(Model::parse("meta_template.json", text.as_bytes()).or_raise(py)?),
            None => model.map(Model::load).transpose().or_raise(py)?,
        };
        let choice = ModelChoice {
            model,
            tokenizer: name.as_deref(),
            conversation_template: conversation_template.as_deref(),
            chat_template: chat_template.as_ref().map(|(source, ..)| *source),
            template_kwargs: template_kwargs.as_ref(),
        };
        let (mut model, tokenizer) = match loaded {
            Some(loaded) => (py.detach(|| choice.model_for(&loaded.get().tokenizer)).or_raise(py)?, loaded),
            None => {
                let (model, tokenizer) = py.detach(|| choice.load()).or_raise(py)?;
                (model, Py::new(py, Tokenizer::of(tokenizer))?)
            }
        };
        if let (Some(template), Some((_, tool_use, true))) = (&mut model.chat_template, chat_template) {
            (template.tool_use, template.is_own) = (tool_use, true);
        }
        Self::of(py, Recipe::new(model, options), tokenizer)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let recipe = serde_json::to_string(&self.recipe).map_err(|error| ErrorKind::Invalid(error.to_string()).into());
        Ok((py.get_type::<Self>().into_any(), (recipe.or_raise(py)?, self.tokenizer.clone_ref(py))))
    }

    /// The ids of a prompt, and what else was asked for, in a dict.
    #[pyo3(signature = (said, budget = None))]
    fn build<'py>(
        &self,
        py: Python<'py>,
        said: &Bound<'py, PyAny>,
        budget: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Built<'py>> {
        let budget = budget.map(budget_of).transpose()?;
        let mut reader = Reader::new(&self.shared.builder);
        let said = reader.object(said, Place::Conversation(0))?;
        let built = py.detach(|| {
            self.shared.count(1);
            self.built(&mut self.shared.builder.session(), &said, budget.as_ref())
        });
        let built = built.or_raise(py)?;
        self.shared.tell(py, reader)?;
        known(py, &self.role_names(), built.split())
    }

    /// Builds many conversations, on all cores, and returns all that is known of each.
    #[pyo3(signature = (conversations, threads = None, budget = None))]
    fn build_all<'py>(
        &self,
        py: Python<'py>,
        conversations: &Bound<'py, PyAny>,
        threads: Option<Threads>,
        budget: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<AllBuilt<'py>> {
        let built = self.each(conversations, 0, threads, budget, Prompt::split)?;
        let roles = self.role_names();
        let (ids, known): (_, Vec<_>) =
            built.into_iter().map(|built| known(py, &roles, built)).collect::<PyResult<_>>()?;
        Ok((ids, Some(known).filter(|known| known.iter().any(Option::is_some))))
    }

    /// The ids of all prompts, one after the other.
    #[pyo3(signature = (conversations, threads = None, budget = None))]
    fn build_flat<'py>(
        &self,
        py: Python<'py>,
        conversations: &Bound<'py, PyAny>,
        threads: Option<Threads>,
        budget: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Flat<'py>> {
        let prompts = self.each(conversations, 0, threads, budget, |built| self.shared.ids_alone(built))?;
        let (ids, ends) = py.detach(|| {
            let mut end = 0_i64;
            let ends = prompts.iter().map(|ids| {
                end += i64::try_from(ids.len()).unwrap_or(i64::MAX);
                end
            });
            let ends: Vec<i64> = std::iter::once(0).chain(ends).collect();
            (prompts.concat(), ends)
        });
        Ok((ids.into_pyarray(py), ends.into_pyarray(py)))
    }

    /// The ids of all prompts side by side, their mask, and the labels of texts to score.
    #[pyo3(signature = (conversations, padding_side, pad_to_multiple_of, dtype, threads = None, budget = None, first = 0))]
    #[expect(clippy::too_many_arguments, reason = "they are those of the method in Python")]
    fn build_padded<'py>(
        &self,
        py: Python<'py>,
        conversations: &Bound<'py, PyAny>,
        padding_side: &str,
        pad_to_multiple_of: usize,
        dtype: &str,
        threads: Option<Threads>,
        budget: Option<&Bound<'py, PyAny>>,
        first: usize,
    ) -> PyResult<Padded<'py>> {
        let padding = self.shared.builder.padding().or_raise(py)?;
        let padding_side: PaddingSide = padding_side.parse::<PaddingSide>().or_raise(py)?;
        let pad_to_multiple_of = at_least_one("pad_to_multiple_of", pad_to_multiple_of).or_raise(py)?;
        let padding = Padding { padding_side, pad_to_multiple_of, ..padding };
        let (prompts, labels) = match self.shared.builder.mode() {
            Mode::Generate => (self.ids(conversations, first, threads, budget)?, None),
            Mode::Score => {
                let prompts = self.prompts(conversations, first, threads, budget)?;
                // All of a text is scored unless its record says otherwise.
                let all = |ids: &[u32]| ids.iter().map(|id| i64::from(*id)).collect();
                let parts = prompts.into_iter().map(|Prompt { prompt, labels, .. }| {
                    let labels = labels.unwrap_or_else(|| all(&prompt.input_ids));
                    (prompt.input_ids, labels)
                });
                let (ids, labels): (Vec<_>, Vec<_>) = parts.unzip();
                (ids, Some(labels))
            }
        };
        let (ids, mask) = match dtype {
            "int64" => padded::<i64>(py, &prompts, padding, dtype)?,
            "uint32" => padded::<u32>(py, &prompts, padding, dtype)?,
            _ => {
                let known = vec!["int64", "uint32"];
                let unknown = ErrorKind::UnknownName { what: "dtype", name: dtype.to_owned(), known };
                return Err(unknown.into()).or_raise(py);
            }
        };
        let labels = labels.map(|labels| padded_labels(py, &labels, padding)).transpose()?;
        Ok((ids, mask, labels))
    }

    /// How many of a text's ids are before its last `scored_bytes` bytes, which are scored, and the white space before
    /// these.
    fn context_tokens(&self, py: Python<'_>, said: &Bound<'_, PyAny>, scored_bytes: usize) -> PyResult<usize> {
        let said = conversation(said, &self.shared.builder)?;
        py.detach(|| self.shared.builder.context_tokens(&said, scored_bytes)).or_raise(py)
    }

    #[getter]
    fn tokenizer(&self, py: Python<'_>) -> Py<Tokenizer> {
        self.tokenizer.clone_ref(py)
    }

    #[getter]
    fn pad_token_id(&self) -> Option<u32> {
        self.shared.builder.pad_token_id()
    }

    #[getter]
    fn model(&self) -> &str {
        &self.model.name
    }

    /// The stops with their sources.
    #[getter]
    fn stop<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data(py, self.shared.builder.stop())
    }

    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data(py, &self.recipe.options().or_raise(py)?)
    }

    #[getter]
    fn role_names(&self) -> Vec<&str> {
        self.shared.builder.role_names()
    }

    /// What built the prompts, as JSON.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        let options = self.recipe.options().or_raise(py)?;
        let tokenizer = self.shared.builder.tokenizer();
        Ok(py.detach(|| Fingerprint::new(&self.model, tokenizer, &options).to_json().to_string()))
    }

    /// Warnings and notes about the model file.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> Vec<String> {
        let notes = self.model.notes();
        let warnings: Vec<Warning> = py.detach(|| self.shared.builder.warnings().cloned().collect());
        notes.iter().chain(&warnings).map(|warning| warning.display_with(&setting_name).to_string()).collect()
    }
}

impl Builder {
    fn of(py: Python<'_>, recipe: Recipe, tokenizer: Py<Tokenizer>) -> PyResult<Self> {
        let (model, builder) = py.detach(|| recipe.builder(&tokenizer.get().tokenizer)).or_raise(py)?;
        Ok(Self { shared: Shared::new(builder), model, recipe, tokenizer })
    }

    /// The ids of many prompts, of which the first has this number.
    fn ids(
        &self,
        conversations: &Bound<'_, PyAny>,
        first: usize,
        threads: Option<Threads>,
        budget: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Vec<u32>>> {
        self.each(conversations, first, threads, budget, |built| self.shared.ids_without_media(built))
    }

    /// Builds many conversations, with all that is known of each.
    pub(crate) fn prompts(
        &self,
        conversations: &Bound<'_, PyAny>,
        first: usize,
        threads: Option<Threads>,
        budget: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Prompt>> {
        self.each(conversations, first, threads, budget, |built| built)
    }

    /// What is taken of each prompt.
    fn each<T: Send>(
        &self,
        conversations: &Bound<'_, PyAny>,
        first: usize,
        threads: Option<Threads>,
        budget: Option<&Bound<'_, PyAny>>,
        take: impl Fn(Prompt) -> T + Sync,
    ) -> PyResult<Vec<T>> {
        let py = conversations.py();
        let budget = budget.map(budget_of).transpose()?;
        let spare = Spare::default();
        let mut reader = Reader::new(&self.shared.builder).reusing(&spare);
        let said = of_objects(conversations, first, &self.shared, &mut reader)?;
        let taken = build_many(py, said, first, &self.shared, threads, |session, said| {
            let taken = self.built(session, &said, budget.as_ref()).map(&take);
            spare.put(said.conversation);
            taken
        })?;
        self.shared.tell(py, reader)?;
        Ok(taken)
    }

    /// A prompt that fits.
    ///
    /// # Errors
    /// As for building one.
    pub(crate) fn built(&self, session: &mut Session, said: &Said, budget: Option<&ContextBudget>) -> Result<Prompt> {
        let built = self.build_said(session, said, budget)?;
        self.shared.see(&built.prompt);
        Ok(Prompt { max_out_len: said.max_out_len, ..built })
    }

    /// A prompt that fits. If a record says what of a text is scored, it has labels.
    fn build_said(&self, session: &mut Session, said: &Said, budget: Option<&ContextBudget>) -> Result<Prompt> {
        let builder = &self.shared.builder;
        let id = said.id.clone();
        if let Some(budget) = budget {
            let budget = budget.of_answer(said.max_out_len);
            let Fitted { prompt, truncated, conversation, .. } = builder.build_within(&said.conversation, &budget)?;
            // A text to score is never cut.
            if said.scored == ScoredText::Whole {
                let truncated = truncated.map(|truncated| serde_json::json!(truncated));
                return Ok(Prompt { truncated, id, ..self.of_prompt(prompt, conversation, said)? });
            }
        }
        if said.scored != ScoredText::Whole {
            let (prompt, labels) = builder.build_scored(&said.conversation, &said.scored)?;
            return Ok(Prompt { id, labels, ..self.of_prompt(prompt, None, said)? });
        }
        Ok(Prompt { id, ..self.of_prompt(session.build(&said.conversation)?, None, said)? })
    }

    /// A prompt of what was said. If whole messages were dropped, a chat wrapper may have `made` others of the rest.
    fn of_prompt(&self, prompt: TokenizedPrompt, made: Option<Conversation>, said: &Said) -> Result<Prompt> {
        let said = || self.shared.builder.prepared(&said.conversation).map(Cow::into_owned);
        Prompt::of(prompt, || made.map_or_else(said, Ok))
    }
}

/// A budget of a dict.
pub(crate) fn budget_of(budget: &Bound<'_, PyAny>) -> PyResult<ContextBudget> {
    let py = budget.py();
    let budget: ContextBudget = read_options(&options_to_json(budget)?).or_raise(py)?;
    budget.check_room().or_raise(py)?;
    Ok(budget)
}
