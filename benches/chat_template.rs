//! Compares building prompts by a chat template, by the meta template that `import` makes of it, and by transformers'
//! `apply_chat_template`, all on one core. The ids are compared first.
//!
//! Every prompt is new. The text is real: paragraphs of `../shared/text/english.txt`, or of the file
//! `$METATOK_BENCH_TEXT`. The tokenizers are folders with a chat template: those in `../shared/tokenizers`, or
//! `$METATOK_BENCH_TOKENIZER`. Without any, the demo's is used, with the demo's text. `$METATOK_PYTHON` is a Python with
//! transformers; without it there is no comparison. `cargo bench --bench chat_template`.
#![allow(clippy::print_stdout, reason = "what is measured is said")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use metatok::builder::ContentTrust;
use metatok::dialect::ChatTemplate;
use metatok::import::import;
use metatok::{BuilderOptions, Conversation, Model, PromptBuilder, TokenId, TokenizedPrompt, Tokenizer};

/// How much is measured.
#[derive(Clone, Copy)]
struct Scale {
    /// Prompts in a round. They are made before it.
    prompts: usize,
    rounds: usize,
    tokenizers: usize,
}

impl Scale {
    fn of_arguments() -> Self {
        if std::env::args().any(|arg| arg == "--bench") {
            Self { prompts: 500, rounds: 7, tokenizers: usize::MAX }
        } else {
            // `cargo test` runs it too, to see that it does.
            Self { prompts: 5, rounds: 1, tokenizers: 1 }
        }
    }
}

/// The characters of a question and of an answer.
const QUESTION: usize = 350;
const ANSWER: usize = 1100;

/// Pieces of a text, one after the other, until it begins again.
struct Text {
    text: Vec<char>,
    at: usize,
}

impl Text {
    fn read() -> Self {
        let file = std::env::var("METATOK_BENCH_TEXT").unwrap_or_else(|_| "../shared/text/english.txt".into());
        let demo = || include_str!("../models/demo/corpus.txt").to_owned();
        let text = std::fs::read_to_string(file).unwrap_or_else(|_| demo());
        Self { text: text.chars().collect(), at: 0 }
    }

    fn take(&mut self, length: usize) -> String {
        if self.at + length > self.text.len() {
            self.at = 0;
        }
        let end = (self.at + length).min(self.text.len());
        let piece: String = self.text[self.at..end].iter().collect();
        self.at = end;
        piece.trim().to_owned()
    }

    /// Three questions and two answers.
    fn conversation(&mut self) -> Conversation {
        let turn = |i: usize| if i.is_multiple_of(2) { ("user", QUESTION) } else { ("assistant", ANSWER) };
        let messages: Vec<_> = (0..5).map(turn).map(|(role, length)| (role, self.take(length))).collect();
        Conversation::from_iter(messages.iter().map(|(role, text)| (*role, text.as_str())))
    }

    fn conversations(&mut self, count: usize) -> Vec<Conversation> {
        (0..count).map(|_| self.conversation()).collect()
    }
}

/// Prompts in a second: the median of rounds, each of new conversations.
fn measure(builder: &PromptBuilder, text: &mut Text, Scale { prompts, rounds, .. }: Scale) -> f64 {
    let mut session = builder.session();
    let mut prompt = TokenizedPrompt::default();
    let mut seconds: Vec<f64> = (0..=rounds)
        .map(|_| {
            let conversations = text.conversations(prompts);
            let start = Instant::now();
            for conversation in &conversations {
                session.build_into(conversation, &mut prompt).expect("the conversation fits");
            }
            start.elapsed().as_secs_f64()
        })
        .skip(1)
        .collect();
    seconds.sort_by(f64::total_cmp);
    prompts as f64 / seconds[rounds / 2]
}

fn ids(builder: &PromptBuilder, conversations: &[Conversation]) -> Vec<Vec<TokenId>> {
    let build = |conversation| builder.build(conversation).expect("the conversation fits").input_ids;
    conversations.iter().map(build).collect()
}

/// Prompts in a second by `apply_chat_template`, and its version; none without Python.
fn peer(folder: &str, conversations: &[Conversation], expected: &[Vec<TokenId>]) -> Option<(f64, String)> {
    let python = std::env::var("METATOK_PYTHON").ok()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/apply_chat_template.py");
    let mut command = Command::new(python);
    let mut child = command.arg(script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    for conversation in conversations {
        let messages = serde_json::to_string(conversation).ok()?;
        writeln!(stdin, "{messages}").ok()?;
    }
    drop(stdin);
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut lines = text.lines();
    let head: serde_json::Value = serde_json::from_str(lines.next()?).ok()?;
    let theirs: Vec<Vec<TokenId>> = lines.map(|line| serde_json::from_str(line).expect("a list of ids")).collect();
    assert!(theirs == expected, "{folder}: apply_chat_template gives other ids");
    let seconds = head["seconds"].as_f64()?;
    Some((conversations.len() as f64 / seconds, format!("transformers {}", head["transformers"].as_str()?)))
}

fn folders() -> Vec<String> {
    if let Ok(folder) = std::env::var("METATOK_BENCH_TOKENIZER") {
        return vec![folder];
    }
    let entries = std::fs::read_dir("../shared/tokenizers").into_iter().flatten().flatten();
    let mut folders: Vec<String> = entries.map(|entry| entry.path().display().to_string()).collect();
    folders.sort();
    folders.retain(|folder| matches!(ChatTemplate::of_tokenizer(folder), Ok(Some(_))));
    if folders.is_empty() { vec!["demo".into()] } else { folders }
}

fn main() {
    let (mut text, scale) = (Text::read(), Scale::of_arguments());
    println!("prompts a second on one core: three questions and two answers, none twice");
    for folder in folders().into_iter().take(scale.tokenizers) {
        let template = ChatTemplate::of_tokenizer(&folder).expect("it can be read").expect("it has one");
        let tokenizer = Arc::new(Tokenizer::load(&folder).expect("it loads"));
        let options = BuilderOptions::default();
        let builder = |model: &Model| PromptBuilder::new(model, Arc::clone(&tokenizer), &options).expect("it fits");
        let rendered = builder(&Model::from(template.clone()));
        let start = Instant::now();
        let imported = import(&template, &tokenizer);
        let seconds = start.elapsed().as_secs_f64();
        let conversations = text.conversations(scale.prompts);
        let expected = ids(&rendered, &conversations);
        // Real text has control tokens too, which transformers takes for the template's.
        let trusting = BuilderOptions { content: ContentTrust::Trusted, ..BuilderOptions::default() };
        let trusting = PromptBuilder::new(&Model::from(template.clone()), Arc::clone(&tokenizer), &trusting);
        let trusted = ids(&trusting.expect("it fits"), &conversations);
        let tokens: usize = expected.iter().map(Vec::len).sum();
        println!("\n{folder}: {} tokens a prompt", tokens / scale.prompts);
        println!("  chat template         {:>9.0}", measure(&rendered, &mut text, scale));
        match imported {
            Ok(imported) => {
                let imported = builder(&imported.model);
                assert!(ids(&imported, &conversations) == expected, "{folder}: the meta template gives other ids");
                println!(
                    "  its meta template     {:>9.0}   (made in {seconds:.2} s)",
                    measure(&imported, &mut text, scale)
                );
            }
            Err(error) => println!("  its meta template     none: {error}"),
        }
        match peer(&folder, &conversations, &trusted) {
            Some((rate, version)) => println!("  apply_chat_template   {rate:>9.0}   ({version})"),
            None => println!("  apply_chat_template   not measured: $METATOK_PYTHON has no transformers"),
        }
    }
}
