//! The shell's completions for a value: built-in names, and files next to them.

use std::ffi::OsStr;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};

use metatok::check::LINTS;
use metatok::dataset::Dataset;
use metatok::dialect::{ConversationTemplate, Model};

/// Built-in models, and model files.
pub(crate) fn models() -> ArgValueCompleter {
    names_and_files(|| Model::builtin().map(|model| candidate(&model.name, model.about.as_deref())).collect())
}

/// Built-in conversation templates, and files of them.
pub(crate) fn conversations() -> ArgValueCompleter {
    names_and_files(conversation_names)
}

/// Everything that `metatok models` lists.
pub(crate) fn all_templates() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let models = Model::builtin().map(|model| candidate(&model.name, model.about.as_deref()));
        fitting(models.chain(conversation_names()), current)
    })
}

/// Built-in datasets, and dataset files.
pub(crate) fn datasets() -> ArgValueCompleter {
    names_and_files(|| Dataset::builtin().map(|(name, about)| candidate(name, Some(about))).collect())
}

/// Lints to deny: their codes, and the names of groups.
pub(crate) fn denied() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let several = [candidate("warnings", Some("All warnings")), candidate("all", Some("All, including notes"))];
        fitting(lints().chain(several), current)
    })
}

/// Lints to allow.
pub(crate) fn allowed() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| fitting(lints(), current))
}

/// Their names as listed, and without the system's name if only one system has it.
fn conversation_names() -> Vec<CompletionCandidate> {
    let short = |name: &'static str| name.rsplit('/').next().unwrap_or(name);
    let all: Vec<_> = ConversationTemplate::builtin().collect();
    let is_only = |name: &str| all.iter().filter(|(other, _)| short(other) == name).count() == 1;
    let names = all.iter().flat_map(|(name, template)| {
        let short = Some(short(name)).filter(|short| short != name && is_only(short));
        short.into_iter().chain([*name]).map(|name| candidate(name, template.about.as_deref()))
    });
    names.collect()
}

fn lints() -> impl Iterator<Item = CompletionCandidate> {
    LINTS.iter().map(|lint| candidate(lint.code, Some(lint.about)))
}

fn candidate(name: &str, about: Option<&str>) -> CompletionCandidate {
    CompletionCandidate::new(name).help(about.map(|about| about.to_owned().into()))
}

fn names_and_files(names: fn() -> Vec<CompletionCandidate>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let mut fitting = fitting(names(), current);
        fitting.extend(PathCompleter::any().complete(current));
        fitting
    })
}

/// Those that continue what was typed.
fn fitting(candidates: impl IntoIterator<Item = CompletionCandidate>, current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.as_encoded_bytes();
    let goes_on = |candidate: &CompletionCandidate| candidate.get_value().as_encoded_bytes().starts_with(typed);
    candidates.into_iter().filter(goes_on).collect()
}
