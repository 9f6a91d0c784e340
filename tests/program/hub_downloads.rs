//! Downloads from a Hub that answers as it should, and from one that does not.

use std::fs;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use crate::harness::{Tests, tests};
use crate::http_head::Head;
use crate::hub::of_hub;
use crate::program::stderr;

pub(crate) fn tests() -> Tests {
    tests![
        whole_or_an_error,
        files_of_one_commit,
        a_missing_file_is_noted_before_any_is_there,
        a_cache_that_cannot_be_written,
        variables_that_are_wrong
    ]
}

/// The commits of the repository, older first.
const COMMITS: [&str; 2] = ["0123456789abcdef0123456789abcdef01234567", "fedcba9876543210fedcba9876543210fedcba98"];

/// The hash of [`content`].
const SHA256: &str = "51bcca378950bb85f0a728e768e9bbafac686e5a41e04ac9218e16b58e84767c";

/// A request, and how many of its method there were.
#[derive(Clone)]
struct Asked {
    method: String,
    /// The revision and the file, as they were written.
    revision: String,
    file: String,
    host: String,
    /// Where the part begins that was asked for.
    start: Option<usize>,
    nth: usize,
}

/// A response's status and headers, and what is sent of its body. Without a status nothing is sent.
#[derive(Default)]
struct Reply {
    status: u16,
    headers: Vec<String>,
    body: Vec<u8>,
    /// The connection stays open, and nothing more comes.
    stalls: bool,
}

impl Reply {
    fn status(status: u16) -> Self {
        Self { status, headers: vec!["Content-Length: 0".into()], ..Self::default() }
    }

    /// What a Hub answers that has the file at its older commit.
    fn of(asked: &Asked) -> Self {
        Self::at(asked, COMMITS[0])
    }

    fn at(asked: &Asked, commit: &str) -> Self {
        let content = content();
        let start = asked.start.unwrap_or(0);
        if start >= content.len() {
            return Self::status(416);
        }
        let mut headers = vec![
            format!("Content-Length: {}", content.len() - start),
            "ETag: W/\"etag\"".into(),
            format!("X-Repo-Commit: {commit}"),
        ];
        if asked.start.is_some() {
            headers.push(format!("Content-Range: bytes {start}-{}/{}", content.len() - 1, content.len()));
        }
        let status = if asked.start.is_some() { 206 } else { 200 };
        Self { status, headers, body: content[start..].to_vec(), stalls: false }
    }

    /// Of the answer, only the first half of the whole file.
    fn half(mut self) -> Self {
        self.body.truncate(content().len() / 2);
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|header| !header.starts_with(name));
        self
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push(format!("{name}: {value}"));
        self
    }
}

fn content() -> Vec<u8> {
    let rows = (0..20_000).map(|row| format!("row {row}\n"));
    format!("q\n{}", rows.collect::<String>()).into_bytes()
}

/// What a Hub answers that keeps the file on another host, with this ETag.
fn elsewhere(asked: &Asked, etag: &str) -> Reply {
    let reply = Reply::of(asked);
    if asked.host.starts_with("localhost") {
        return reply.without("X-Repo-Commit").with("ETag", "another");
    }
    let elsewhere = asked.host.replace("127.0.0.1", "localhost");
    let length = content().len().to_string();
    let reply = Reply { status: 302, body: Vec::new(), ..reply.with("Content-Length", "0") };
    let reply = reply.with("ETag", "\"of the redirect\"").with("X-Linked-ETag", &format!("\"{etag}\""));
    reply.with("X-Linked-Size", &length).with("Location", &format!("http://{elsewhere}/cdn"))
}

/// The whole file, whatever part was asked for.
fn ignoring_range(asked: &Asked) -> Reply {
    Reply::of(&Asked { start: None, ..asked.clone() })
}

type Script = fn(&Asked) -> Reply;

struct Server {
    address: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(script: impl Fn(&Asked) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
        let address = listener.local_addr().expect("it has one").to_string();
        let log = Arc::new(Mutex::new(Vec::new()));
        let server = Self { address, log: Arc::clone(&log) };
        std::thread::spawn(move || {
            let mut stalled = Vec::new();
            for stream in listener.incoming().flatten() {
                // A client that has gone away is no failure of the server's.
                if let Ok(true) = answer(&stream, &script, &log) {
                    stalled.push(stream);
                }
            }
        });
        server
    }

