//! Compiling a meta template for its tokenizer, once: ids are checked, and text is cut at control tokens.
//!
//! ```
//! use metatok::compile::CompiledTemplate;
//! use metatok::{Model, Tokenizer};
//!
//! let template = Model::load("demo")?.meta_template.expect("the demo has one");
//! let compiled = CompiledTemplate::new(&template, &Tokenizer::demo()?)?;
//! assert!(compiled.warnings().is_empty());
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! The compiled template never depends on content, so content cannot change it.

use std::collections::BTreeSet;

use crate::error::{At, Error, ErrorKind, Result, Warning};
use crate::stop::{StopCriteria, StopSource};
use crate::template::{Affix, AffixItem, MetaTemplate, RoleTemplate, RoundItem};
use crate::tokenizer::{Cut, TokenId, Tokenizer};

/// What prompts consist of: a token with a fixed id, or text that still has to be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atom<T = Box<str>> {
    /// A token. Nothing merges with it.
    Token(TokenId),
    /// Text, which is encoded together with the text next to it.
    Text(T),
}

impl Atom {
    pub(crate) fn borrowed(&self) -> Atom<&str> {
        match self {
            Self::Token(id) => Atom::Token(*id),
            Self::Text(text) => Atom::Text(text),
        }
    }
}

/// A meta template whose control tokens have become ids.
#[derive(Debug)]
pub struct CompiledTemplate {
    pub(crate) begin: Box<[Atom]>,
    pub(crate) end: Box<[Atom]>,
    pub(crate) round: Vec<CompiledItem>,
    pub(crate) roles: Vec<CompiledRole>,
    stop: StopCriteria,
    used: BTreeSet<TokenId>,
    open_seams: bool,
    warnings: Vec<Warning>,
}

/// An entry of a compiled round, in order.
#[derive(Debug)]
pub(crate) enum CompiledItem {
    Role(usize),
    Text(Box<[Atom]>),
}

/// How a role speaks.
#[derive(Debug)]
pub(crate) struct CompiledRole {
    pub(crate) name: String,
    api_role: Option<String>,
    pub(crate) begin: Box<[Atom]>,
    pub(crate) prompt: Box<[Atom]>,
    pub(crate) end: Box<[Atom]>,
    pub(crate) generate: bool,
    pub(crate) generation_prompt: Option<Box<[Atom]>>,
    /// The role's position in the round; none for a reserved role.
    pub(crate) position: Option<usize>,
    /// The role in whose next turn this one speaks, if it has no turn of its own.
    pub(crate) merge_into: Option<usize>,
    pub(crate) default_prompt: bool,
    /// Why the role cannot speak with this tokenizer.
    unusable: Option<String>,
}

impl CompiledRole {
    /// Rejects a role that needs a token which the tokenizer lacks.
    pub(crate) fn check_usable(&self) -> Result<()> {
        match &self.unusable {
            None => Ok(()),
            Some(why) => {
                let what = format!("role {:?} cannot speak with this tokenizer: {why}", self.name);
                Err(ErrorKind::Conversation(what).into())
            }
        }
    }
}

