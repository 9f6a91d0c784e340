//! Tokenizers by repository, against a small server on loopback.

use std::collections::HashMap;
use std::fs;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use metatok::Tokenizer;

use crate::harness::{Tests, tests};
use crate::http_head::Head;
use crate::program::{METATOK, stderr, stdout};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        found_and_then_cached,
        the_cache_is_where_the_variables_say,
        a_file_of_a_dataset,
        a_revision,
        nothing_outside_a_repository_is_read,
        missing,
        gated,
        another_status,
        offline_and_not_cached,
        a_chat_template_is_cached_too,
        a_tokenizer_that_is_missing,
        another_vocabulary,
        an_interrupted_download_is_continued
    ]
}

/// The program with this server for its Hub, and the cache and everything else of it in this folder.
pub(crate) fn of_hub(address: &str, home: &Path) -> Command {
    let mut command = Command::new(METATOK);
    command.env("HF_ENDPOINT", format!("http://{address}")).env("HF_HOME", home);
    for name in ["HF_TOKEN", "HF_HUB_OFFLINE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"] {
        command.env_remove(name);
    }
    command
}

/// What the server calls its only commit.
const COMMIT: &str = "0123456789abcdef";

/// How the server answers for a file.
#[derive(Clone)]
enum Answer {
    File(Vec<u8>),
    Status(u16),
    /// This many first bytes, and then the connection ends.
    Interrupted(Vec<u8>, usize),
}

struct Server {
    address: String,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    requests: Arc<AtomicUsize>,
    tokens: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
        let address = listener.local_addr().expect("it has one").to_string();
        let server = Self { address, answers: Arc::default(), requests: Arc::default(), tokens: Arc::default() };
        let (answers, requests, tokens) =
            (Arc::clone(&server.answers), Arc::clone(&server.requests), Arc::clone(&server.tokens));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                requests.fetch_add(1, Ordering::Relaxed);
                // A client that has gone away is no failure of the server's.
                let _ = answer(&stream, &answers, &tokens);
            }
        });
        server
    }

    fn serve(&self, path: &str, answer: Answer) {
        self.answers.lock().expect("nobody panicked").insert(path.to_owned(), answer);
    }

    /// The demo's files as a repository.
    fn serve_demo(&self, repository: &str, revision: &str) {
        let files = Tokenizer::files("demo").expect("it is embedded");
        let path = |file: &str| format!("/{repository}/resolve/{revision}/{file}");
        self.serve(&path("tokenizer.json"), Answer::File(files.tokenizer_json));
        self.serve(&path("tokenizer_config.json"), Answer::File(files.tokenizer_config.expect("it has one")));
    }

    fn build(&self, repository: &str, home: &Path, variables: &[(&str, &str)]) -> Output {
        self.build_input(repository, None, home, variables)
    }

    fn build_input(&self, repository: &str, input: Option<&str>, home: &Path, variables: &[(&str, &str)]) -> Output {
        let args = ["-m", "demo", "-t", repository].into_iter().chain(input);
        self.build_with(&args.collect::<Vec<_>>(), home, variables)
    }

    fn build_with(&self, args: &[&str], home: &Path, variables: &[(&str, &str)]) -> Output {
        of_hub(&self.address, home)
            .args(["build", "-q"])
            .args(args)
            .envs(variables.iter().copied())
            .output()
            .expect("the program runs")
    }
}