    fn build(&self, file: &str, home: &Path, variables: &[(&str, &str)]) -> Output {
        let dataset = home.join("d.toml");
        fs::write(&dataset, r#"infer_cfg = { prompt_template = { template = "{q}" } }"#).expect("it can be written");
        let args = ["build", "-q", "--limit", "1", "--format", "messages", "-d"];
        of_hub(&self.address, home)
            .args(args)
            .args([dataset, format!("hf://datasets/org/rows/{file}").into()])
            .env("HF_TOKEN", "hf_secret")
            .envs(variables.iter().copied())
            .output()
            .expect("the program runs")
    }

    fn log(&self) -> String {
        self.log.lock().expect("nobody panicked").join(", ")
    }
}

/// Answers a request, and tells whether its connection is to stay open.
fn answer(
    mut stream: &TcpStream,
    script: &impl Fn(&Asked) -> Reply,
    log: &Mutex<Vec<String>>,
) -> std::io::Result<bool> {
    let head = Head::read(&mut BufReader::new(stream))?.unwrap_or_default();
    let host = head.header("host").unwrap_or_default().to_owned();
    let range = head.header("range").map(|range| range.trim_start_matches("bytes=").trim_end_matches('-'));
    let start = range.and_then(|start| start.parse().ok());
    let token = if head.header("authorization") == Some("Bearer hf_secret") { "" } else { " without the token" };
    let (method, path) = (head.method, &*head.path);
    let in_repository = path.split_once("/resolve/").and_then(|(_, rest)| rest.split_once('/'));
    let (revision, file) = in_repository.unwrap_or((path, "a.csv"));
    let mut log = log.lock().expect("nobody panicked");
    let nth = log.iter().filter(|line| line.starts_with(&method)).count();
    let commit = COMMITS.iter().position(|commit| *commit == revision).map(|commit| commit.to_string());
    let other = if file == "a.csv" { String::new() } else { format!(" {file}") };
    let from = start.map_or(String::new(), |start| format!(" from {start}"));
    log.push(format!("{method} {}{other}{from}{token}", commit.as_deref().unwrap_or(revision)));
    let asked = Asked { method, revision: revision.into(), file: file.into(), host, start, nth };
    drop(log);
    let reply = script(&asked);
    if reply.status == 0 {
        return Ok(reply.stalls);
    }
    write!(stream, "HTTP/1.1 {} Status\r\n", reply.status)?;
    for header in reply.headers {
        write!(stream, "{header}\r\n")?;
    }
    stream.write_all(b"Connection: close\r\n\r\n")?;
    if asked.method != "HEAD" {
        stream.write_all(&reply.body)?;
    }
    stream.flush()?;
    Ok(reply.stalls)
}

fn folder(home: &Path) -> PathBuf {
    home.join("hub/datasets--org--rows")
}

fn snapshot(home: &Path, commit: &str, file: &str) -> PathBuf {
    folder(home).join("snapshots").join(commit).join(file)
}

/// What came of the file before, from another run.
fn part(home: &Path, etag: &str, bytes: &[u8]) {
    fs::create_dir_all(folder(home).join("blobs")).expect("it can be made");
    fs::write(folder(home).join(format!("blobs/{etag}.metatok.incomplete")), bytes).expect("it can be written");
}

struct Mode {
    about: &'static str,
    file: &'static str,
    /// Of the file, there before.
    part: Vec<u8>,
    script: Script,
    /// What standard error has if the file is not there.
    error: Option<&'static str>,
    requests: &'static str,
}

fn modes() -> Vec<Mode> {
    let half = content()[..content().len() / 2].to_vec();
    let mode =
        |about, script, error, requests| Mode { about, file: "a.csv", part: Vec::new(), script, error, requests };
    vec![
        mode("whole", Reply::of, None, "HEAD main, GET 0"),
        Mode {
            file: "data/a b+ü.csv",
            ..mode(
                "a name with a space",
                Reply::of,
                None,
                "HEAD main data/a%20b%2B%C3%BC.csv, GET 0 data/a%20b%2B%C3%BC.csv",
            )
        },
        mode(
            "interrupted, and resumed",
            |asked| if asked.method == "GET" && asked.nth == 0 { Reply::of(asked).half() } else { Reply::of(asked) },
            None,
            "HEAD main, GET 0, GET 0 from 94446",
        ),
        mode(
            "stalled, and resumed",
            |asked| {
                let reply = Reply::of(asked);
                if asked.method == "GET" && asked.nth == 0 { Reply { stalls: true, ..reply.half() } } else { reply }
            },
            None,
            "HEAD main, GET 0, GET 0 from 94446",
        ),
        Mode {
            part: half.clone(),
            ..mode("resumed from the last run", Reply::of, None, "HEAD main, GET 0 from 94446")
        },
        Mode {
            part: half.clone(),
            ..mode(
                "a server that sends all when asked for the rest",
                ignoring_range,
                None,
                "HEAD main, GET 0 from 94446",
            )
        },
        Mode {
            part: half.clone(),
            ..mode(
                "a server that sends another part",
                |asked| match asked.start {
                    Some(start) => Reply::of(&Asked { start: Some(start - 9), ..asked.clone() }),
                    None => Reply::of(asked),
                },
                None,
                "HEAD main, GET 0 from 94446, GET 0",
            )
        },
        mode(
            "interrupted each time, from the beginning",
            |asked| ignoring_range(asked).half(),
            Some("could not be downloaded ("),
            "HEAD main, GET 0, GET 0 from 94446, GET 0 from 94446",
        ),
        mode(
            "half, without any length",
            |asked| Reply::of(asked).half().without("Content-Length"),
            Some("comes without its length, so that nothing tells whether it is whole"),
            "HEAD main, GET 0",
        ),
        mode(
            "half, without a length of its own",
            |asked| match &*asked.method {
                "GET" => ignoring_range(asked).half().without("Content-Length"),
                _ => Reply::of(asked),
            },
            Some("could not be downloaded (it ended after 94446 of 188892 bytes)"),
            "HEAD main, GET 0, GET 0 from 94446, GET 0 from 94446",
        ),
        mode(
            "longer than it should be",
            |asked| match &*asked.method {
                "HEAD" => Reply::of(asked).with("X-Linked-Size", "9"),
                _ => Reply::of(asked),
            },
            Some("has 9 bytes, but the answer is of 188892"),
            "HEAD main, GET 0",
        ),
        mode(
            "compressed without being asked",
            |asked| Reply::of(asked).with("Content-Encoding", "gzip"),
            Some("comes compressed, which was not asked for"),
            "HEAD main, GET 0",
        ),
        mode(
            "on another host, which is not sent the token",
            |asked| elsewhere(asked, "etag"),
            None,
            "HEAD main, GET 0, GET /cdn without the token",
        ),
        mode(
            "of the hash that the hub says",
            |asked| elsewhere(asked, SHA256),
            None,
            "HEAD main, GET 0, GET /cdn without the token",
        ),
        mode(
            "of another hash",
            |asked| elsewhere(asked, &"0".repeat(64)),
            Some(
                "has the SHA-256 51bcca378950bb85f0a728e768e9bbafac686e5a41e04ac9218e16b58e84767c, but the hub says 00000000",
            ),
            "HEAD main, GET 0, GET /cdn without the token, GET 0, GET /cdn without the token",
        ),
        mode(
            "renamed",
            |asked| match asked.file.ends_with("new") {
                true => Reply::of(asked),
                false => {
                    let to = format!("/datasets/org/new/resolve/{}/new", asked.revision);
                    Reply::status(307).with("Location", &to)
                }
            },
            None,
            "HEAD main, HEAD main new, GET 0, GET 0 new",
        ),
        mode(
            "redirected to nowhere",
            |asked| Reply { status: 302, ..Reply::of(asked) },
            Some("with status 302, but no Location that can be followed"),
            "HEAD main",
        ),
        mode(
            "a bad ETag",
            |asked| Reply::of(asked).with("ETag", "\"../../../../../evil\""),
            Some("with the ETag \"../../../../../evil\", which cannot be the name of a file"),
            "HEAD main",
        ),
        mode(
            "a bad commit",
            |asked| Reply::at(asked, "../../../../evil"),
            Some("with the X-Repo-Commit \"../../../../evil\", which cannot be the name of a file"),
            "HEAD main",
        ),
        mode(
            "no Hub",
            |asked| Reply::of(asked).without("X-Repo-Commit"),
            Some("has no X-Repo-Commit or no ETag, which the Hub sends; check that HF_ENDPOINT is a Hub"),
            "HEAD main",
        ),
        Mode { part: content(), ..mode("all of it was there", Reply::of, None, "HEAD main") },
        Mode {
            part: content(),
            ..mode(
                "all of it was there, but nothing tells",
                |asked| match &*asked.method {
                    "HEAD" => Reply::of(asked).without("Content-Length"),
                    _ => Reply::of(asked),
                },
                None,
                "HEAD main, GET 0 from 188892, GET 0",
            )
        },
        Mode {
            part: [content(), half].concat(),
            ..mode("more than all of it was there", Reply::of, None, "HEAD main, GET 0")
        },
        mode(
            "busy at first",
            |asked| if asked.nth == 0 { Reply::status(500) } else { Reply::of(asked) },
            None,
            "HEAD main, HEAD main, GET 0, GET 0",
        ),
        mode(
            "busy for a second",
            |asked| match (&*asked.method, asked.nth) {
                ("HEAD", 0) => Reply::status(429).with("Retry-After", "1"),
                _ => Reply::of(asked),
            },
            None,
            "HEAD main, HEAD main, GET 0",
        ),
        mode(
            "busy for long",
            |_| Reply::status(429).with("Retry-After", "60"),
            Some("with status 429; try again in 60 s"),
            "HEAD main",
        ),
        mode(
            "no answer",
            |_| Reply { stalls: true, ..Reply::default() },
            Some(
                "could not be downloaded (nothing came in the time that HF_HUB_ETAG_TIMEOUT and HF_HUB_DOWNLOAD_TIMEOUT give); check the network",
            ),
            "HEAD main",
        ),
    ]
}

fn whole_or_an_error() {
    std::thread::scope(|scope| {
        for mode in modes() {
            scope.spawn(move || {
                let (server, home) = (Server::new(mode.script), tempfile::tempdir().expect("a folder can be made"));
                if !mode.part.is_empty() {
                    part(home.path(), "etag", &mode.part);
                }
                let variables = [("HF_HUB_DOWNLOAD_TIMEOUT", "1"), ("HF_HUB_ETAG_TIMEOUT", "2")];
                let output = server.build(mode.file, home.path(), &variables);
                let (about, stderr) = (mode.about, stderr(&output));
                let path = snapshot(home.path(), COMMITS[0], mode.file);
                match mode.error {
                    None => {
                        assert_eq!((&*stderr, output.status.code()), ("", Some(0)), "{about}");
                        assert!(fs::read(&path).expect(about) == content(), "{about}");
                        assert!(!folder(home.path()).join("blobs/etag.metatok.incomplete").exists(), "{about}");
                    }
                    Some(error) => {
                        assert!(stderr.contains(error) && stderr.contains("; "), "{about}: {stderr}");
                        assert_eq!((path.exists(), output.status.code()), (false, Some(2)), "{about}");
                    }
                }
                assert_eq!(server.log(), mode.requests, "{about}");
                // Nothing is written beside the cache.
                let names = fs::read_dir(home.path()).expect(about).flatten().map(|entry| entry.file_name());
                assert!(names.into_iter().all(|name| name == "hub" || name == "d.toml"), "{about}");
            });
        }
        scope.spawn(an_empty_file);
        scope.spawn(a_part_of_something_else);
        scope.spawn(a_lock_of_another_process);
    });
}

fn an_empty_file() {
    let server =
        Server::new(|asked: &Asked| Reply { body: Vec::new(), ..Reply::of(asked).with("Content-Length", "0") });
    let home = tempfile::tempdir().expect("a folder can be made");
    server.build("a.csv", home.path(), &[]);
    assert_eq!(fs::read(snapshot(home.path(), COMMITS[0], "a.csv")).expect("it was downloaded"), b"");
    assert_eq!(server.log(), "HEAD main");
}

fn a_part_of_something_else() {
    let server = Server::new(|asked: &Asked| elsewhere(asked, SHA256));
    let home = tempfile::tempdir().expect("a folder can be made");
    part(home.path(), SHA256, b"something else");
    server.build("a.csv", home.path(), &[]);
    assert!(fs::read(snapshot(home.path(), COMMITS[0], "a.csv")).expect("it was downloaded") == content());
    assert_eq!(
        server.log(),
        "HEAD main, GET 0 from 14, GET /cdn from 14 without the token, GET 0, GET /cdn without the token"
    );
}

fn a_lock_of_another_process() {
    let (server, home) = (Server::new(Reply::of), tempfile::tempdir().expect("a folder can be made"));
    let locks = home.path().join("hub/.locks/datasets--org--rows");
    fs::create_dir_all(&locks).expect("it can be made");
    let lock = fs::File::create(locks.join("etag.lock")).expect("it can be made");
    lock.lock().expect("nobody else has it");
    let output = server.build("a.csv", home.path(), &[("HF_HUB_DOWNLOAD_TIMEOUT", "1")]);
    let stderr = stderr(&output);
    assert!(stderr.contains("another process has locked ") && stderr.contains("etag.lock for 6 s"), "{stderr}");
    lock.unlock().expect("it was locked");
    assert!(server.build("a.csv", home.path(), &[]).status.success());
}

/// A push between two files changes nothing, and neither does one between two runs.
fn files_of_one_commit() {
    let pushed = Arc::new(Mutex::new(false));
    let is_pushed = Arc::clone(&pushed);
    let server = Server::new(move |asked: &Asked| {
        let newest = COMMITS[usize::from(*is_pushed.lock().expect("nobody panicked"))];
        Reply::at(asked, if asked.revision == "main" { newest } else { &asked.revision })
    });
    let home = tempfile::tempdir().expect("a folder can be made");
    assert!(server.build("a.csv", home.path(), &[]).status.success());
    *pushed.lock().expect("nobody panicked") = true;
    assert!(server.build("b.csv", home.path(), &[]).status.success());
    let reference = folder(home.path()).join("refs/main");
    assert_eq!(fs::read_to_string(&reference).expect("it was written"), COMMITS[0]);
    // The contents of b.csv are those of a.csv, which are there.
    let requests = "HEAD main, GET 0, HEAD 0 b.csv";
    assert_eq!(server.log(), requests);
    for file in ["a.csv", "b.csv"] {
        assert!(server.build(file, home.path(), &[("HF_HUB_OFFLINE", "1")]).status.success());
    }
    // The newer commit is used as soon as nothing is known of an older one.
    fs::remove_file(&reference).expect("it is there");
    assert!(server.build("b.csv", home.path(), &[]).status.success());
    assert!(snapshot(home.path(), COMMITS[1], "b.csv").exists());

    let server = Server::new(|asked: &Asked| Reply::at(asked, COMMITS[0]));
    let output = server.build("c.csv", home.path(), &[]);
    let stderr = stderr(&output);
    let expected = format!("the hub was asked for c.csv of commit {}, and answers with {}; ", COMMITS[1], COMMITS[0]);
    assert!(stderr.contains(&expected), "{stderr}");
}

fn a_missing_file_is_noted_before_any_is_there() {
    let server = Server::new(|_: &Asked| Reply::status(404).with("X-Repo-Commit", COMMITS[0]));
    let home = tempfile::tempdir().expect("a folder can be made");
    let output = server.build("a.csv", home.path(), &[]);
    assert!(stderr(&output).contains("the hub has no a.csv under "), "{}", stderr(&output));
    assert!(folder(home.path()).join(".no_exist").join(COMMITS[0]).join("a.csv").exists());
    // It may be there the next time.
    server.build("a.csv", home.path(), &[]);
    assert_eq!(server.log(), "HEAD main, HEAD main");

    let server = Server::new(|_: &Asked| Reply::status(404).with("X-Error-Code", "RevisionNotFound"));
    let output = server.build("a.csv", home.path(), &[]);
    assert!(stderr(&output).contains("the hub has no such revision: "), "{}", stderr(&output));
}

fn a_cache_that_cannot_be_written() {
    let (server, home) = (Server::new(Reply::of), tempfile::tempdir().expect("a folder can be made"));
    let file = home.path().join("file");
    fs::write(&file, "").expect("it can be written");
    let output = server.build("a.csv", home.path(), &[("HF_HUB_CACHE", &file.to_string_lossy())]);
    let stderr = stderr(&output);
    let expected = "; set HF_HUB_CACHE to a folder that can be written, or HF_HUB_OFFLINE=1 to only read the cache\n";
    assert!(stderr.contains(&*file.to_string_lossy()) && stderr.ends_with(expected), "{stderr}");
}

fn variables_that_are_wrong() {
    let (server, home) = (Server::new(Reply::of), tempfile::tempdir().expect("a folder can be made"));
    for (name, value, expected) in [
        ("HF_ENDPOINT", "huggingface.co", "HF_ENDPOINT is \"huggingface.co\", which is not the address of a server; "),
        ("HF_TOKEN", "hf_a\nhf_b", "the access token of the hub has characters that no token has; "),
        ("HF_HUB_ETAG_TIMEOUT", "soon", "HF_HUB_ETAG_TIMEOUT is \"soon\", which is not a number of seconds; "),
        ("HF_HUB_DOWNLOAD_TIMEOUT", "0", "HF_HUB_DOWNLOAD_TIMEOUT is \"0\", which is not a number of seconds; "),
    ] {
        let output = server.build("a.csv", home.path(), &[(name, value)]);
        let stderr = stderr(&output);
        assert!(stderr.contains(expected), "{stderr}");
        assert_eq!(output.status.code(), Some(2), "{name}");
    }
    assert_eq!(server.log(), "");
}
