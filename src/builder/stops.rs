//! Where output ends, from all sources but the template: the model file, the tokenizer's files, and the user.

use crate::builder::BuilderOptions;
use crate::dialect::Model;
use crate::error::{At, ErrorKind, Fault, OfFile, Place, Result, Setting};
use crate::stop::{StopCriteria, StopSource};
use crate::tokenizer::Tokenizer;

pub(super) fn add_stops(
    stop: &mut StopCriteria,
    model: &Model,
    tokenizer: &Tokenizer,
    options: &BuilderOptions,
) -> Result<()> {
    for (i, &id) in model.stop.token_ids.0.iter().enumerate() {
        let id = tokenizer.check_id(id.into()).at(format_args!("stop.token_ids[{i}]")).at(Place::file(&model.name));
        stop.add_id(id.of_file(Fault::Model)?, StopSource::ModelFile);
    }
    let special = tokenizer.special_token_ids();
    if let Some(id) = special.eos {
        stop.add_id(id, StopSource::TokenizerConfig);
    }
    // Engines know these by themselves. Models pad their vocabulary, so they are not checked against it.
    for &id in &special.generation_eos {
        stop.add_id(id, StopSource::GenerationConfig);
    }
    for &id in &options.stop_token_ids {
        stop.add_id(tokenizer.check_id(id.into()).at(Setting::STOP_TOKEN_IDS)?, StopSource::User);
    }
    if options.stop_strings.iter().any(String::is_empty) {
        let what = "an empty string would end every answer before it begins".to_owned();
        return Err(ErrorKind::Usage(what)).at(Setting::STOP_STRINGS);
    }
    for string in model.stop.strings.iter().chain(&options.stop_strings) {
        stop.add_string(string);
    }
    Ok(())
}
