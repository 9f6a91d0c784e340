//! The HTTP connection: sends requests, and keeps passwords and keys out of errors.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use rustls::CertificateError;
use tokio::time::timeout;

use crate::client::ClientOptions;
use crate::client::address::{base, is_this_machine, without_password};
use crate::client::failure::Failure;
use crate::client::message::Secrets;
use crate::client::retry_after;
use crate::error::{ErrorKind, Result, counted};

/// Connections to one server.
#[derive(Debug, Clone)]
pub(super) struct Http {
    client: reqwest::Client,
    base: Url,
    idle: Duration,
    secrets: Secrets,
}

/// How to have a certificate accepted.
const TRUST: &str = "name a file with the certificate of its authority in the environment variable SSL_CERT_FILE";

/// How long it may take to see whether an address speaks TLS.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// How many bytes of an error are read.
const LONGEST_ERROR: usize = 1 << 20;

impl Http {
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid address, and for headers that cannot be sent.
    pub(super) fn new(options: &ClientOptions) -> Result<Self> {
        let usage = |what: String| ErrorKind::Usage(what);
        let base = base(&options.url)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &options.headers {
            let parsed =
                HeaderName::try_from(name).map_err(|_| usage(format!("{name:?} is not the name of a header")))?;
            let mut sent = HeaderValue::try_from(value)
                .map_err(|_| usage(format!("the header {name:?} has characters that cannot be sent")))?;
            sent.set_sensitive(true);
            headers.append(parsed, sent);
        }
        // The process may already have a provider; that one is kept.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = || {
            let client = reqwest::Client::builder()
                .default_headers(headers.clone())
                .connect_timeout(Duration::from_secs(10))
                .tcp_nodelay(true)
                .pool_max_idle_per_host(usize::MAX)
                // A redirect would send a prompt to another server.
                .redirect(reqwest::redirect::Policy::none());
            if is_this_machine(&base) { client.no_proxy() } else { client }
        };
        let client = match client().build() {
            // Without the certificates of any authority on this machine, only TLS is impossible.
            Err(_) if base.scheme() == "http" => client().tls_certs_only([]).build(),
            built => built,
        };
        let client = client.map_err(|error| {
            let what = format!("no connection can be made: {}", cause(&error));
            ErrorKind::Usage(what).with_way_out(TRUST)
        })?;
        let secrets = Secrets::new(secrets(options, &base));
        Ok(Self { client, base, idle: options.idle_timeout, secrets })
    }

    /// The address without a password.
    pub(super) fn address(&self) -> String {
        let mut shown = self.base.clone();
        // Both can be set on an address with a host.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        shown.as_str().trim_end_matches('/').to_owned()
    }

    /// What no message may repeat.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    pub(super) async fn get(&self, path: &str) -> std::result::Result<Response, Failure> {
        self.send(self.client.get(self.url(path)), StatusCode::is_success).await
    }

    pub(super) async fn post(&self, path: &str, body: Vec<u8>) -> std::result::Result<Response, Failure> {
        let request = self.client.post(self.url(path)).header(reqwest::header::CONTENT_TYPE, "application/json");
        // Any other success has no answer.
        self.send(request.body(body), |status| *status == StatusCode::OK).await
    }

    /// Sends a request. Returns the head of the response if its status is right.
    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        is_right: impl Fn(&StatusCode) -> bool,
    ) -> std::result::Result<Response, Failure> {
        let response = timeout(self.idle, request.send()).await.map_err(|_| self.silent())?;
        let response = response.map_err(|error| self.failed(&error))?;
        let status = response.status().as_u16();
        if is_right(&response.status()) {
            return Ok(response);
        }
        if response.status().is_redirection() {
            return Err(Failure::Unusable(self.redirect(status, response.headers())));
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|value| retry_after::wait(value, Timestamp::now()));
        let text = timeout(self.idle, self.beginning(response)).await.unwrap_or_default();
        let message = format!("the server answered {status}: {}", self.secrets.message(&text));
        Err(match status {
            408 | 429 | 500.. => Failure::Unavailable { status, retry_after, message },
            _ => Failure::Refused { status: Some(status), message },
        })
    }

    /// The first bytes of a response, more than enough for a message.
    async fn beginning(&self, mut response: Response) -> String {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await
            && body.len() < LONGEST_ERROR
        {
            body.extend_from_slice(&chunk);
        }
        String::from_utf8_lossy(&body).into_owned()
    }

    fn redirect(&self, status: u16, headers: &HeaderMap) -> String {
        let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).map_or_else(String::new, |to| {
            let to = without_password(to);
            format!(", a redirect to {}", self.secrets.message(&to))
        });
        format!(
            "the server answered {status}{to}; redirects are not followed, because they would send prompts elsewhere"
        )
    }

    /// All bytes of an answer, which may be at most this many.
    pub(super) async fn body(&self, response: &mut Response, most: usize) -> std::result::Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        let whole = async {
            while let Some(chunk) = response.chunk().await.map_err(|error| cut_off(&error))? {
                body.extend_from_slice(&chunk);
                if body.len() > most {
                    return Err(Failure::Broken(format!("the answer has more than {most} bytes")));
                }
            }
            Ok(())
        };
        let no_end = |_| Failure::Broken(format!("the answer had no end after {}", seconds(self.idle)));
        timeout(self.idle, whole).await.map_err(no_end)??;
        Ok(body)
    }

    /// The next bytes of an answer, whose last data came at this time; none at its end.
    pub(super) async fn chunk(
        &self,
        response: &mut Response,
        last_data: Instant,
    ) -> std::result::Result<Option<bytes::Bytes>, Failure> {
        let chunk = timeout(self.idle.saturating_sub(last_data.elapsed()), response.chunk())
            .await
            .map_err(|_| self.silent())?;
        chunk.map_err(|error| cut_off(&error))
    }

    /// Whether this address of `http://` speaks TLS, so that it closes connections without a word.
    pub(super) async fn needs_tls(&self, path: &str) -> bool {
        let (mut url, port) = (self.url(path), self.base.port_or_known_default());
        if self.base.scheme() != "http" || url.set_scheme("https").is_err() || url.set_port(port).is_err() {
            return false;
        }
        match timeout(LONGEST_LOOK, self.client.get(url).send()).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => matches!(tls_error(&error), Some(rustls::Error::InvalidCertificate(_))),
            Err(_) => false,
        }
    }

    fn silent(&self) -> Failure {
        Failure::Broken(format!("the server sent nothing for {}", seconds(self.idle)))
    }

    fn failed(&self, error: &reqwest::Error) -> Failure {
        let (what, address) = (cause(error), self.address());
        match tls_error(error) {
            Some(rustls::Error::InvalidMessage(_)) => {
                let what = format!("{address} does not speak TLS ({what}); try http:// in place of https://");
                return Failure::Unusable(what);
            }
            Some(rustls::Error::InvalidCertificate(certificate)) => {
                let way_out = if is_of_another(certificate) { String::new() } else { format!("; {TRUST}") };
                return Failure::Unusable(format!("the certificate of {address} is not accepted: {what}{way_out}"));
            }
            _ => {}
        }
        if error.is_connect() {
            Failure::Down(format!("{address} accepts no connections: {what}"))
        } else {
            Failure::Closed(format!("the connection broke: {what}"))
        }
    }
}

