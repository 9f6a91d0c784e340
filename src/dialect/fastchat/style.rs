//! The names of the separator styles of FastChat and UltraFeedback.

use serde::de::{self, IntoDeserializer as _};
use serde::{Deserialize, Serialize, Serializer};

use crate::by_form::deserialize_by_form;

/// A separator style, by its name: the numbers differ between the two systems, which share the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", remote = "Self")]
#[allow(missing_docs, reason = "the names are the reference's; the table in `Layout::new` shows what each does")]
pub enum SeparatorStyle {
    AddColonSingle,
    AddColonTwo,
    AddColonSpaceSingle,
    NoColonSingle,
    NoColonTwo,
    AddNewLineSingle,
    Llama2,
    Llama3,
    Chatglm,
    Chatml,
    Chatintern,
    Dolly,
    Rwkv,
    Phoenix,
    Robin,
    FalconChat,
    Chatglm3,
    DeepseekChat,
    Metamath,
    Yuan2,
    Gemma,
    Cllm,
    Default,
}

impl Serialize for SeparatorStyle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

deserialize_by_form!(SeparatorStyle, "the name of a style, such as \"ADD_COLON_TWO\"", {
    fn visit_str<E: de::Error>(self, name: &str) -> Result<SeparatorStyle, E> {
        SeparatorStyle::deserialize(name.into_deserializer())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<SeparatorStyle, E> {
        Err(E::custom(format_args!(
            "{number} means different styles in FastChat and UltraFeedback; use the style's name, such as \"ADD_COLON_TWO\""
        )))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<SeparatorStyle, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }
});
