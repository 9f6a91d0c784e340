//! Bytes that are not UTF-8, and what their byte order mark says they are.

use std::str::Utf8Error;

use crate::error::ErrorKind;

impl ErrorKind {
    /// Why bytes are not UTF-8: they begin with the byte order mark of another encoding, as what PowerShell writes, or one
    /// of them is in no character.
    ///
    /// ```
    /// use metatok::error::ErrorKind;
    ///
    /// let utf16 = b"\xff\xfeH\0i\0";
    /// let error = std::str::from_utf8(utf16).expect_err("UTF-8 never has these bytes");
    /// let message = "this is UTF-16 (little endian), but metatok only reads UTF-8";
    /// assert_eq!(ErrorKind::not_utf8(utf16, error).to_string(), message);
    /// ```
    #[must_use]
    pub fn not_utf8(bytes: &[u8], error: Utf8Error) -> Self {
        Self::other_encoding(bytes).unwrap_or(Self::NotUtf8(error.valid_up_to()))
    }

    /// The encoding of a file, if it begins with the byte order mark of one other than UTF-8.
    pub(crate) fn other_encoding(bytes: &[u8]) -> Option<Self> {
        Some(Self::OtherEncoding(match bytes {
            [0xff, 0xfe, 0, 0, ..] => "UTF-32 (little endian)",
            [0, 0, 0xfe, 0xff, ..] => "UTF-32 (big endian)",
            [0xff, 0xfe, ..] => "UTF-16 (little endian)",
            [0xfe, 0xff, ..] => "UTF-16 (big endian)",
            _ => return None,
        }))
    }
}
