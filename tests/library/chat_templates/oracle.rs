//! Jinja2 as transformers sets it up, in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::root::root;

/// A Python that renders templates.
pub(super) struct Oracle {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Oracle {
    /// None, and that is said, where no Python has jinja2.
    pub(super) fn start() -> Option<Self> {
        let python = std::env::var("METATOK_PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(python);
        command.arg(root().join("tests/peers/chat_template.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.stderr(Stdio::null()).spawn().ok().and_then(|mut child| {
            let (to, from) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
            let mut oracle = Self { child, to, from };
            oracle.line()?.get("ready").is_some().then_some(oracle)
        });
        if started.is_none() {
            println!("skipped: there is no Python with jinja2 (pip install jinja2); METATOK_PYTHON may name one");
        }
        started
    }

    fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.from.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// The text of a template, or its error.
    pub(super) fn render(&mut self, template: &str, context: &Value, continues: bool) -> Result<String, String> {
        let request =
            json!({ "template": template, "context": context, "continue_final_message": continues, "now": NOW });
        writeln!(self.to, "{request}").expect("it takes requests");
        let answer = self.line().expect("each request has an answer");
        match (&answer["text"], &answer["error"]) {
            (Value::String(text), _) => Ok(text.clone()),
            (_, error) => Err(error.as_str().unwrap_or_default().to_owned()),
        }
    }
}

/// The time that both sides see.
pub(super) const NOW: &str = "2026-01-31T12:00:00";

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