fn answer(
    stream: &TcpStream,
    answers: &Mutex<HashMap<String, Answer>>,
    tokens: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let head = Head::read(&mut BufReader::new(stream))?.unwrap_or_default();
    let range = head.header("range").unwrap_or_default().trim_start_matches("bytes=");
    let start = range.split('-').next().and_then(|start| start.parse().ok()).unwrap_or(0);
    tokens.lock().expect("nobody panicked").extend(head.header("authorization").map(str::to_owned));
    let path = head.path;
    let parts = |path: &str| {
        let (repository, rest) = path.split_once("/resolve/")?;
        let (revision, file) = rest.split_once('/')?;
        Some((repository.to_owned(), revision.to_owned(), file.to_owned()))
    };
    // Each revision is the same commit.
    let is_asked = |known: &str| match (parts(known), parts(&path)) {
        (Some(known), Some(asked)) => {
            (&known.0, &known.2) == (&asked.0, &asked.2) && (known.1 == asked.1 || asked.1 == COMMIT)
        }
        _ => false,
    };
    let answers = answers.lock().expect("nobody panicked");
    let found = answers.iter().find(|(known, _)| is_asked(known)).map(|(_, answer)| answer.clone());
    let found = found.unwrap_or(Answer::Status(404));
    let mut stream = stream;
    let (bytes, sent) = match found {
        Answer::Status(status) => {
            return write!(
                stream,
                "HTTP/1.1 {status} No\r\nContent-Length: 0\r\nX-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n"
            );
        }
        Answer::File(bytes) => (bytes.clone(), bytes.len()),
        Answer::Interrupted(bytes, sent) => (bytes, sent),
    };
    let len = bytes.len();
    write!(
        stream,
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{len}\r\nETag: \"{len}-{name}\"\r\nX-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n",
        len - start,
        len - 1,
        name = path.rsplit('/').next().unwrap_or_default(),
    )?;
    if head.method != "HEAD" {
        stream.write_all(&bytes[start..sent.max(start)])?;
    }
    stream.flush()
}

fn found_and_then_cached() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    server.serve_demo("org/demo", "main");
    let first = server.build("org/demo", home.path(), &[("HF_TOKEN", " hf_secret\n")]);
    assert_eq!(stderr(&first), "");
    assert!(server.tokens.lock().expect("nobody panicked").iter().all(|token| token == "Bearer hf_secret"));
    let embedded = server.build("demo", home.path(), &[]);
    // Its generation_config.json is missing, which adds a stop id.
    assert_eq!(
        String::from_utf8_lossy(&first.stdout),
        String::from_utf8_lossy(&embedded.stdout).replace("[1052,1050]", "[1052]")
    );

    let offline = server.build("org/demo", home.path(), &[("HF_HUB_OFFLINE", "1")]);
    assert_eq!(stderr(&offline), "");
    assert!(offline.stdout == first.stdout);

    // Nobody listens any more: what is cached goes on working.
    let gone = Server {
        address: "127.0.0.1:1".into(),
        answers: Arc::default(),
        requests: Arc::default(),
        tokens: Arc::default(),
    };
    let unreachable = gone.build("org/demo", home.path(), &[]);
    assert_eq!(stderr(&unreachable), "");
    assert!(unreachable.stdout == first.stdout);

    // It is not known any more that the repository has no generation_config.json, which may have stops.
    fs::remove_dir_all(home.path().join("hub/models--org--demo/.no_exist")).expect("it was noted");
    let unknown = gone.build("org/demo", home.path(), &[]);
    assert!(stderr(&unknown).contains("set HF_HUB_OFFLINE=1 to do with what the cache has"), "{}", stderr(&unknown));
    assert_eq!(unknown.status.code(), Some(2));
}

fn a_chat_template_is_cached_too() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    server.serve_demo("org/demo", "main");
    let first = server.build_with(&["-t", "org/demo", "--limit", "1"], home.path(), &[]);
    assert_eq!(stderr(&first), "");
    let requests = server.requests.load(Ordering::Relaxed);
    let again = server.build_with(&["-t", "org/demo", "--limit", "1"], home.path(), &[]);
    assert!(again.stdout == first.stdout && !first.stdout.is_empty());
    assert_eq!(server.requests.load(Ordering::Relaxed), requests);
}

/// What is missing is the tokenizer, and not its chat template alone.
fn a_tokenizer_that_is_missing() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    let offline = server.build_with(&["-t", "org/demo", "--limit", "1"], home.path(), &[("HF_HUB_OFFLINE", "1")]);
    assert!(stderr(&offline).contains("tokenizer.json is not in the cache"), "{}", stderr(&offline));
}