/// A shorter value of a header is not hidden: it is no secret, and may be a part of any word.
const SHORTEST_SECRET: usize = 4;

/// The values of headers, and the keys within them.
fn secrets(options: &ClientOptions, base: &Url) -> Vec<String> {
    let in_headers = options.headers.iter().flat_map(|(_, value)| {
        // `Bearer KEY`: a server may repeat the key alone.
        let key = value.split_once(' ').filter(|(scheme, _)| scheme.chars().all(char::is_alphabetic));
        [value.clone(), key.map_or_else(String::new, |(_, key)| key.trim().to_owned())]
    });
    let in_headers = in_headers.filter(|value| value.len() >= SHORTEST_SECRET);
    let password = base.password().map(|password| {
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) = (decoded(base.username()), decoded(password));
        [BASE64.encode(format!("{user}:{password}")), password]
    });
    in_headers.chain(password.into_iter().flatten()).collect()
}

/// `1 second`, `2.5 seconds`.
pub(super) fn seconds(time: Duration) -> String {
    counted(time.as_secs_f32(), "second")
}

/// What is wrong with TLS: a certificate, or that the server answered in plain text.
fn tls_error<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(error) = error.downcast_ref() {
        return Some(error);
    }
    // Such an error names its cause's cause, not its cause.
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    inner.map(|inner| inner as _).or_else(|| error.source()).and_then(tls_error)
}

