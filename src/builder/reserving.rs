//! Which tokens only the template may write, and the assembler that enforces it.

use std::sync::{Arc, Mutex};

use crate::assemble::{Assembler, ContentTrust, Reserved, come_by_merges};
use crate::builder::BuilderOptions;
use crate::compile::not_one_token;
use crate::conversation::Mode;
use crate::dialect::Model;
use crate::error::{At, ErrorKind, Result, Setting, way_out};
use crate::render::TemplateCut;
use crate::tokenizer::{AddedToken, TokenId, Tokenizer};

/// For a template that uses these tokens.
pub(super) fn assembler(
    tokenizer: Arc<Tokenizer>,
    used: &[TokenId],
    template_cut: TemplateCut,
    model: &Model,
    options: &BuilderOptions,
) -> Result<Assembler> {
    let listed = named_tokens(&options.reserve, &tokenizer).at(Setting::RESERVE)?;
    let freed = named_tokens(&options.unreserve, &tokenizer).at(Setting::UNRESERVE)?;
    let is_structure = |token: &AddedToken| !token.is_ordinary_text();
    let special = tokenizer.added_tokens().filter(|token| token.special && is_structure(token)).map(|token| token.id);
    // Text that the model has no entry for produces this id by itself: nobody forged it.
    let unknown = tokenizer.unk_token_id().filter(|id| !used.contains(id) && !listed.contains(id));
    let structure = used.iter().copied().filter(|id| tokenizer.added_token(*id).is_none_or(is_structure));
    let all = Reserved::new(special.chain(structure).chain(listed.iter().copied()));
    check_freed(&freed, &all, &listed, &tokenizer).at(Setting::UNRESERVE)?;
    if options.content == ContentTrust::Trusted && !freed.is_empty() {
        let way_out = way_out!["leave it out, or build without ", Setting::CONTENT.set_to("trusted")];
        let error = ErrorKind::Usage("trusted content may write every token".into()).with_way_out(way_out);
        return Err(error.at(Setting::UNRESERVE));
    }
    let hidden = Reserved::new(all.iter().filter(|id| !freed.contains(id)));
    let unreserved = match options.content {
        ContentTrust::Trusted => None,
        ContentTrust::Data => Some(tokenizer.finder_without(|token| hidden.contains(token.id))?),
    };
    // Nor did anybody forge a token that a file declares at the id of a single character.
    let is_written = |id: &TokenId| Some(*id) == unknown || !listed.contains(id) && tokenizer.is_character(*id);
    let reserved = Reserved::new(hidden.iter().filter(|id| !is_written(id)));
    let reserved_entries = Reserved::new(reserved.iter().filter(|id| tokenizer.is_entry(*id)));
    let special_tokens = options.special_tokens.or(model.special_tokens).unwrap_or_default();
    let special_tokens_of_strings = options.special_tokens.or(model.special_tokens_of_strings()).unwrap_or_default();
    let is_open = options.mode == Mode::Generate || options.open_answer;
    let own_tokens_merge = unreserved.is_some() && come_by_merges(&reserved, &tokenizer);
    Ok(Assembler {
        tokenizer,
        own_tokens_merge,
        unreserved,
        reserved,
        reserved_entries,
        listed,
        respelled: Mutex::default(),
        special_tokens,
        special_tokens_of_strings,
        is_open,
        template_cut,
    })
}

/// The ids of tokens, each named as it is in the vocabulary, or by a text that becomes this token.
fn named_tokens(tokens: &[String], tokenizer: &Tokenizer) -> Result<Vec<TokenId>> {
    let of_text = |token: &str| match *tokenizer.encode(token).ok()? {
        [id] if Some(id) != tokenizer.unk_token_id() => Some(id),
        _ => None,
    };
    let id_of = |token: &String| tokenizer.token_to_id(token).or_else(|| of_text(token));
    tokens.iter().map(|token| id_of(token).ok_or_else(|| not_one_token(token, tokenizer))).collect()
}

/// Rejects unreserving a token that is not reserved, or that is also reserved by name.
fn check_freed(freed: &[TokenId], reserved: &Reserved, listed: &[TokenId], tokenizer: &Tokenizer) -> Result<()> {
    for &id in freed {
        let (what, way_out) = if listed.contains(&id) {
            ("is also reserved by name", way_out!["remove it from ", Setting::RESERVE, " or ", Setting::UNRESERVE])
        } else if !reserved.contains(id) {
            ("is not reserved, so content may write it anyway", way_out!["leave it out"])
        } else {
            continue;
        };
        let what = format!("{} (id {id}) {what}", tokenizer.quoted_token(id));
        return Err(ErrorKind::Usage(what).with_way_out(way_out));
    }
    Ok(())
}
