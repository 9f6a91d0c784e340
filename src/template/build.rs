//! Templates written in code.

use crate::template::{Affix, AffixItem, EmptyContent, MergeAt, MetaTemplate, RoleTemplate, RoundItem, TokenIds, Trim};
use crate::tokenizer::TokenId;

impl MetaTemplate {
    /// A template with this round.
    ///
    /// ```
    /// use metatok::template::{AffixItem, MetaTemplate, RoleTemplate};
    ///
    /// let template = MetaTemplate::new([
    ///     RoleTemplate::new("HUMAN").begin((1051, "user\n")).end("<|im_end|>\n"),
    ///     RoleTemplate::new("BOT").begin((1051, "assistant\n")).end((AffixItem::token("<|im_end|>"), "\n")).generate(),
    /// ]);
    /// let template = template
    ///     .reserved_role(RoleTemplate::new("SYSTEM").begin("<|im_start|>system\n").end("<|im_end|>\n"))
    ///     .eos_token_id([1052, 1050]);
    /// let written: MetaTemplate = toml::from_str(r#"
    ///     eos_token_id = [1052, 1050]
    ///     round = [
    ///         { role = "HUMAN", begin = [1051, "user\n"], end = "<|im_end|>\n" },
    ///         { role = "BOT", begin = [1051, "assistant\n"], end = [{ token = "<|im_end|>" }, "\n"], generate = true },
    ///     ]
    ///     reserved_roles = [{ role = "SYSTEM", begin = "<|im_start|>system\n", end = "<|im_end|>\n" }]
    /// "#)?;
    /// assert_eq!(template, written);
    /// # Ok::<(), toml::de::Error>(())
    /// ```
    pub fn new<I: Into<RoundItem>>(round: impl IntoIterator<Item = I>) -> Self {
        Self { round: round.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets what is written before the first message.
    #[must_use]
    pub fn begin(mut self, begin: impl Into<Affix>) -> Self {
        self.begin = begin.into();
        self
    }

    /// Sets what is written after the last message.
    #[must_use]
    pub fn end(mut self, end: impl Into<Affix>) -> Self {
        self.end = end.into();
        self
    }

    /// Adds a role that is not part of a round.
    #[must_use]
    pub fn reserved_role(mut self, role: RoleTemplate) -> Self {
        self.reserved_roles.push(role);
        self
    }

    /// Sets what is written between rounds.
    #[must_use]
    pub fn between(mut self, between: impl Into<Affix>) -> Self {
        self.between = between.into();
        self
    }

    /// Sets the ids at which an answer ends.
    #[must_use]
    pub fn eos_token_id(mut self, ids: impl Into<TokenIds>) -> Self {
        self.eos_token_id = ids.into();
        self
    }
}

/// ```
/// use metatok::template::{RoleTemplate, Trim};
///
/// let system = RoleTemplate::new("SYSTEM").end("\n\n").trim(Trim::Both).silent_if_empty().merge_into_last("HUMAN");
/// let written: RoleTemplate = toml::from_str(r#"
///     role = "SYSTEM"
///     end = "\n\n"
///     trim = true
///     empty = "silent"
///     merge_into = "HUMAN"
///     at = "last"
/// "#)?;
/// assert_eq!(system, written);
/// # Ok::<(), toml::de::Error>(())
/// ```
impl RoleTemplate {
    /// A role that writes only its content, with nothing around it.
    pub fn new(role: impl Into<String>) -> Self {
        Self { role: role.into(), ..Self::default() }
    }

    /// Sets the role's name for APIs: HUMAN, BOT or SYSTEM.
    #[must_use]
    pub fn api_role(mut self, name: impl Into<String>) -> Self {
        self.api_role = Some(name.into());
        self
    }

    /// Sets what is written before the content of a message.
    #[must_use]
    pub fn begin(mut self, begin: impl Into<Affix>) -> Self {
        self.begin = begin.into();
        self
    }

    /// Sets the content for a conversation that has none for this role.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// Sets what is written after the content of a message.
    #[must_use]
    pub fn end(mut self, end: impl Into<Affix>) -> Self {
        self.end = end.into();
        self
    }

    /// Says that the model speaks in this role.
    #[must_use]
    pub fn generate(mut self) -> Self {
        self.generate = true;
        self
    }

    /// Sets the end of a prompt to continue, if that is not `begin`.
    #[must_use]
    pub fn generation_prompt(mut self, prompt: impl Into<Affix>) -> Self {
        self.generation_prompt = Some(prompt.into());
        self
    }

    /// Sets which outer white space is stripped from its messages.
    #[must_use]
    pub fn trim(mut self, trim: Trim) -> Self {
        self.trim = trim;
        self
    }

    /// Makes it write nothing for a message with empty content.
    #[must_use]
    pub fn silent_if_empty(mut self) -> Self {
        self.empty = EmptyContent::Silent;
        self
    }

    /// Sets the text with which thoughts end. They are left out of answers before the last user message.
    #[must_use]
    pub fn thoughts(mut self, end: impl Into<String>) -> Self {
        self.thoughts = Some(end.into());
        self
    }

    /// Sets what is written before an answer that is the last message, if that is not `begin`.
    #[must_use]
    pub fn last_begin(mut self, begin: impl Into<Affix>) -> Self {
        self.last_begin = Some(begin.into());
        self
    }

    /// Moves its messages into the last turn of this role of the round.
    #[must_use]
    pub fn merge_into_last(mut self, role: impl Into<String>) -> Self {
        self.at = MergeAt::Last;
        self.merge_into(role)
    }

    /// Leaves its messages out.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// Refuses its messages for this reason.
    #[must_use]
    pub fn refuse(mut self, reason: impl Into<String>) -> Self {
        self.refuse = Some(reason.into());
        self
    }

    /// Moves its messages into the next turn of this role of the round.
    #[must_use]
    pub fn merge_into(mut self, role: impl Into<String>) -> Self {
        self.merge_into = Some(role.into());
        self
    }

    /// Opens every conversation in which it has no message with its `prompt`.
    #[must_use]
    pub fn default_prompt(mut self) -> Self {
        self.default_prompt = true;
        self
    }
}

impl AffixItem {
    /// A token by its string, which must be one entry of the vocabulary.
    pub fn token(token: impl Into<String>) -> Self {
        Self::Token(token.into())
    }
}

impl From<RoleTemplate> for RoundItem {
    fn from(role: RoleTemplate) -> Self {
        Self::Role(Box::new(role))
    }
}

impl From<&str> for RoundItem {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for RoundItem {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for AffixItem {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AffixItem {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<TokenId> for AffixItem {
    fn from(id: TokenId) -> Self {
        Self::Id(id.into())
    }
}

/// An affix of one item.
macro_rules! affix_of_one {
    ($($item:ty),*) => {
        $(impl From<$item> for Affix {
            fn from(item: $item) -> Self {
                Self(vec![item.into()])
            }
        })*
    };
}

affix_of_one!(&str, String, TokenId, AffixItem);

impl<A: Into<AffixItem>, B: Into<AffixItem>> From<(A, B)> for Affix {
    fn from((a, b): (A, B)) -> Self {
        Self(vec![a.into(), b.into()])
    }
}

impl<A: Into<AffixItem>, B: Into<AffixItem>, C: Into<AffixItem>> From<(A, B, C)> for Affix {
    fn from((a, b, c): (A, B, C)) -> Self {
        Self(vec![a.into(), b.into(), c.into()])
    }
}

impl<T: Into<AffixItem>, const N: usize> From<[T; N]> for Affix {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<AffixItem>> From<Vec<T>> for Affix {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<AffixItem>> FromIterator<T> for Affix {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().map(Into::into).collect())
    }
}

impl From<TokenId> for TokenIds {
    fn from(id: TokenId) -> Self {
        Self(vec![id.into()])
    }
}

impl<const N: usize> From<[TokenId; N]> for TokenIds {
    fn from(ids: [TokenId; N]) -> Self {
        ids.into_iter().collect()
    }
}

impl From<Vec<TokenId>> for TokenIds {
    fn from(ids: Vec<TokenId>) -> Self {
        ids.into_iter().collect()
    }
}

impl FromIterator<TokenId> for TokenIds {
    fn from_iter<I: IntoIterator<Item = TokenId>>(ids: I) -> Self {
        Self(ids.into_iter().map(Into::into).collect())
    }
}
