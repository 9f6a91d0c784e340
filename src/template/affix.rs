//! Text and token ids as a template writes them: an affix, and the ids of its stops.

use std::fmt;

use serde::de;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::by_form::deserialize_by_form;

/// Text before or after something: a string, or a list of strings, token ids and `{ token = "<|im_end|>" }`, freely
/// mixed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affix(pub Vec<AffixItem>);

/// An element of an [`Affix`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AffixItem {
    /// Text, in which the tokenizer's added tokens are recognized. Adjacent strings are one text.
    Text(String),
    /// A token by its id. Kept as written, so that the error can show an invalid id.
    Id(i64),
    /// A token by its string, which must be one entry of the vocabulary.
    Token(String),
}

impl Affix {
    /// Whether it adds nothing to a prompt.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|item| matches!(item, AffixItem::Text(text) if text.is_empty()))
    }
}

/// As in a model file.
impl fmt::Display for Affix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = |item: &AffixItem| match item {
            // Strings of JSON are strings of TOML.
            AffixItem::Text(text) => Value::from(text.as_str()).to_string(),
            AffixItem::Id(id) => id.to_string(),
            AffixItem::Token(token) => format!("{{ token = {} }}", Value::from(token.as_str())),
        };
        let items: Vec<String> = self.0.iter().map(written).collect();
        match &self.0[..] {
            [] => f.write_str("\"\""),
            [AffixItem::Text(_)] => f.write_str(&items[0]),
            _ => write!(f, "[{}]", items.join(", ")),
        }
    }
}

/// One token id or a list of them, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenIds(pub Vec<i64>);

impl TokenIds {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Affix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match &self.0[..] {
            [AffixItem::Text(text)] => serializer.serialize_str(text),
            items => serializer.collect_seq(items),
        }
    }
}

impl Serialize for AffixItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Id(id) => serializer.serialize_i64(*id),
            Self::Token(token) => serializer.collect_map([("token", token)]),
        }
    }
}

impl Serialize for TokenIds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0[..] {
            [id] => serializer.serialize_i64(id),
            _ => serializer.collect_seq(&self.0),
        }
    }
}

deserialize_by_form!(Affix, "a string or a list of strings, token ids and { token = \"…\" }", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<Affix, E> {
        Ok(text.into())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Affix, A::Error> {
        let mut affix = Affix::default();
        while let Some(item) = items.next_element()? {
            affix.0.push(item);
        }
        Ok(affix)
    }
});

deserialize_by_form!(AffixItem, "a string, a token id or { token = \"…\" }", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<AffixItem, E> {
        Ok(AffixItem::Text(text.to_owned()))
    }

    fn visit_i64<E>(self, id: i64) -> std::result::Result<AffixItem, E> {
        Ok(AffixItem::Id(id))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> std::result::Result<AffixItem, E> {
        i64::try_from(id).map(AffixItem::Id).map_err(|_| out_of_range(id))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<AffixItem, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            token: String,
        }
        let named = Named::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(AffixItem::Token(named.token))
    }
});

deserialize_by_form!(TokenIds, "a token id or a list of token ids", {
    fn visit_unit<E>(self) -> std::result::Result<TokenIds, E> {
        Ok(TokenIds::default())
    }

    fn visit_i64<E>(self, id: i64) -> std::result::Result<TokenIds, E> {
        Ok(TokenIds(vec![id]))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> std::result::Result<TokenIds, E> {
        Ok(TokenIds(vec![i64::try_from(id).map_err(|_| out_of_range(id))?]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut ids: A) -> std::result::Result<TokenIds, A::Error> {
        let mut all = Vec::new();
        while let Some(id) = ids.next_element()? {
            all.push(id);
        }
        Ok(TokenIds(all))
    }
});

fn out_of_range<E: de::Error>(id: u64) -> E {
    E::custom(format_args!("token id {id} is too large for a token id"))
}
