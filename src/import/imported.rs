//! From a chat template to the best meta template for it.

use std::sync::Arc;

use crate::builder::{BuilderOptions, PromptBuilder};
use crate::conversation::Mode;
use crate::dialect::{ChatTemplate, ChatTemplateRenderer, Model};
use crate::error::{ErrorKind, Result};
use crate::import::conversations::ContentKind;
use crate::import::fit;
use crate::import::probe::Probe;
use crate::import::verify::{Theirs, Trial, Verified, Verifier};
use crate::template::MetaTemplate;
use crate::tokenizer::{AddSpecialTokens, Tokenizer};

/// A model that was made of a chat template.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Imported {
    /// The model.
    pub model: Model,
    /// What of it was compared with the chat template.
    pub verified: Verified,
    /// Whether the chat template can write the day of its use. The model always writes the day on which it was made.
    pub tells_time: bool,
}

/// Makes a meta template of a chat template and compares the two on generated conversations.
///
/// The best of several candidates is taken; [`Imported::verified`] tells what it does not do.
///
/// # Errors
/// [`ErrorKind::Template`] if no meta template can write even ordinary conversations as the chat template does, with the
/// first difference; errors of the chat template itself.
pub fn import(template: &ChatTemplate, tokenizer: &Arc<Tokenizer>) -> Result<Imported> {
    let chat_model = Model::from(template.clone());
    let theirs = [Mode::Generate, Mode::Score].map(|mode| {
        let options = BuilderOptions { mode, text: true, ..BuilderOptions::default() };
        Ok(Theirs::new(PromptBuilder::new(&chat_model, Arc::clone(tokenizer), &options)?, options))
    });
    let theirs = theirs.into_iter().collect::<Result<_>>()?;
    let renderer = ChatTemplateRenderer::new(template, tokenizer)?;
    let verifier = Verifier::new(template, tokenizer, renderer, theirs, &|_| true);
    let mut best = best(&verifier)?;
    ContentKind::FURTHER.into_iter().for_each(|kind| best.compare(kind));
    Ok(imported(best, &verifier))
}

/// The meta template that [`import`] makes, compared by this verifier.
pub(super) fn import_by(verifier: &Verifier<'_>) -> Result<Imported> {
    Ok(imported(best(verifier)?, verifier))
}

fn imported(best: Trial<'_>, verifier: &Verifier<'_>) -> Imported {
    Imported { model: best.model, verified: best.verified, tells_time: verifier.template.tells_time() }
}

/// The best of the candidates and their variants.
fn best<'v>(verifier: &'v Verifier<'_>) -> Result<Trial<'v>> {
    let renderer = &verifier.renderer;
    let stops: Vec<i64> = crate::render::Renderer::stop(renderer).stop_token_ids().map(i64::from).collect();
    let probe = Probe::new(renderer, verifier.tokenizer);
    let mut best: Option<Trial<'v>> = None;
    for mut candidate in fit::candidates(&probe)? {
        candidate.eos_token_id.0.clone_from(&stops);
        let Ok(mut trial) = verifier.trial(model_of(candidate, verifier.template)) else { continue };
        trial.compare(ContentKind::Ordinary);
        let score = |trial: &Trial<'_>| trial.score(ContentKind::Ordinary);
        if best.as_ref().is_none_or(|best| score(&trial) > score(best)) {
            best = Some(trial);
        }
    }
    match best {
        Some(best) if best.verified.is_ordinary() => Ok(improved(best, verifier)),
        Some(best) => Err(ErrorKind::Template(best.verified.why_not()).into()),
        None => Err(ErrorKind::Template("no meta template has the shape of this chat template".into()).into()),
    }
}

/// The model with what chat templates do to contents, where that makes more prompts the same.
fn improved<'v>(mut best: Trial<'v>, verifier: &'v Verifier<'_>) -> Trial<'v> {
    for kind in ContentKind::ALL {
        best.compare(kind);
        while !best.is_exact_for(ContentKind::Ordinary) || !best.is_exact_for(kind) {
            let variants = best.model.meta_template.iter().flat_map(|template| fit::variants(template, kind));
            let trials = variants.filter_map(|variant| tried(variant, kind, &best, verifier));
            match trials.max_by_key(|trial| trial.score(kind)) {
                Some(better) if better.score(kind) > best.score(kind) => best = better,
                _ => break,
            }
        }
    }
    // A variant was compared only in what it is made for.
    ContentKind::ALL.into_iter().for_each(|kind| best.compare(kind));
    best
}

/// A variant for this kind, compared with the chat template while it may be better than the best one so far.
fn tried<'v>(
    variant: MetaTemplate,
    kind: ContentKind,
    best: &Trial<'v>,
    verifier: &'v Verifier<'_>,
) -> Option<Trial<'v>> {
    let model = Model { meta_template: Some(variant), ..best.model.clone() };
    let mut trial = verifier.trial(model).ok()?;
    trial.compare(kind);
    if best.is_exact_for(ContentKind::Ordinary) && trial.equal(kind) <= best.equal(kind) {
        return None;
    }
    trial.compare(ContentKind::Ordinary);
    Some(trial)
}

fn model_of(template: MetaTemplate, source: &ChatTemplate) -> Model {
    Model {
        name: source.name.clone(),
        about: Some(format!("made of the chat template of {}", source.name)),
        // The chat template writes all special tokens itself.
        special_tokens: Some(AddSpecialTokens::Never),
        meta_template: Some(template),
        ..Model::default()
    }
}