impl CompiledTemplate {
    /// Compiles a template for a tokenizer.
    ///
    /// # Errors
    /// Names the key path of a token id outside the vocabulary, of a `{ token = "…" }` that is not one entry of the
    /// vocabulary, and of a role that is defined twice.
    pub fn new(template: &MetaTemplate, tokenizer: &Tokenizer) -> Result<Self> {
        template.validate()?;
        let mut compiler = Compiler::new(tokenizer);
        let begin = compiler.affix(&template.begin, "meta_template.begin")?;
        let end = compiler.affix(&template.end, "meta_template.end")?;
        let (mut round, mut roles, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        for (i, item) in template.round.iter().enumerate() {
            let place = format!("meta_template.round[{i}]");
            match item {
                RoundItem::Text(text) => {
                    let text = compiler.text(text).at(place)?;
                    round.push(CompiledItem::Text(text));
                }
                RoundItem::Role(role) => {
                    round.push(CompiledItem::Role(roles.len()));
                    roles.push(compiler.role(role, &place, Some(i))?);
                }
            }
        }
        for (i, role) in template.reserved_roles.iter().enumerate() {
            let mut compiled = compiler.reserved_role(role, &format!("meta_template.reserved_roles[{i}]"))?;
            warnings.extend(compiled.unusable.iter().map(|why| {
                let what = format!("{why}; conversations in which role {:?} speaks are rejected", role.role);
                Warning::new("unusable-role", what)
            }));
            compiled.merge_into = roles.iter().position(|other| role.merge_into.as_ref() == Some(&other.name));
            roles.push(compiled);
        }
        let mut compiled = Self {
            begin,
            end,
            round,
            roles,
            stop: StopCriteria::default(),
            used: compiler.used,
            open_seams: compiler.open_seams,
            warnings,
        };
        compiled.find_stops(template, tokenizer)?;
        Ok(compiled)
    }

    /// The template's own stop ids: `eos_token_id`, and the first id of the generating role's `end` if that is a
    /// control token.
    pub fn stop(&self) -> &StopCriteria {
        &self.stop
    }

    /// Warnings for the template's author, with a key path.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Passes the warnings on to the caller, who knows which file they belong to.
    pub(crate) fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// The names of the roles, those of the round first.
    pub fn role_names(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(|role| role.name.as_str())
    }

    /// The added tokens that the template itself writes.
    pub(crate) fn used_tokens(&self) -> &BTreeSet<TokenId> {
        &self.used
    }

    /// Whether two adjacent template texts could spell an added token that neither contains alone.
    pub(crate) fn has_open_seams(&self) -> bool {
        self.open_seams
    }

    // There are never so many roles that hashing a name would pay off.
    pub(crate) fn role(&self, name: &str) -> Option<usize> {
        self.roles.iter().position(|role| role.name == name)
    }

    pub(crate) fn api_role(&self, name: &str) -> Option<usize> {
        self.roles.iter().position(|role| role.api_role.as_deref() == Some(name))
    }

    pub(crate) fn round_role_names(&self) -> Vec<String> {
        self.roles.iter().filter(|role| role.position.is_some()).map(|role| role.name.clone()).collect()
    }

    fn find_stops(&mut self, template: &MetaTemplate, tokenizer: &Tokenizer) -> Result<()> {
        for (i, &id) in template.eos_token_id.0.iter().enumerate() {
            let place = match template.eos_token_id.0.len() {
                1 => "meta_template.eos_token_id".to_owned(),
                _ => format!("meta_template.eos_token_id[{i}]"),
            };
            self.stop.add_id(tokenizer.check_id(id.into()).at(place)?, StopSource::MetaTemplate);
        }
        let eos: Vec<TokenId> = self.stop.stop_token_ids().collect();
        for ((place, _), role) in template.roles().zip(&self.roles) {
            let Some(Atom::Token(first)) = role.end.first().filter(|_| role.generate) else { continue };
            let is_control = tokenizer.added_token(*first).is_some();
            if is_control {
                self.stop.add_id(*first, StopSource::RoleEnd);
            }
            if !eos.is_empty() && !eos.contains(first) {
                let name = |id| tokenizer.quoted_token(id);
                let written: Vec<String> = eos.iter().map(|&id| format!("{id} ({})", name(id))).collect();
                self.warnings.push(
                    Warning::new(
                        "eos-not-in-end",
                        format!(
                            "eos_token_id is {}, but {place}.end of the generating role begins with {first} ({}); {}",
                            written.join(", "),
                            name(*first),
                            if is_control { "output stops at either" } else { "output stops only at eos_token_id" }
                        ),
                    )
                    .at("meta_template"),
                );
            }
        }
        Ok(())
    }
}

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
    fn reserved_role(&mut self, role: &RoleTemplate, place: &str) -> Result<CompiledRole> {
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

    fn role(&mut self, role: &RoleTemplate, place: &str, position: Option<usize>) -> Result<CompiledRole> {
        let generation_prompt = role.generation_prompt.as_ref();
        Ok(CompiledRole {
            name: role.role.clone(),
            api_role: role.api_role.clone(),
            begin: self.affix(&role.begin, &format!("{place}.begin"))?,
            prompt: self.text(&role.prompt).at(format_args!("{place}.prompt"))?,
            end: self.affix(&role.end, &format!("{place}.end"))?,
            generate: role.generate,
            generation_prompt: generation_prompt
                .map(|affix| self.affix(affix, &format!("{place}.generation_prompt")))
                .transpose()?,
            position,
            merge_into: None,
            default_prompt: role.default_prompt,
            unusable: None,
        })
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
                AffixItem::Id(id) => self.tokenizer.check_id((*id).into()).at(place)?,
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
                    let mut tokens = self.tokenizer.added_tokens().filter(|token| !token.is_white_space());
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
    token.char_indices().skip(1).any(|(end, _)| text.ends_with(&token[..end]))
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
