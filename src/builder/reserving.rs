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
    let special = tokenizer.added_tokens().filter(|token| token.special).map(|token| token.id);
    // Text that the model has no entry for produces this id by itself: nobody forged it.
    let unknown = tokenizer.unk_token_id().filter(|id| !used.contains(id) && !listed.contains(id));
    // Everybody writes white space, and no structure can be forged with white space alone.
    let is_white_space = |id: &TokenId| tokenizer.added_token(*id).is_some_and(AddedToken::is_white_space);
    let structure = used.iter().copied().filter(|id| !is_white_space(id));
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
    let reserved = Reserved::new(hidden.iter().filter(|id| Some(*id) != unknown));
    let reserved_entries = Reserved::new(reserved.iter().filter(|id| tokenizer.is_entry(*id)));
    let special_tokens = options.special_tokens.or(model.special_tokens).unwrap_or_default();
    let is_open = options.mode == Mode::Generate || options.open_answer;
    let own_tokens_merge = unreserved.is_some() && come_by_merges(&reserved, &tokenizer);
    Ok(Assembler {
        tokenizer,
        own_tokens_merge,
        unreserved,
        reserved,
        reserved_entries,
        respelled: Mutex::default(),
        special_tokens,
        is_open,
        template_cut,
    })
}

fn named_tokens(tokens: &[String], tokenizer: &Tokenizer) -> Result<Vec<TokenId>> {
    tokens.iter().map(|token| tokenizer.token_to_id(token).ok_or_else(|| not_one_token(token, tokenizer))).collect()
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
