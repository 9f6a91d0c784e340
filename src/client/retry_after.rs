//! The header `Retry-After`: how long a server asks to wait, as a number of seconds or as a date.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// The longest wait that a server may ask for.
const LONGEST: Duration = Duration::from_secs(600);

/// How long to wait from `now` on; none if the value says nothing.
pub(super) fn wait(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.parse() {
        // Out of range is far away, or before now.
        Ok(seconds) => {
            Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 { LONGEST } else { Duration::ZERO })
        }
        Err(_) => {
            let date = rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
            now.duration_until(date).try_into().unwrap_or_default()
        }
    };
    Some(wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        let now: Timestamp = "2026-11-23T08:49:30Z".parse().expect("it is a time");
        for (value, expected) in [
            ("2", Some(2.0)),
            (" 0.5 ", Some(0.5)),
            ("-1", Some(0.0)),
            ("1e30", Some(600.0)),
            ("86400", Some(600.0)),
            ("Mon, 23 Nov 2026 08:49:37 GMT", Some(7.0)),
            ("Mon, 23 Nov 2026 08:49:07 GMT", Some(0.0)),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(wait(value, now).map(|wait| wait.as_secs_f64()), expected, "{value:?}");
        }
    }
}
