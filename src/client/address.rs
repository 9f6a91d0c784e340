//! The address of a server: what it may be, and how it is shown without the password in it.

use std::net::IpAddr;

use reqwest::Url;

use crate::error::{ErrorKind, Result};

/// The address of a server, with or without the `/v1` that clients of OpenAI's API expect in it, or with the path of an
/// endpoint.
pub(super) fn base(address: &str) -> Result<Url> {
    let wrong = |what: &str| {
        let what = format!("{:?} is not the address of a server: {what}", without_password(address));
        ErrorKind::Usage(what).with_way_out("an address looks like http://127.0.0.1:8000")
    };
    let mut url = Url::parse(address).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it is not http or https"));
    }
    if url.query().is_some() {
        return Err(wrong("it has a query after \"?\", which cannot be sent; a key goes into a header"));
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    let of_endpoint = ["/v1/completions", "/v1/chat/completions", "/v1"].iter().find_map(|end| path.strip_suffix(end));
    let path = of_endpoint.unwrap_or(path).to_owned();
    url.set_path(&path);
    Ok(url)
}

/// An address, valid or not, as it may be shown: without what is before an `@` or after a `?`, which may be keys.
pub(super) fn without_password(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let (hidden, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("…@", rest));
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?…"));
    format!("{scheme}{separator}{hidden}{rest}{query}")
}

/// Whether an address is one of this machine, which no proxy reaches.
pub(super) fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (address, expected) in [
            ("http://localhost:8000", Some("http://localhost:8000/")),
            ("http://localhost:8000/v1/", Some("http://localhost:8000/")),
            ("https://host/models/a/v1", Some("https://host/models/a")),
            ("http://host/v1#a", Some("http://host/")),
            ("http://host/v1/completions", Some("http://host/")),
            ("http://host/a/v1/chat/completions/", Some("http://host/a")),
            ("http://host/v1?key=1", None),
            ("localhost:8000", None),
            ("ftp://host", None),
            ("", None),
        ] {
            assert_eq!(base(address).ok().as_ref().map(Url::as_str), expected, "{address:?}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (address, shown) in [
            ("http://localhost:8000", "http://localhost:8000"),
            ("ftp://user:pa55@host/", "ftp://…@host/"),
            ("http://user:pa55@host:99999/", "http://…@host:99999/"),
            ("http://user:pa/5@5@host", "http://…@host"),
            ("user:pa55@host", "…@host"),
            ("http://host/?api_key=pa55", "http://host/?…"),
            ("http://user:p?a55@host", "http://…@host"),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }

    #[test]
    fn this_machine() {
        for (address, expected) in [
            ("http://localhost:8000", true),
            ("http://127.0.0.2", true),
            ("http://[::1]:8000", true),
            ("http://192.168.0.1", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(is_this_machine(&base(address).expect("it is an address")), expected, "{address}");
        }
    }
}
