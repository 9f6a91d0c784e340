//! What Python's users have: `apply_chat_template` of transformers, and gigatoken. Only where `$METATOK_PYTHON` has them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use metatok::dialect::ChatTemplate;
use metatok::import::import;
use metatok::{ContentTrust, Model, TokenId, Tokenizer};
use serde_json::Value;

use crate::completed::Completed;
use crate::measure::{self, Outcome};
use crate::setting::{Setting, name};
use crate::subjects::{self, CONTESTANTS, Place, TRUSTED};
use crate::table::{self, Table};
use crate::text::Text;
use crate::workloads::{self, Made, ROUNDS, Workload};

/// How long gigatoken took, or why there is no time.
pub(crate) enum Gigatoken {
    Took(f64),
    Not(String),
}

/// What a script says of itself, and the ids that it gives.
type Answer = (Value, Vec<Vec<TokenId>>);

pub(crate) fn table(setting: &Setting) -> Result<(), String> {
    if std::env::var_os("METATOK_PYTHON").is_none() {
        println!("\nskipped: $METATOK_PYTHON names no Python to compare with");
        return Ok(());
    }
    let columns = ["tokenizer", "workload", "metatok, trusted", "apply_chat_template", "gigatoken, joined strings"];
    let title = "From Python, one core, prompts a second of processor time; chats in the tokenizer's own template if it has one";
    let mut table = Table::new(title, &columns, 2);
    let Some(text) = setting.text(false) else { return Ok(()) };
    for folder in &setting.folders {
        for workload in [workloads::W1, workloads::W2] {
            if setting.wants(&name(folder), workload.name) {
                row(&mut table, &text, folder, &workload, setting.prompts / 4)?;
            }
        }
    }
    Ok(())
}

fn row(table: &mut Table, text: &Text, folder: &Path, workload: &Workload, prompts: usize) -> Result<(), String> {
    let tokenizer = subjects::metatok(folder)?;
    let template = ChatTemplate::of_tokenizer(&folder.display().to_string()).ok().flatten();
    let (made, chats) = match &template {
        Some(template) => (workload.make_for(own_model(template, &tokenizer), text, &tokenizer, prompts), true),
        None => match workload.make(text, &tokenizer, prompts) {
            Some(made) => (made, false),
            None => return Ok(()),
        },
    };
    let mut made = made;
    fill_ids(&mut made, &tokenizer)?;
    let completed = Completed::new(folder)?;
    let place = Place { folder, completed: completed.folder(), model: &made.model };
    let ours = &measure::measure(&CONTESTANTS[TRUSTED..=TRUSTED], &place, &made.rounds)[0];
    let applied = if chats { apply_chat_template(folder, &made) } else { Err("it has no chat template".into()) };
    let theirs = [("apply_chat_template", applied), ("gigatoken", gigatoken(completed.folder(), &made))];
    let mut cells = vec![name(folder), workload.name.into(), table::outcome(ours)];
    for (who, outcome) in theirs {
        if let Err(message) = &outcome {
            table.note(format!("{}: {who}: {message}", name(folder)));
        }
        cells.push(outcome.as_ref().map(table::outcome).unwrap_or_default());
    }
    table.row(&cells);
    Ok(())
}

/// The meta template that `import` makes of a chat template, else the chat template.
fn own_model(template: &ChatTemplate, tokenizer: &Arc<Tokenizer>) -> Model {
    import(template, tokenizer).map_or_else(|_| Model::from(template.clone()), |imported| imported.model)
}

/// By metatok, with trusted content, as everybody in Python encodes: these are compared with the others' ids.
fn fill_ids(made: &mut Made, tokenizer: &Arc<Tokenizer>) -> Result<(), String> {
    let builder = workloads::builder(&made.model, tokenizer, ContentTrust::Trusted, false);
    for prompt in made.rounds.iter_mut().flatten() {
        prompt.ids = builder.build(&prompt.conversation).map_err(|error| error.to_string())?.input_ids;
    }
    Ok(())
}

/// The first measured round, three times, as the script does.
fn apply_chat_template(folder: &Path, made: &Made) -> Result<Outcome, String> {
    let round = &made.rounds[1];
    let lines = round.iter().map(|prompt| serde_json::to_string(&prompt.conversation));
    let lines: Vec<String> = lines.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let (head, ids) = ask("apply_chat_template.py", &[folder], &lines)?;
    Ok(outcome(&head, round.len(), ids.iter().eq(round.iter().map(|prompt| &prompt.ids))))
}

fn gigatoken(folder: &Path, made: &Made) -> Result<Outcome, String> {
    let prompts = || made.rounds.iter().flatten();
    let lines = prompts().map(|prompt| serde_json::to_string(&prompt.text));
    let lines: Vec<String> = lines.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let rounds = (ROUNDS + 1).to_string();
    let (head, ids) = ask("gigatoken_encode.py", &[folder, Path::new(&rounds)], &lines)?;
    Ok(outcome(&head, made.rounds[0].len(), ids.iter().eq(prompts().map(|prompt| &prompt.ids))))
}

fn outcome(head: &Value, prompts: usize, is_right: bool) -> Outcome {
    match head["seconds"].as_f64() {
        Some(seconds) if is_right => Outcome::Rate(prompts as f64 / seconds),
        _ => Outcome::Differs(String::new()),
    }
}

/// All texts of a file of JSON lines, on all cores.
pub(crate) fn gigatoken_file(folder: &Path, file: &Path) -> Gigatoken {
    match ask("gigatoken_encode.py", &[folder, file], &[]) {
        Ok((head, _)) => head["seconds"].as_f64().map_or_else(|| Gigatoken::Not("no time".into()), Gigatoken::Took),
        Err(message) => Gigatoken::Not(message),
    }
}

/// Runs a script of `tests/peers` with these arguments, and gives it these lines.
fn ask(script: &str, arguments: &[&Path], lines: &[String]) -> Result<Answer, String> {
    let python = std::env::var_os("METATOK_PYTHON").ok_or("$METATOK_PYTHON names no Python")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(script);
    let mut command = Command::new(python);
    command.arg(script).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A script that fails does not read: what it says tells more than the broken pipe.
        drop(stdin.write_all((lines.join("\n") + "\n").as_bytes()));
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.lines().last().unwrap_or("it fails and says nothing").to_owned());
    }
    let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let mut lines = text.lines().skip_while(|line| !line.starts_with('{'));
    let head = lines.next().ok_or("it says nothing")?;
    let head = serde_json::from_str(head).map_err(|error| error.to_string())?;
    let ids: Result<_, _> = lines.map(serde_json::from_str).collect();
    Ok((head, ids.map_err(|error| error.to_string())?))
}
