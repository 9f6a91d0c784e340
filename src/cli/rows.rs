//! Rows of a dataset, and the file that says how they become prompts.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::builder::BuilderOptions;
use crate::cli::args::{InputArgs, PromptArgs};
use crate::cli::judged::Judged;
use crate::cli::output;
use crate::cli::say::{InFlags, say};
use crate::cli::setup::{self, Input, digest_of_file};
use crate::cli::source::Source;
use crate::conversation::{Conversation, Mode};
use crate::dataset::{
    AnyTemplate, Dataset, Holds, Inferencer, InferencerKind, KeptColumns, MissingColumns, PickedRow, Retriever, Row,
    RowPrompt, RowPrompter, TemplateField, TurnPlan, arrow_rows, json_lines,
};
use crate::dialect::Model;
use crate::error::{At, ErrorKind, Place, Result, Setting, Warning, way_out};
use crate::fingerprint::{Fingerprint, digest, hex};

/// A dataset file, the rows that examples come from, and how long a prompt may be.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) dataset: Dataset,
    /// What the dataset file says, in few bytes.
    digest: String,
    train: Arc<[Row]>,
    inference: RowPrompter,
    /// What these rows are, in few bytes.
    train_digest: String,
    /// Whether somebody says which rows examples come from.
    has_train: bool,
    fields: Vec<TemplateField>,
    /// What of a row goes with its prompts.
    pub(crate) kept: KeptColumns,
    /// What models answered, where a judge is asked.
    judged: Option<Arc<Judged>>,
    /// How long a prompt may be with its answer, and how long an answer where its row does not say.
    max_seq_len: Option<usize>,
    max_out_len: Option<usize>,
    strict: bool,
    /// Whether rows become what the references make of them.
    is_replay: bool,
}

impl Rows {
    /// What the arguments name, or nothing if the input is conversations.
    pub(crate) fn open(args: &InputArgs, longest_line: usize) -> Result<Option<Self>> {
        let Some(path) = &args.dataset else { return Ok(None) };
        let (bytes, mut dataset) = match &args.source {
            Some(source) => (Cow::Borrowed(source.bytes()), source.read()?),
            None => {
                let bytes = Dataset::read_file(path)?;
                let dataset = Dataset::parse_at(path, &bytes)?;
                (bytes, dataset)
            }
        };
        dataset.task.compat = args.compat;
        if let Some(bytes) = args.max_row_bytes {
            dataset.set_max_row_bytes(bytes);
        }
        if let Some(layout) = args.layout {
            dataset.set_layout(layout).at("--layout").at(&dataset.name)?;
        }
        if let Some(mode) = args.infer_mode {
            if !dataset.inferencer.kind.has_turns() {
                let what = "--infer-mode says which turns of a chat are asked for, and this dataset does not ask turn by turn; leave it out";
                return Err(ErrorKind::Usage(what.into())).at(&dataset.name);
            }
            dataset.inferencer.infer_mode_is_said = true;
            dataset.inferencer.infer_mode = mode.into();
        }
        let judged = Judged::open(args, &mut dataset, longest_line)?;
        let has_examples = dataset.task.retriever.count() > 0 || args.num_fewshot.is_some_and(|count| count > 0);
        if args.train.is_some() && !has_examples {
            let what = "--train is for the rows of in-context examples, and this dataset has none; leave it out, or write a retriever";
            return Err(ErrorKind::Usage(what.into())).at(&dataset.name);
        }
        if let Some(count) = args.num_fewshot {
            dataset.task.retriever.set_count(count as usize).at("--num-fewshot").at(&dataset.name)?;
        }
        if let (Some(said), Mode::Generate) = (args.max_out_len, dataset.inferencer.kind.mode()) {
            dataset.inferencer.max_out_len = Some(said as u64);
        }
        if let Some(neighbours) = &args.neighbours {
            dataset.task.retriever.set_neighbours(neighbours).at("--neighbours").at(&dataset.name)?;
        }
        let train = args.train.iter().cloned().collect();
        let (mut train, train_digest) = read(Source::Files(train).open(args.columns.as_deref())?, longest_line)?;
        if args.arrow_compat {
            train = arrow_rows(train, &format!("{}_train", dataset.abbr()));
        }
        train.iter_mut().try_for_each(|row| dataset.derive(row)).at("--train")?;
        if let Some(range) = &dataset.train_range {
            let rows = range.rows(train.len()).at("reader_cfg.train_range").at(&dataset.name)?;
            train = rows.into_iter().map(|row| train[row].clone()).collect();
        }
        // What is wrong with the templates is said before anything is read.
        let train: Arc<[Row]> = train.into();
        let inference = RowPrompter::new(&dataset, Arc::clone(&train))?;
        Ok(Some(Self {
            fields: dataset.needed_fields(),
            kept: KeptColumns { id: args.id_column.clone(), keep: args.keep.clone() },
            judged: judged.map(Arc::new),
            digest: digest(&String::from_utf8_lossy(&bytes).into()),
            dataset,
            train,
            inference,
            train_digest,
            has_train: args.train.is_some(),
            max_seq_len: args.max_seq_len,
            max_out_len: args.max_out_len,
            strict: args.strict,
            is_replay: args.compat || args.arrow_compat,
        }))
    }