/// Whether a certificate is for another name or another time, so that trusting its authority does not help.
fn is_of_another(certificate: &CertificateError) -> bool {
    use CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
    };

    matches!(certificate, Expired | NotValidYet | NotValidForName)
        || matches!(certificate, ExpiredContext { .. } | NotValidYetContext { .. } | NotValidForNameContext { .. })
}

fn cut_off(error: &reqwest::Error) -> Failure {
    Failure::Broken(format!("the answer was cut off: {}", cause(error)))
}

/// The innermost cause, which contains no address.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;

    use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
    use rustls::{ServerConfig, ServerConnection, Stream};

    use super::*;

    /// A certificate for 127.0.0.1 that no authority has signed, and its key.
    const CERTIFICATE: &str = concat!(
        "MIIBjjCCATOgAwIBAgIUcLI2kroEixpvP6sNq3BrpWoDLaMwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2",
        "MTEyODEwNTUwNFoYDzIxMjYxMTA0MTA1NTA0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC",
        "AAR/PVpmNx/hy4pgv+mauvPbNKptQxdj/6Udx42+97inWlAglSncD/52367/+Utt96FWJChW9toqHojZtqnAKt/0o2EwXzAdBgNV",
        "HQ4EFgQUGCZXOG2D6EJULuZSyddob5uWM+gwHwYDVR0jBBgwFoAUGCZXOG2D6EJULuZSyddob5uWM+gwDwYDVR0RBAgwBocEfwAA",
        "ATAMBgNVHRMBAf8EAjAAMAoGCCqGSM49BAMCA0kAMEYCIQCByUrGuca1TXcI0TkEeMNQn8VIj2ghj3n5VqDue2tgEAIhAMWP96Z5",
        "d68kNYbS+L2UDB5qwO46U0PQQj0jFXCvCLer",
    );
    const KEY: &str = concat!(
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpLVgWFNvjjWKYqZr72mA0f/g9WKKJ2iaa0b05C70nmehRANCAAR/",
        "PVpmNx/hy4pgv+mauvPbNKptQxdj/6Udx42+97inWlAglSncD/52367/+Utt96FWJChW9toqHojZtqnAKt/0",
    );

    #[test]
    fn short_values_of_headers_are_no_secrets() {
        let headers = [("X-Version", "1"), ("X-Password", "hunter2"), ("Authorization", "Bearer key2")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let options = ClientOptions { headers, ..ClientOptions::new("http://127.0.0.1") };
        let base = Url::parse("http://127.0.0.1").expect("it is one");
        assert_eq!(secrets(&options, &base), ["hunter2", "Bearer key2", "key2"]);
    }

    /// The port of a server that speaks TLS.
    fn of_tls() -> u16 {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let bytes = |base64: &str| BASE64.decode(base64).expect("it is base64");
        let (certificate, key) = (CertificateDer::from(bytes(CERTIFICATE)), PrivatePkcs8KeyDer::from(bytes(KEY)));
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key.into());
        let config = Arc::new(config.expect("the key is the certificate's"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has one").port();
        std::thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let mut connection = ServerConnection::new(Arc::clone(&config)).expect("it is set up");
                let mut stream = Stream::new(&mut connection, &mut socket);
                if stream.read(&mut [0; 9]).is_ok() {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            }
        });
        port
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be built")
    }

    #[test]
    fn a_certificate_of_no_authority_is_not_accepted() {
        let http = Http::new(&ClientOptions::new(format!("https://127.0.0.1:{}", of_tls()))).expect("it is an address");
        let failure = runtime().block_on(http.get("/health")).expect_err("nobody signed it");
        assert!(matches!(failure, Failure::Unusable(_)), "{failure:?}");
        assert!(failure.message().ends_with(TRUST));
    }

    #[test]
    fn an_address_that_needs_tls_is_recognised() {
        let http = Http::new(&ClientOptions::new(format!("http://127.0.0.1:{}", of_tls()))).expect("it is an address");
        assert!(runtime().block_on(http.get("/health")).is_err());
        assert!(runtime().block_on(http.needs_tls("/health")));
        let closed = Http::new(&ClientOptions::new("http://127.0.0.1:1")).expect("it is an address");
        assert!(!runtime().block_on(closed.needs_tls("/health")));
    }
}