fn another_vocabulary() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    let vocabulary = root().join("tests/vocabularies/tekken/tekken.json");
    let bytes = std::fs::read(&vocabulary).expect("it is there");
    server.serve("/org/demo/resolve/main/tekken.json", Answer::File(bytes));
    let input = home.path().join("x.jsonl");
    std::fs::write(&input, r#"{"messages": [{"role": "user", "content": "Hi!"}]}"#).expect("it can be written");
    let build = |tokenizer: &str, variables: &[(&str, &str)]| {
        let args = ["-m", "mistral-instruct-tekken", "-t", tokenizer, &input.to_string_lossy()];
        let output = server.build_with(&args, home.path(), variables);
        assert_eq!(stderr(&output), "");
        output.stdout
    };
    let expected = build(&vocabulary.to_string_lossy(), &[]);
    assert!(!expected.is_empty());
    assert_eq!(build("org/demo", &[]), expected);
    assert_eq!(build("org/demo", &[("HF_HUB_OFFLINE", "1")]), expected);
    // The file that was missing at first told the commit.
    let reference = home.path().join("hub/models--org--demo/refs/main");
    assert_eq!(fs::read_to_string(reference).expect("it was written"), COMMIT);
}

fn the_cache_is_where_the_variables_say() {
    for name in ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"] {
        let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
        server.serve_demo("org/demo", "main");
        // `hf auth login` keeps the token in HF_HOME wherever the cache is.
        std::fs::write(home.path().join("token"), "hf_saved\n").expect("it can be written");
        let cache = home.path().join("elsewhere");
        let output = server.build("org/demo", home.path(), &[(name, &cache.to_string_lossy())]);
        assert_eq!(stderr(&output), "");
        assert!(cache.join("models--org--demo/snapshots").is_dir(), "{name}");
        assert!(!home.path().join("hub").exists(), "{name}");
        let tokens = server.tokens.lock().expect("nobody panicked").clone();
        assert!(!tokens.is_empty() && tokens.iter().all(|token| token == "Bearer hf_saved"), "{tokens:?}");
    }
}

fn a_file_of_a_dataset() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    server.serve("/datasets/org/rows/resolve/main/data/test.csv", Answer::File(b"q\n1+1?\n".to_vec()));
    let dataset = home.path().join("d.toml");
    std::fs::write(&dataset, r#"infer_cfg = { prompt_template = { template = "{q}" } }"#).expect("it can be written");
    let build = |file: &str| {
        Command::new(METATOK)
            .args(["build", "-q", "--format", "messages", "-d", &dataset.to_string_lossy(), file])
            .env("HF_ENDPOINT", format!("http://{}", server.address))
            .env("HF_HOME", home.path())
            .env_remove("HF_TOKEN")
            .env_remove("HF_HUB_OFFLINE")
            .env_remove("HF_HUB_CACHE")
            .env_remove("HUGGINGFACE_HUB_CACHE")
            .output()
            .expect("the program runs")
    };
    let output = build("hf://datasets/org/rows/data/test.csv");
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output), "{\"id\":0,\"messages\":[{\"role\":\"user\",\"content\":\"1+1?\"}]}\n");
    let output = of_hub(&server.address, home.path())
        .args(["count", "-t", "demo", "hf://datasets/org/rows/data/test.csv"])
        .output()
        .expect("the program runs");
    assert_eq!(stderr(&output), "");
    assert_eq!(stdout(&output), "7 hf://datasets/org/rows/data/test.csv\n");
    let output = build("hf://datasets/org/rows@main/none.csv");
    assert!(
        stderr(&output).starts_with("metatok: hf://datasets/org/rows@main/none.csv: the hub has no none.csv under "),
        "{}",
        stderr(&output)
    );
}

fn a_revision() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    server.serve_demo("org/demo", "v1%2Fx");
    let output = server.build("org/demo@v1/x", home.path(), &[]);
    assert_eq!(stderr(&output), "");
    assert!(output.status.success());
}

