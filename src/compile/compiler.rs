//! Cuts the texts of a template at control tokens, and checks its ids.

use std::collections::BTreeSet;

use crate::compile::atom::Atom;
use crate::compile::role::CompiledRole;
use crate::compile::thoughts::Thoughts;
use crate::error::{At, Error, ErrorKind, Fault, OfFile, Result};
use crate::template::{Affix, AffixItem, EmptyContent, MergeAt, RoleTemplate};
use crate::tokenizer::{Cut, TokenId, Tokenizer};

/// Cuts the texts of a template at control tokens, and records these.
pub(crate) struct Compiler<'a> {
    tokenizer: &'a Tokenizer,
    /// The added tokens in the texts.
    pub(crate) used: BTreeSet<TokenId>,
    /// Whether two adjacent texts could spell an added token that neither contains alone.
    pub(crate) open_seams: bool,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(tokenizer: &'a Tokenizer) -> Self {
        Self { tokenizer, used: BTreeSet::new(), open_seams: false }
    }

    /// A text of the template.
    pub(crate) fn text(&mut self, text: &str) -> Result<Box<[Atom]>> {
        let mut atoms = Vec::new();
        self.cut(text, &mut atoms)?;
        Ok(atoms.into())
    }

    /// A role that need not speak. If it needs a token that the tokenizer lacks, only this role cannot be used.
    pub(super) fn reserved_role(&mut self, role: &RoleTemplate, place: &str) -> Result<CompiledRole> {
        let error = match self.role(role, place, None) {
            Err(error) if !role.default_prompt => error,
            compiled => return compiled,
        };
        let is_missing = matches!(
            error.kind(),
            ErrorKind::NotOneToken { .. } | ErrorKind::OutsideVocabulary { .. } | ErrorKind::UnusedTokenId(_)
        );
        if !is_missing {
            return Err(error);
        }
        let silent =
            RoleTemplate { role: role.role.clone(), api_role: role.api_role.clone(), ..RoleTemplate::default() };
        Ok(CompiledRole { unusable: Some(error.without_way_out().to_string()), ..self.role(&silent, place, None)? })
    }

    pub(super) fn role(&mut self, role: &RoleTemplate, place: &str, position: Option<usize>) -> Result<CompiledRole> {
        let generation_prompt = role.generation_prompt.as_ref();
        Ok(CompiledRole {
            name: role.role.clone(),
            api_role: role.api_role.clone(),
            begin: self.affix(&role.begin, &format!("{place}.begin"))?,
            prompt: self.text(role.prompt_text()).at(format_args!("{place}.prompt"))?,
            end: self.affix(&role.end, &format!("{place}.end"))?,
            generate: role.generate,
            generation_prompt: generation_prompt
                .map(|affix| self.affix(affix, &format!("{place}.generation_prompt")))
                .transpose()?,
            position,
            merge_into: None,
            merges_into_last: role.at == MergeAt::Last,
            trim: role.trim,
            omits_empty: role.empty == EmptyContent::Silent,
            thoughts: role.thoughts.as_ref().map(|end| self.thoughts(end, role, place)).transpose()?,
            silent: role.silent,
            refuse: role.refuse.clone(),
            default_prompt: role.default_prompt,
            unusable: None,
        })
    }

    fn thoughts(&mut self, end: &str, role: &RoleTemplate, place: &str) -> Result<Thoughts> {
        let last_begin = role.last_begin.as_ref();
        let last_begin = last_begin.map(|affix| self.affix(affix, &format!("{place}.last_begin"))).transpose()?;
        Ok(Thoughts::new(end, last_begin, self.tokenizer))
    }

    /// An affix; `place` is its key path.
    pub(crate) fn affix(&mut self, affix: &Affix, place: &str) -> Result<Box<[Atom]>> {
        let mut atoms = Vec::new();
        let mut text = String::new();
        for (i, item) in affix.0.iter().enumerate() {
            let place = format_args!("{place}[{i}]");
            let id = match item {
                AffixItem::Text(more) => {
                    text.push_str(more);
                    continue;
                }
                AffixItem::Id(id) => self.tokenizer.check_id((*id).into()).at(place).of_file(Fault::Model)?,
                AffixItem::Token(token) => self.named(token).at(place)?,
            };
            self.cut(&std::mem::take(&mut text), &mut atoms)?;
            self.token(id, &mut atoms);
        }
        self.cut(&text, &mut atoms)?;
        Ok(atoms.into())
    }

    fn cut(&mut self, text: &str, atoms: &mut Vec<Atom>) -> Result<()> {
        for Cut { token, bytes } in self.tokenizer.cut(text)? {
            match token {
                Some(id) => self.token(id, atoms),
                None => {
                    let text = &text[bytes];
                    let mut tokens = self.tokenizer.added_tokens().filter(|token| !token.is_ordinary_text());
                    self.open_seams |= tokens.any(|token| ends_with_a_part_of(text, &token.content));
                    atoms.push(Atom::Text(text.into()));
                }
            }
        }
        Ok(())
    }

    fn token(&mut self, id: TokenId, atoms: &mut Vec<Atom>) {
        if self.tokenizer.added_token(id).is_some() {
            self.used.insert(id);
        }
        atoms.push(Atom::Token(id));
    }

    fn named(&self, token: &str) -> Result<TokenId> {
        match self.tokenizer.token_to_id(token) {
            Some(id) => Ok(id),
            None => Err(not_one_token(token, self.tokenizer)),
        }
    }
}

/// The error that shows the pieces of a string that should be one token.
pub(crate) fn not_one_token(token: &str, tokenizer: &Tokenizer) -> Error {
    let pieces = tokenizer.encode(token).unwrap_or_default();
    let pieces = pieces.into_iter().map(|id| tokenizer.quoted_token(id)).collect();
    let near = tokenizer.added_like(token).map(str::to_owned);
    ErrorKind::NotOneToken { token: token.to_owned(), pieces, near }.into()
}

/// Whether `text` ends with the beginning of `token`, but not all of it.
fn ends_with_a_part_of(text: &str, token: &str) -> bool {
    let Some(last) = text.chars().next_back() else { return false };
    let ends = token.match_indices(last).map(|(at, last)| at + last.len());
    ends.filter(|end| *end < token.len()).any(|end| text.ends_with(&token[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_tokens() {
        assert!(ends_with_a_part_of("a <", "<s>"));
        assert!(ends_with_a_part_of("a<s", "<s>"));
        assert!(!ends_with_a_part_of("a<s>", "<s>"));
        assert!(!ends_with_a_part_of("", "<s>"));
    }
}
