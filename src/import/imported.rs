//! From a chat template to the best meta template for it.

use std::sync::Arc;

use crate::conversation::Mode;
use crate::dialect::{ChatTemplate, ChatTemplateRenderer, Model};
use crate::error::{ErrorKind, Result};
use crate::import::conversations::ContentKind;
use crate::import::fit;
use crate::import::probe::Probe;
use crate::import::verify::{Verified, Verifier};
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
}

/// Makes a meta template of a chat template and compares the two on generated conversations.
///
/// The best of several candidates is taken; [`Imported::verified`] tells what it does not do.
///
/// # Errors
/// [`ErrorKind::Template`] if no meta template can write even ordinary conversations as the chat template does, with the
/// first difference; errors of the chat template itself.
pub fn import(template: &ChatTemplate, tokenizer: &Arc<Tokenizer>) -> Result<Imported> {
    import_for(&[Mode::Generate, Mode::Score], template, tokenizer)
}

/// The same for these purposes of prompts alone.
pub(super) fn import_for(modes: &[Mode], template: &ChatTemplate, tokenizer: &Arc<Tokenizer>) -> Result<Imported> {
    let renderer = ChatTemplateRenderer::new(template, tokenizer)?;
    let stops: Vec<i64> = crate::render::Renderer::stop(&renderer).stop_token_ids().map(i64::from).collect();
    let probe = Probe::new(&renderer);
    let verifier = Verifier::new(modes, template, tokenizer)?;
    let mut best: Option<Imported> = None;
    for mut candidate in fit::candidates(&probe)? {
        candidate.eos_token_id.0.clone_from(&stops);
        let model = model_of(candidate, template);
        let Ok(verified) = verifier.verify(&model, &[ContentKind::Ordinary]) else { continue };
        if best.as_ref().is_none_or(|best| verified.score() > best.verified.score()) {
            best = Some(Imported { model, verified });
        }
    }
    match best {
        Some(best) if best.verified.is_ordinary() => improved(best, &verifier),
        Some(best) => Err(ErrorKind::Template(best.verified.why_not()).into()),
        None => Err(ErrorKind::Template("no meta template has the shape of this chat template".into()).into()),
    }
}

/// The model with what chat templates do to contents, as far as it makes more prompts the same.
fn improved(mut best: Imported, verifier: &Verifier<'_>) -> Result<Imported> {
    for kind in ContentKind::ALL {
        let kinds = [ContentKind::Ordinary, kind];
        best.verified = verifier.verify(&best.model, &kinds)?;
        while !best.verified.is_exact() {
            let variants = best.model.meta_template.iter().flat_map(|template| fit::variants(template, kind));
            let verified = variants.filter_map(|variant| {
                let model = Model { meta_template: Some(variant), ..best.model.clone() };
                let verified = verifier.verify(&model, &kinds).ok()?;
                Some(Imported { model, verified })
            });
            match verified.max_by_key(|imported| imported.verified.score()) {
                Some(better) if better.verified.score() > best.verified.score() => best = better,
                _ => break,
            }
        }
    }
    best.verified = verifier.verify(&best.model, &ContentKind::ALL)?;
    Ok(best)
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
