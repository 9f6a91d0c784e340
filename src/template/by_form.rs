//! Values that have several forms: which one it is decides how it is read.

/// Reads a value of one of several forms, with an error that lists these.
macro_rules! deserialize_by_form {
    ($type:ty, $expecting:literal, { $($method:tt)* }) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    $($method)*
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

pub(super) use deserialize_by_form;