    /// The same, of input that must be named.
    pub(crate) fn open_for_input(args: &InputArgs, source: &Source, longest_line: usize) -> Result<Option<Self>> {
        let rows = Self::open(args, longest_line)?;
        if rows.is_some() && !source.is_some() {
            let what = "--dataset needs rows: name a file, or - for standard input";
            return Err(ErrorKind::Usage(what.into()).into());
        }
        Ok(rows)
    }

    /// The same, with what columns bring in never searched for fields.
    pub(crate) fn single_pass(&self) -> Self {
        let dataset = self.dataset.single_pass();
        let inference =
            RowPrompter::new(&dataset, Arc::clone(&self.train)).expect("it was made so for these templates");
        Self { dataset, inference, ..self.clone() }
    }

    /// Says what people should know of the dataset.
    pub(crate) fn say_notes(&self) {
        let of_judge = self.judged.iter().flat_map(|judged| &judged.notes);
        self.dataset.notes().iter().chain(of_judge).for_each(|note| say!("note: {}", note.in_flags()));
    }

    /// What to say of prompts that are strings where the model has a template for roles.
    pub(crate) fn warn_of_strings(&self, model: &Model, options: &BuilderOptions) -> Option<String> {
        let is_string = self.dataset.task.template().is_ok_and(AnyTemplate::is_string)
            && !self.dataset.inferencer.kind.gives_messages();
        let is_chat = model.meta_template.is_some() && options.mode == Mode::Generate && options.chat_wrapper.is_none();
        (is_string && is_chat).then(|| {
            let way_out = match self.dataset.task.has_layouts() {
                true => "--layout chat and --layout turns make messages of them",
                false => "--as opencompass-chat makes each a message of the user",
            };
            format!("{}: prompts are strings, which the model's template does not touch; {way_out}", self.dataset.name)
        })
    }

    /// With what of the files decides prompts.
    pub(crate) fn fingerprint(&self, fingerprint: Fingerprint) -> Result<Fingerprint> {
        let mut fingerprint = fingerprint.with("dataset", &*self.digest);
        if let Some(neighbours) = self.dataset.task.retriever.neighbours() {
            fingerprint = fingerprint.with("neighbours", digest_of_file(neighbours)?);
        }
        if let Some(judged) = &self.judged {
            fingerprint = fingerprint.with("judge", judged.digest());
        }
        Ok(if self.has_train { fingerprint.with("train", &*self.train_digest) } else { fingerprint })
    }

    /// A row of the input; nothing where a judge is asked and there is no answer to the row.
    pub(crate) fn row(&self, json: &str, pick: PickedRow) -> Result<Option<Row>> {
        let mut row = self.dataset.row(json)?;
        let Some(judged) = &self.judged else { return Ok(Some(row)) };
        let key = self.kept.key(&row, pick)?;
        Ok(judged.add(&mut row, &key, pick.row)?.then_some(row))
    }

    /// What to say at the end of rows and answers that a judge was not asked about.
    ///
    /// # Errors
    /// Where no row has an answer.
    pub(crate) fn check_judged(&self) -> Result<Vec<String>> {
        self.judged.as_ref().map_or_else(|| Ok(Vec::new()), |judged| judged.check())
    }

    /// The rows that examples come from.
    pub(crate) fn train(&self) -> &[Row] {
        &self.train
    }

