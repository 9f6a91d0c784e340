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

mod atom;
mod compiler;
mod role;
mod thoughts;

use std::collections::BTreeSet;

use crate::conversation::opencompass_role;
use crate::error::{At, Fault, OfFile, Result, Warning};
use crate::stop::{StopCriteria, StopSource};
use crate::template::{MetaTemplate, RoundItem};
use crate::tokenizer::{TokenId, Tokenizer};
pub use atom::Atom;
pub(crate) use compiler::{Compiler, not_one_token};
pub(crate) use role::{CompiledItem, CompiledRole};
pub(crate) use thoughts::{LastBegin, Thoughts};

/// A meta template whose control tokens have become ids.
#[derive(Debug)]
pub struct CompiledTemplate {
    pub(crate) begin: Box<[Atom]>,
    pub(crate) end: Box<[Atom]>,
    pub(crate) between: Box<[Atom]>,
    pub(crate) round: Vec<CompiledItem>,
    pub(crate) roles: Vec<CompiledRole>,
    chat_roles: ChatRoles,
    /// Whether it matters which message of a role is the last.
    pub(crate) asks_for_the_last: bool,
    /// Whether messages of some role are left out, or refused.
    pub(crate) leaves_roles_out: bool,
    stop: StopCriteria,
    used: BTreeSet<TokenId>,
    open_seams: bool,
    warnings: Vec<Warning>,
}

/// The roles that speak nearly all OpenAI-style messages.
#[derive(Debug, Default)]
struct ChatRoles {
    user: Option<usize>,
    assistant: Option<usize>,
    system: Option<usize>,
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
        let between = compiler.affix(&template.between, "meta_template.between")?;
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
            between,
            round,
            asks_for_the_last: roles.iter().any(|role| role.thoughts.is_some() || role.merges_into_last),
            leaves_roles_out: roles.iter().any(|role| role.silent || role.refuse.is_some()),
            roles,
            chat_roles: ChatRoles::default(),
            stop: StopCriteria::default(),
            used: compiler.used,
            open_seams: compiler.open_seams,
            warnings,
        };
        let [user, assistant, system] = ["user", "assistant", "system"].map(|name| compiled.find_chat_role(name));
        let assistant = assistant.or_else(|| compiled.only_generating_role().filter(|role| Some(*role) != user));
        compiled.chat_roles = ChatRoles { user, assistant, system };
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

    // There are too few roles for hashing a name to pay off.
    pub(crate) fn role(&self, name: &str) -> Option<usize> {
        self.roles.iter().position(|role| role.name == name)
    }

    pub(crate) fn api_role(&self, name: &str) -> Option<usize> {
        self.roles.iter().position(|role| role.api_role.as_deref() == Some(name))
    }

    /// The role that speaks an OpenAI-style message, if there is one.
    #[inline]
    pub(crate) fn chat_role(&self, name: &str) -> Option<usize> {
        match name {
            "user" => self.chat_roles.user,
            "assistant" => self.chat_roles.assistant,
            "system" => self.chat_roles.system,
            other => self.find_chat_role(other),
        }
    }

    fn find_chat_role(&self, name: &str) -> Option<usize> {
        let spoken_as = |name: &str| self.api_role(name).or_else(|| self.role(name));
        self.role(name).or_else(|| match opencompass_role(name) {
            own if own == name => None,
            own => spoken_as(own),
        })
    }

    /// The model's role if it has a name of its own.
    fn only_generating_role(&self) -> Option<usize> {
        let is_generating = |role: &CompiledRole| role.position.is_some() && role.generate;
        let mut generating = (0..self.roles.len()).filter(|&role| is_generating(&self.roles[role]));
        generating.next().filter(|_| generating.next().is_none())
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
            let id = tokenizer.check_id(id.into()).at(place).of_file(Fault::Model)?;
            self.stop.add_id(id, StopSource::MetaTemplate);
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
