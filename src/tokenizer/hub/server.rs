//! Requests to the Hub: who is sent the token, which redirects are followed, and how long is waited.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::http::header::{self, AsHeaderName};
use ureq::http::uri::Scheme;
use ureq::http::{HeaderValue, Method, Response, Uri};
use ureq::{Agent, Body};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::hub::cached::checked_name;
use crate::tokenizer::hub::failure::Failure;

/// Waits before the further attempts, where the server may have too much to do.
const WAITS: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// So many redirects are followed.
const REDIRECTS: usize = 10;

/// The ETag of a file that is elsewhere: for a large file of the Hub, its SHA-256.
const LINKED_ETAG: &str = "x-linked-etag";

/// What an address has as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The Hub that HF_ENDPOINT names.
pub(super) struct Server {
    agent: Agent,
    endpoint: String,
    /// The endpoint, taken apart.
    at: Uri,
    authorization: Option<HeaderValue>,
    patience: Duration,
}

/// What the Hub says of a file.
pub(super) struct Description {
    pub(super) commit: String,
    pub(super) etag: String,
    pub(super) size: Option<u64>,
    /// The hash of its contents in hexadecimal digits, of a large file.
    pub(super) sha256: Option<String>,
}

impl Server {
    /// As the variables say, which are those of Python's `huggingface_hub`.
    pub(super) fn from_env(saved_token: &Path) -> Result<Self> {
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        let is_http = |at: &Uri| at.authority().is_some() && matches!(at.scheme_str(), Some("http" | "https"));
        let at = endpoint.parse().ok().filter(is_http).ok_or_else(|| {
            ErrorKind::Usage(format!("HF_ENDPOINT is {endpoint:?}, which is not the address of a server"))
                .with_way_out("write it as https://huggingface.co")
        })?;
        let saved = || Some(std::fs::read_to_string(saved_token).ok()?.trim().to_owned());
        let known = || variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")).or_else(saved);
        let token = if flag("HF_HUB_DISABLE_IMPLICIT_TOKEN") { None } else { known() };
        let bearer = |token| {
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
                ErrorKind::Usage("the access token of the hub has characters that no token has".into())
                    .with_way_out("set HF_TOKEN to the token alone")
            })
        };
        let authorization = token.filter(|token| !token.is_empty()).map(bearer).transpose()?;
        let patience = seconds("HF_HUB_DOWNLOAD_TIMEOUT")?;
        let answer = Some(seconds("HF_HUB_ETAG_TIMEOUT")?);
        let config = Agent::config_builder()
            .user_agent(concat!("metatok/", env!("CARGO_PKG_VERSION")))
            // Sizes are those of the files, not of what is compressed.
            .accept_encoding("identity")
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(answer)
            .timeout_connect(answer)
            .timeout_send_request(answer)
            .timeout_recv_response(answer)
            .timeout_per_read(Some(patience));
        Ok(Self { agent: config.build().into(), endpoint, at, authorization, patience })
    }

    /// How long nothing may come.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn url(&self, repository: &str, revision: &str, file: &str) -> String {
        let encoded = |text| utf8_percent_encode(text, PLAIN).to_string();
        let file = file.split('/').map(encoded).collect::<Vec<_>>().join("/");
        format!("{}/{repository}/resolve/{}/{file}", self.endpoint, encoded(revision))
    }

    /// Asks what a file is. Large files are elsewhere: then the Hub's redirect says it.
    pub(super) fn describe(&self, url: &str) -> std::result::Result<Description, Failure> {
        let says = |response: &Response<Body>| etag(response).is_some() && commit(response).is_some();
        let response = self.send(&Method::HEAD, url, 0, says)?;
        let (Some(commit), Some(etag)) = (commit(&response), etag(&response)) else {
            let what = format!("the answer of {url} has no X-Repo-Commit or no ETag, which the Hub sends");
            let way_out = "check that HF_ENDPOINT is a Hub, and whether the network asks for a login";
            return Err(ErrorKind::Hub(what).with_way_out(way_out).into());
        };
        let own = || header_of(&response, header::CONTENT_LENGTH).filter(|_| response.status().is_success());
        let size = header_of(&response, "x-linked-size").or_else(own).and_then(|size| size.parse().ok());
        let is_sha256 = |hash: &&str| hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
        let sha256 = header_of(&response, LINKED_ETAG).map(|etag| etag.trim_matches('"')).filter(is_sha256);
        Ok(Description {
            commit: checked_name(commit, "X-Repo-Commit", url)?,
            etag: checked_name(etag, "ETag", url)?,
            size,
            sha256: sha256.map(str::to_ascii_lowercase),
        })
    }

    /// Asks for a file from this byte on.
    pub(super) fn get(&self, url: &str, start: u64) -> std::result::Result<Response<Body>, Failure> {
        self.send(&Method::GET, url, start, |_| false)
    }

    /// Follows redirects up to an answer, or up to a redirect that says enough. Only the Hub is sent the token.
    fn send(
        &self,
        method: &Method,
        first: &str,
        start: u64,
        is_enough: impl Fn(&Response<Body>) -> bool,
    ) -> std::result::Result<Response<Body>, Failure> {
        let unusable = |why: String| {
            let what = format!("the hub answered {first} with {why}");
            Failure::from(ErrorKind::Hub(what).with_way_out("check that HF_ENDPOINT is a Hub"))
        };
        let mut url: Uri = first.parse().map_err(|_| unusable("an address that is none".into()))?;
        for _ in 0..=REDIRECTS {
            let response = self.patiently(method, &url, start)?;
            if !response.status().is_redirection() {
                return accepted(response, first);
            }
            let status = response.status().as_u16();
            let next = header_of(&response, header::LOCATION).and_then(|location| target(&url, location));
            let next =
                next.ok_or_else(|| unusable(format!("status {status}, but no Location that can be followed")))?;
            if !self.is_own(&next) && is_enough(&response) {
                return Ok(response);
            }
            url = next;
        }
        Err(unusable(format!("more than {REDIRECTS} redirects")))
    }

    /// Tries again if the server has too much to do.
    fn patiently(&self, method: &Method, url: &Uri, start: u64) -> std::result::Result<Response<Body>, Failure> {
        let mut waits = WAITS.into_iter();
        loop {
            let mut request = ureq::http::Request::builder().method(method).uri(url);
            if start > 0 {
                request = request.header(header::RANGE, format!("bytes={start}-"));
            }
            if let Some(authorization) = self.authorization.as_ref().filter(|_| self.is_own(url)) {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let sent = request.body(()).map_err(ureq::Error::from).and_then(|request| self.agent.run(request));
            let response = sent.map_err(|error| Failure::Network(reason(error)))?;
            let asked = retry_after(&response).unwrap_or_default();
            match waits.next() {
                Some(wait) if is_busy(&response) && asked <= LONGEST_WAIT => sleep(wait.max(asked)),
                _ => return Ok(response),
            }
        }
    }

    /// Whether an address is the Hub's own, perhaps with encryption added.
    fn is_own(&self, url: &Uri) -> bool {
        url.authority() == self.at.authority()
            && (url.scheme() == self.at.scheme() || url.scheme() == Some(&Scheme::HTTPS))
    }
}