    /// Leaves it to others how prompts become short enough.
    pub(crate) fn keep_examples(&mut self) {
        self.max_seq_len = None;
    }

    /// How long an answer may be, where nobody says.
    pub(crate) fn default_max_out_len(&mut self, max_out_len: usize) {
        self.max_out_len.get_or_insert(max_out_len);
    }

    /// Whether turns are asked for with the model's own answers in those before.
    pub(crate) fn goes_on_from_answers(&self) -> bool {
        let Inferencer { kind, infer_mode, .. } = &self.dataset.inferencer;
        kind.has_turns() && infer_mode.takes_answers()
    }

    /// What the dataset says about building.
    pub(crate) fn set(&self, options: &mut BuilderOptions, args: &PromptArgs) {
        options.mode = args.template.mode.map_or(self.dataset.inferencer.kind.mode(), setup::mode);
        options.stop_strings.extend(self.dataset.inferencer.stopping_criteria.iter().cloned());
        options.compat = self.dataset.task.compat;
        options.each_message = self.dataset.inferencer.kind == InferencerKind::Chat;
        if let Some(template) = self.dataset.task.qa_chat() {
            options.continue_final_message |= !template.gen_prefix.is_empty();
            options.open_answer = options.mode == Mode::Score;
        }
    }

    /// The inputs' rows as the references would get them, as one input.
    pub(crate) fn through_arrow(&self, inputs: Vec<Input>, longest_line: usize) -> Result<Vec<Input>> {
        let name = inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ");
        let (rows, _) = read(inputs, longest_line)?;
        let rows = arrow_rows(rows, &format!("{}_test", self.dataset.abbr()));
        Ok(vec![Input { name, unit: "row", reader: json_lines(rows), bytes: None }])
    }

    /// Gives the examples for one row after the other.
    pub(crate) fn retriever(&self) -> Result<Box<dyn Retriever>> {
        let Dataset { task, name, .. } = &self.dataset;
        let count = task.retriever.count();
        if count > 0 && !self.has_train {
            let what = format!(
                "infer_cfg.retriever: {} for each row, and --train does not say of which rows; name their file, or take none with --num-fewshot 0",
                output::count(count as u64, "example")
            );
            return Err(ErrorKind::Usage(what)).at(name);
        }
        task.retriever.open(&self.train, &task.input_columns).at("infer_cfg.retriever").at(name)
    }

    /// What makes prompts of rows; one per thread.
    pub(crate) fn inference(&self) -> RowPrompter {
        self.inference.clone()
    }

