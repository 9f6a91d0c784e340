//! Values that have several forms: which one it is decides how it is read.

/// Reads a value of one of several forms, with an error that lists these.
macro_rules! deserialize_by_form {
    ($(#[$doc:meta])* $type:ty, $expecting:literal, { $($method:tt)* }) => {
        impl<'de> serde::Deserialize<'de> for $type {
            $(#[$doc])*
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }

                    $($method)*
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

pub(crate) use deserialize_by_form;