/// A header's value, if it is text.
pub(super) fn header_of(response: &Response<Body>, name: impl AsHeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// Why a request failed, in plain words.
pub(super) fn reason(error: ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => {
            "nothing came in the time that HF_HUB_ETAG_TIMEOUT and HF_HUB_DOWNLOAD_TIMEOUT give".into()
        }
        // Without the words of ureq in front.
        ureq::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// The answer, if the file is there.
fn accepted(response: Response<Body>, url: &str) -> std::result::Result<Response<Body>, Failure> {
    let status = response.status().as_u16();
    Err(match status {
        // 416 tells of the part that was asked for.
        200 | 206 | 416 => return Ok(response),
        404 => match header_of(&response, "x-error-code") {
            Some("RevisionNotFound") => {
                ErrorKind::HubMissing(format!("the hub has no such revision: {url}")).with_way_out("check the spelling")
            }
            _ => {
                let told = commit(&response).map(|commit| checked_name(commit, "X-Repo-Commit", url)).transpose()?;
                return Err(Failure::Missing(told));
            }
        },
        401 | 403 => ErrorKind::HubAccess(format!(
            "the hub refuses access to {url}: the repository is gated, private or does not exist"
        ))
        .with_way_out("accept its terms on its page and set HF_TOKEN to a token that may read it"),
        _ => {
            let what = ErrorKind::Hub(format!("the hub answered {url} with status {status}"));
            match retry_after(&response) {
                Some(wait) => what.with_way_out(format!("try again in {} s", wait.as_secs())),
                None if is_busy(&response) => what.with_way_out("try again later"),
                None => what.with_way_out("check that HF_ENDPOINT is a Hub"),
            }
        }
    }
    .into())
}

fn is_busy(response: &Response<Body>) -> bool {
    matches!(response.status().as_u16(), 408 | 429 | 500 | 502..=504)
}

fn retry_after(response: &Response<Body>) -> Option<Duration> {
    header_of(response, header::RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
}

fn commit(response: &Response<Body>) -> Option<&str> {
    header_of(response, "x-repo-commit")
}

/// The ETag of the contents, wherever they are.
fn etag(response: &Response<Body>) -> Option<&str> {
    let etag = header_of(response, LINKED_ETAG).or_else(|| header_of(response, header::ETAG))?;
    Some(etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"'))
}

/// Where a redirect leads; none if that is no address.
fn target(from: &Uri, location: &str) -> Option<Uri> {
    let (scheme, authority) = (from.scheme_str()?, from.authority()?);
    let path = from.path();
    let is_http = |scheme: &str| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let absolute = match location.split_once(':') {
        Some((scheme, _)) if is_http(scheme) => location.to_owned(),
        _ if location.starts_with("//") => format!("{scheme}:{location}"),
        _ if location.starts_with('/') => format!("{scheme}://{authority}{location}"),
        _ if location.starts_with('?') => format!("{scheme}://{authority}{path}{location}"),
        _ => format!("{scheme}://{authority}{}/{location}", path.rsplit_once('/')?.0),
    };
    absolute.parse().ok()
}

/// The value of an environment variable without white space around it, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Whether a variable is set to yes, in one of the ways of `huggingface_hub`.
pub(super) fn flag(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}

/// A variable with a time; by default 10 s, as for Python's `huggingface_hub`.
fn seconds(name: &str) -> Result<Duration> {
    let Some(value) = variable(name) else { return Ok(Duration::from_secs(10)) };
    let seconds = value.parse().ok().filter(|seconds| (1..=86400).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        ErrorKind::Usage(format!("{name} is {value:?}, which is not a number of seconds"))
            .with_way_out("write a whole number from 1 to 86400, or unset it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_where_they_say() {
        let from: Uri = "http://hub:8000/a/b?c".parse().expect("it is an address");
        for (location, expected) in [
            ("https://cdn/x?y#z", Some("https://cdn/x?y")),
            ("HTTP://cdn/x", Some("http://cdn/x")),
            ("//cdn/x", Some("http://cdn/x")),
            ("/x/y?z", Some("http://hub:8000/x/y?z")),
            ("?d", Some("http://hub:8000/a/b?d")),
            ("x", Some("http://hub:8000/a/x")),
            ("http://", None),
            ("/a b", None),
        ] {
            assert_eq!(target(&from, location).map(|url| url.to_string()).as_deref(), expected, "{location}");
        }
    }
}