    /// The prompts of a row, of so many examples that they fit by what `tokens` counts.
    pub(crate) fn prompts(
        &self,
        row: &Row,
        examples: Vec<i64>,
        inference: &mut RowPrompter,
        tokens: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<Vec<RowPrompt>> {
        self.check(row)?;
        inference.prompts(row, examples, self.excess(row, tokens)?)
    }

    /// The turns of a row, of so many examples that they fit by what `tokens` counts.
    pub(crate) fn plan(
        &self,
        row: &Row,
        examples: Vec<i64>,
        inference: &mut RowPrompter,
        tokens: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<TurnPlan> {
        self.check(row)?;
        inference.plan(row, examples, self.excess(row, tokens)?)
    }

    /// Refuses what would be warned of, where that is wanted.
    fn check(&self, row: &Row) -> Result<()> {
        if !self.strict {
            return Ok(());
        }
        let not_kept = || self.kept.fields().find_map(|field| field.missing_in(row));
        match self.missing_column(row).or_else(not_kept).or_else(|| self.uneven_turns(row)) {
            Some(warning) => Err(warning.into_error(ErrorKind::Row)),
            None => Ok(()),
        }
    }

    /// By how many tokens a prompt is too long.
    fn excess(
        &self,
        row: &Row,
        mut tokens: impl FnMut(&Conversation) -> Result<usize>,
    ) -> Result<impl FnMut(&Conversation) -> Result<usize>> {
        let longest = match self.max_seq_len {
            Some(longest) => Some(longest.saturating_sub(self.room(row)?)),
            None => None,
        };
        Ok(move |prompt: &Conversation| longest.map_or(Ok(0), |longest| Ok(tokens(prompt)?.saturating_sub(longest))))
    }

    /// How many tokens must have room behind the prompts of a row.
    fn room(&self, row: &Row) -> Result<usize> {
        let kind = self.dataset.inferencer.kind;
        let said = match kind.mode() {
            Mode::Generate if kind.has_turns() => self.dataset.max_out_len(row)?.longest(),
            Mode::Generate if kind != InferencerKind::Choose => self.dataset.max_out_len(row)?.of_turn(0)?,
            _ => None,
        };
        let said = said.map(|said| usize::try_from(said).unwrap_or(usize::MAX));
        Ok(said.or(self.max_out_len).unwrap_or_default().max(kind.room()))
    }

    /// Counts the columns that rows lack; nothing where such rows are refused.
    pub(crate) fn missing(&self) -> MissingColumns {
        if self.strict {
            return MissingColumns::default();
        }
        MissingColumns::new(self.fields.iter().cloned().chain(self.kept.fields()).collect())
    }

    /// What to say at the end of columns that some rows lacked.
    ///
    /// # Errors
    /// Where no row has one: then the dataset file is for other rows.
    pub(crate) fn check_missing(&self, missing: &MissingColumns) -> Result<Vec<Warning>> {
        let name = || Place::file(&self.dataset.name);
        if let Some((field, warning)) = missing.everywhere() {
            let way_out = way_out!["write the column's name as the rows have it"];
            let way_out = match self.kept.fields().any(|kept| kept == *field) {
                true => Some(way_out),
                false => (!self.is_replay)
                    .then(|| way_out.and(" (").and(Setting::COMPAT).and(" leaves such fields as they are)")),
            };
            if let Some(way_out) = way_out {
                let error = warning.into_error(|message| ErrorKind::Dataset(message + ", in no row"));
                return Err(error.with_way_out(way_out).at(name()));
            }
        }
        let note = |(field, lacking): (&TemplateField, u64)| {
            let TemplateField { place, column } = field;
            let lack = if lacking == 1 { "lacks" } else { "lack" };
            let what = format!("{lacking} of {} {lack} the column {column:?}", output::count(missing.rows(), "row"));
            Warning::new("missing-column", what).at(place.clone()).at(name())
        };
        Ok(missing.somewhere().map(note).collect())
    }

    /// What to warn of, if a row lacks a column or loses turns; nothing if that is an error anyway.
    pub(crate) fn warning(&self, row: &Row) -> Option<Warning> {
        if self.strict {
            return None;
        }
        let stays = || way_out!["such fields stay as they are (", Setting::STRICT, " refuses the row)"];
        let missing = self.missing_column(row).map(|missing| missing.with_way_out(stays()));
        let strict = || way_out![Setting::STRICT, " refuses the row"];
        let uneven = || self.uneven_turns(row).map(|uneven| uneven.with_way_out(strict()));
        missing.or_else(uneven).or_else(|| self.unfilled())
    }

    /// What to say of fields that a multimodal template leaves as they are.
    fn unfilled(&self) -> Option<Warning> {
        let Some(AnyTemplate::Multimodal(template)) = &self.dataset.task.prompt_template else { return None };
        let TemplateField { place, column } = template.unfilled().into_iter().next()?;
        let warning = Warning::new("unfilled-field", format!("{{{column}}} stays as it is, as in AISBench"))
            .with_way_out("all_columns = true fills it");
        Some(warning.at(format_args!("infer_cfg.prompt_template.{place}")).at(Place::file(&self.dataset.name)))
    }

    fn uneven_turns(&self, row: &Row) -> Option<Warning> {
        if !self.dataset.inferencer.kind.has_turns() {
            return None;
        }
        Some(Warning::new("uneven-turns", self.dataset.task.uneven_turns(row)?))
    }

    fn missing_column(&self, row: &Row) -> Option<Warning> {
        let missing = self.fields.iter().find_map(|field| field.missing_in(row))?;
        Some(missing.at(Place::file(&self.dataset.name)))
    }
}

/// Every row of the inputs, and what they are in few bytes.
fn read(inputs: Vec<Input>, longest: usize) -> Result<(Vec<Row>, String)> {
    let (mut rows, mut hash) = (Vec::new(), Sha256::new());
    setup::each_record(inputs, Holds::Rows, longest, |place, line| {
        let line = line.at(place)?;
        hash.update(line.len().to_le_bytes());
        hash.update(line);
        rows.push(Row::from_json(line).at(place)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((rows, hex(hash)))
}
