//! A server's message as it is shown: on one line, shortened, and without what was sent in headers.

use crate::wording::shortened;

/// The longest message of a server that is shown, in characters.
const LONGEST: usize = 300;

/// Where servers put their message in JSON.
const PLACES: [&str; 6] =
    ["/error/message", "/choices/0/error/message", "/message", "/detail", "/error", "/meta_info/finish_reason/message"];

/// Where they put the status of what went wrong within an answer, whose own status is 200.
const STATUSES: [&str; 4] = ["/error/code", "/choices/0/error/code", "/code", "/meta_info/finish_reason/status_code"];

/// The status in a server's JSON, if there is one.
pub(super) fn status_in(text: &str) -> Option<u16> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    let status = STATUSES.iter().find_map(|place| json.pointer(place))?;
    status.as_u64().and_then(|status| status.try_into().ok()).or_else(|| status.as_str()?.parse().ok())
}

/// What no message may repeat: keys, passwords and other values of headers.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
        // One may be a part of another.
        secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// A server's message: the message in its JSON, or the text.
    pub(super) fn message(&self, text: &str) -> String {
        self.message_in(text).unwrap_or_else(|| self.shown(text))
    }

    /// The message in a server's JSON, if there is one.
    pub(super) fn message_in(&self, text: &str) -> Option<String> {
        let json: serde_json::Value = serde_json::from_str(text).ok()?;
        let message = PLACES.iter().find_map(|place| json.pointer(place)?.as_str())?;
        Some(self.shown(message))
    }

    fn shown(&self, text: &str) -> String {
        let text = self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "…"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() { "nothing".into() } else { shortened(text, LONGEST) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_servers() {
        for (text, status) in [
            (r#"{"error": {"message": "too long", "type": "BadRequestError", "code": 400}}"#, Some(400)),
            (r#"{"object": "error", "message": "no", "code": "429"}"#, Some(429)),
            (r#"{"meta_info": {"finish_reason": {"type": "abort", "status_code": 400}}}"#, Some(400)),
            (r#"{"error": {"message": "no key", "code": "invalid_api_key"}}"#, None),
            (r#"{"error": {"message": "too long"}}"#, None),
            ("too long", None),
        ] {
            assert_eq!(status_in(text), status, "{text}");
        }
    }

    #[test]
    fn messages_of_servers() {
        let secrets = Secrets::new(["Bearer s3cret", "s3cret", ""].map(str::to_owned));
        for (text, shown) in [
            (r#"{"error": {"message": "too long", "code": 400}}"#, "too long"),
            (r#"{"object": "error", "message": "no"}"#, "no"),
            (r#"{"meta_info": {"finish_reason": {"type": "abort", "message": "out of memory"}}}"#, "out of memory"),
            ("<html>\n <h1>502</h1></html>", "<html> <h1>502</h1></html>"),
            ("", "nothing"),
            (r#"{"detail": "s3cret is no key, nor is Bearer s3cret"}"#, "… is no key, nor is …"),
        ] {
            assert_eq!(secrets.message(text), shown);
        }
        let cut = secrets.message(&format!("{}s3cret", "x".repeat(LONGEST - 3)));
        assert!(!cut.contains("s3"), "a key is not shown in part: {cut}");
    }
}
