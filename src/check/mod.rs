//! Lints: what is probably wrong with a template, its tokenizer, or the two together.
//!
//! [`LINTS`] lists what is looked for.

mod boundary_moves;
mod build_warning;
mod content_writes_control;
mod differs_from_chat_template;
mod double_bos;
mod eos_not_in_end;
mod eos_outside_vocabulary;
mod filled_twice;
mod finding;
mod generating_role;
mod id_outside_vocabulary;
mod ids_disagree;
mod lint;
mod missing_column;
mod missing_fallback;
mod never_stops;
mod no_pad;
mod no_such_column;
mod refused;
mod reserved_reachable;
mod role_never_rendered;
mod role_outside_round;
mod roles_only;
mod seen;
mod space_before_generation;
mod speaker_in_text;
mod special_token_left_out;
mod stop_never_matches;
mod stray_braces;
mod string_prompts;
mod strips_content;
mod subject;
mod token_of_several_ids;
mod uneven_turns;
mod unfilled_field;
mod unknown_control_token;

use std::sync::Arc;

use crate::builder::BuilderOptions;
use crate::conversation::Conversation;
use crate::dataset::{Dataset, Row, RowPrompt};
use crate::dialect::{ChatTemplate, Model};
use crate::error::{At, Error, ErrorKind, Place, Result, by_name};
use crate::tokenizer::Tokenizer;
pub use finding::{Finding, Level};
use lint::Findings;
pub use lint::Lint;
use seen::SeenDataset;
use subject::Subject;

/// Every lint, in the order in which their findings are listed.
pub static LINTS: &[Lint] = &[
    id_outside_vocabulary::LINT,
    token_of_several_ids::LINT,
    refused::LINT,
    no_such_column::LINT,
    unknown_control_token::LINT,
    generating_role::LINT,
    eos_not_in_end::LINT,
    eos_outside_vocabulary::LINT,
    never_stops::LINT,
    stop_never_matches::LINT,
    double_bos::LINT,
    reserved_reachable::LINT,
    content_writes_control::LINT,
    roles_only::LINT,
    differs_from_chat_template::LINT,
    role_never_rendered::LINT,
    missing_fallback::LINT,
    role_outside_round::LINT,
    space_before_generation::LINT,
    strips_content::LINT,
    ids_disagree::LINT,
    build_warning::LINT,
    missing_column::LINT,
    unfilled_field::LINT,
    stray_braces::LINT,
    filled_twice::LINT,
    uneven_turns::LINT,
    speaker_in_text::LINT,
    string_prompts::LINT,
    boundary_moves::LINT,
    special_token_left_out::LINT,
    no_pad::LINT,
];

/// Lints a model with its tokenizer, and conversations if there are any.
///
/// ```
/// use metatok::{BuilderOptions, Checker, Model, Tokenizer};
///
/// let model = Model::parse("x.toml", br#"
///     [meta_template]
///     round = [{ role = "HUMAN", begin = "<|user|>" }, { role = "BOT", begin = "A:", generate = true }]
/// "#)?;
/// let tokenizer = Tokenizer::demo()?;
/// let findings = Checker::new(&model, tokenizer, &BuilderOptions::default())?.finish()?;
/// assert_eq!(findings[0].code, "unknown-control-token");
/// assert_eq!(findings[0].place.to_string(), "meta_template.round[0].begin");
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug)]
pub struct Checker {
    subject: Subject,
}

impl Checker {
    /// Prepares to lint a model.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a model with a conversation template or a chat template, which lints do not read.
    pub fn new(model: &Model, tokenizer: impl Into<Arc<Tokenizer>>, options: &BuilderOptions) -> Result<Self> {
        let unread = |template: &str, way_out: &'static str| {
            let error = ErrorKind::Usage(format!("check reads meta templates, but this is a {template}"));
            Err(error.with_way_out(way_out).at(Place::file(&model.name)))
        };
        if model.conversation_template.is_some() {
            return unread("conversation template", "`metatok convert` makes a meta template of it, if possible");
        }
        if model.chat_template.is_some() {
            return unread("chat template", "`metatok import` makes a meta template of it, if possible");
        }
        Ok(Self { subject: Subject::new(model, tokenizer.into(), options) })
    }

    /// Compares the model's prompts with those of this chat template, usually the tokenizer's own.
    pub fn compare_with(&mut self, template: ChatTemplate) {
        self.subject.chat_template = Some(template);
    }

    /// Checks a conversation too. `place` says where it is.
    pub fn see(&mut self, conversation: &Conversation, place: &str) {
        self.subject.see(conversation, place);
    }

    /// Takes a conversation that cannot be read, which [`Self::finish`] reports as one that cannot be built.
    pub fn see_refused(&mut self, error: Error, place: &str) {
        self.subject.seen.conversations += 1;
        self.subject.seen.refused.add(place, error);
    }

    /// Checks a dataset's templates too, and the rows that its examples come from.
    pub fn see_dataset(&mut self, dataset: &Dataset, train: &[Row]) {
        self.subject.seen.dataset = Some(SeenDataset::new(dataset, train));
    }

    /// Checks a row of the dataset and its prompts too, and compares them with those of
    /// [`Dataset::single_pass`](crate::Dataset::single_pass): if they differ, text of the row or its examples was
    /// mistaken for a field.
    pub fn see_row(
        &mut self,
        row: &Row,
        prompts: Result<Vec<RowPrompt>>,
        single_pass: Result<Vec<RowPrompt>>,
        place: &str,
    ) {
        if let Some(seen) = &mut self.subject.seen.dataset {
            seen.see(row, place);
        }
        match prompts {
            Ok(prompts) => {
                if let Some(seen) = self.subject.seen.dataset.as_mut()
                    && prompts.iter().any(|prompt| prompt.leaves_question)
                {
                    seen.uneven.add(place, "the dialogue's last question has no answer, and is not asked".to_owned());
                }
                prompts.iter().for_each(|prompt| self.see(&prompt.conversation, place));
                if single_pass.is_ok_and(|single_pass| single_pass != prompts) {
                    self.subject.seen.filled_twice.add(place, ());
                }
            }
            Err(error) => self.see_refused(error, place),
        }
    }

    /// The findings, the most severe first, without those that the model file allows.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownName`] for a code in the model's `allow` that no lint has; [`ErrorKind::Encode`] if the
    /// tokenizer fails.
    pub fn finish(self) -> Result<Vec<Finding>> {
        let model = &self.subject.model;
        for (i, code) in model.allow.iter().enumerate() {
            Lint::find(code).at(format_args!("allow[{i}]")).at(Place::file(&model.name))?;
        }
        let mut all = Vec::new();
        for lint in LINTS {
            let found = Findings::of(lint, &self.subject)?;
            all.extend(found.into_iter().filter(|finding| !model.allow.iter().any(|code| code == finding.code)));
        }
        all.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        Ok(all)
    }
}

impl Lint {
    /// The lint with this code.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownName`] lists the existing codes.
    pub fn find(code: &str) -> Result<&'static Self> {
        by_name("lint", code, LINTS.iter().map(|lint| (lint.code, lint)))
    }

    /// Checks that [`Finding::is_denied`] knows a name: the code of a lint, `warnings` or `all`.
    ///
    /// # Errors
    /// The same as for [`Self::find`].
    pub fn check_denied(name: &str) -> Result<()> {
        if matches!(name, "warnings" | "all") { Ok(()) } else { Self::find(name).map(drop) }
    }
}