/// What lies beside the repository, and beside the cache, is not the repository's.
fn nothing_outside_a_repository_is_read() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    let (hub, files) = (home.path().join("hub"), Tokenizer::files("demo").expect("it is embedded"));
    for folder in ["models--org--demo/snapshots", "models--org--demo/refs", "datasets--org--rows/snapshots/main/data"] {
        std::fs::create_dir_all(hub.join(folder)).expect("it can be made");
    }
    std::fs::write(hub.join("tokenizer.json"), files.tokenizer_json).expect("it can be written");
    std::fs::write(hub.join("models--org--demo/refs/main"), "../..").expect("it can be written");
    let outside = home.path().join("outside.jsonl");
    std::fs::write(&outside, "\"Once upon a time\"\n").expect("it can be written");
    let cases = [
        ("org/demo@../..".into(), "-".into(), "org/demo@../..: \"../..\" is not a revision; "),
        ("org/demo".into(), "-".into(), "org/demo: HF_HUB_OFFLINE is set, but tokenizer.json is not in the cache "),
        ("demo".to_owned(), format!("hf://datasets/org/rows/{}", outside.display()), "hf://datasets/org/rows//"),
        (
            "demo".to_owned(),
            "hf://datasets/org/rows/data/../../../../../outside.jsonl".into(),
            "hf://datasets/org/rows/data/../",
        ),
        (
            "demo".to_owned(),
            "hf://datasets/org/rows@../../../x/outside.jsonl".into(),
            "hf://datasets/org/rows@../../../x/outside.jsonl: ",
        ),
    ];
    for (tokenizer, input, expected) in cases {
        let output = server.build_input(&tokenizer, Some(&input), home.path(), &[("HF_HUB_OFFLINE", "1")]);
        assert!(stderr(&output).starts_with(&format!("metatok: {expected}")), "{}", stderr(&output));
        assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
    }
    assert_eq!(server.requests.load(Ordering::Relaxed), 0);
}

fn missing() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    let output = server.build("org/none", home.path(), &[]);
    let url = format!("http://{}/org/none/resolve/main/tokenizer.json", server.address);
    assert_eq!(
        stderr(&output),
        format!(
            "metatok: org/none: the hub has no tokenizer.json under {url}; check the spelling, and that the repository has this file\n"
        )
    );
    assert_eq!(output.status.code(), Some(2));
}

fn gated() {
    for status in [401, 403] {
        let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
        server.serve("/org/gated/resolve/main/tokenizer.json", Answer::Status(status));
        let output = server.build("org/gated", home.path(), &[]);
        assert!(
            stderr(&output).contains("gated, private or does not exist; accept its terms on its page and set HF_TOKEN"),
            "{}",
            stderr(&output)
        );
        assert_eq!(output.status.code(), Some(2));
    }
}

fn another_status() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    server.serve("/org/x/resolve/main/tokenizer.json", Answer::Status(500));
    let output = server.build("org/x", home.path(), &[]);
    assert!(stderr(&output).ends_with("with status 500; try again later\n"), "{}", stderr(&output));
}

fn offline_and_not_cached() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    let output = server.build("org/demo", home.path(), &[("HF_HUB_OFFLINE", "1")]);
    assert!(
        stderr(&output)
            .starts_with("metatok: org/demo: HF_HUB_OFFLINE is set, but tokenizer.json is not in the cache "),
        "{}",
        stderr(&output)
    );
    assert_eq!(server.requests.load(Ordering::Relaxed), 0);
}

fn an_interrupted_download_is_continued() {
    let (server, home) = (Server::new(), tempfile::tempdir().expect("a folder can be made"));
    server.serve_demo("org/demo", "main");
    let whole = Tokenizer::files("demo").expect("it is embedded").tokenizer_json;
    let path = "/org/demo/resolve/main/tokenizer.json";
    server.serve(path, Answer::Interrupted(whole.clone(), 10_000));
    let output = server.build("org/demo", home.path(), &[]);
    assert!(stderr(&output).contains("could not be downloaded"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(2));

    server.serve(path, Answer::File(whole));
    let output = server.build("org/demo", home.path(), &[]);
    assert_eq!(stderr(&output), "");
    assert!(output.status.success());
}
