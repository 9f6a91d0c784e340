//! OpenCompass's own package: each of its configurations builds or is refused for a reason that is known, and prompts are
//! those of its own code.
//!
//! Skipped, and that is said, where there is no Python or no package (`pip install --no-deps opencompass`);
//! METATOK_PYTHON names a Python, METATOK_OPENCOMPASS the folder that holds the folder `opencompass`. Of a few files one is
//! looked at; METATOK_OPENCOMPASS_EVERY=1 takes all.
#![allow(clippy::panic, clippy::print_stdout, reason = "a test says what is wrong and stops")]

#[path = "opencompass/judges.rs"]
mod judges;
#[path = "opencompass/package.rs"]
mod package;
#[path = "opencompass/templates.rs"]
mod templates;

use std::collections::{BTreeMap, BTreeSet};

use judges::Judges;
use metatok::{Conversation, Dataset, Inference, Item, Model, Result, Row, RowPrompt, Section};
use package::{DatasetLine, Json, Line, MadeByModel, Outcome, every, package, reference};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use templates::Templates;

/// Why dicts are refused: what the message says, and for which classes.
#[derive(Deserialize)]
struct Refused {
    reason: Vec<Reason>,
    judge: Vec<Reason>,
    only_there: Vec<OnlyThere>,
}

#[derive(Deserialize)]
struct Reason {
    message: String,
    /// Whether OpenCompass refuses it too.
    #[serde(default)]
    there_too: bool,
    #[allow(dead_code, reason = "for readers")]
    about: String,
}

/// What OpenCompass refuses and metatok builds.
#[derive(Deserialize)]
struct OnlyThere {
    error: String,
    #[allow(dead_code, reason = "for readers")]
    about: String,
}

/// What was compared.
#[derive(Default)]
struct Counts {
    prompts: usize,
    /// Turns of dialogues, which its inferencer lays out itself.
    turns: usize,
    equal: BTreeMap<String, usize>,
    /// Both say that there is no such prompt.
    refused_by_both: usize,
    only_there: BTreeMap<String, usize>,
    /// What its parser for API models loses and this one keeps.
    lost_there: usize,
    wrong: Vec<String>,
}

impl Counts {
    fn compare(&mut self, known: &[OnlyThere], name: &str, place: &str, there: &Outcome<Value>, here: Result<Value>) {
        match (there, here) {
            (Outcome::Ok(there), Ok(here)) if *there == here => *self.equal.entry(name.to_owned()).or_default() += 1,
            (Outcome::Ok(there), Ok(here)) => self.wrong.push(format!("{place}: {name}\nthere {there}\nhere  {here}")),
            (Outcome::Ok(_), Err(error)) => self.wrong.push(format!("{place}: {name}: here {error}")),
            (Outcome::Error(_), Err(_)) => self.refused_by_both += 1,
            (Outcome::Error(error), Ok(_)) => match known.iter().find(|known| error.starts_with(&known.error)) {
                Some(known) => *self.only_there.entry(known.error.clone()).or_default() += 1,
                None => self.wrong.push(format!("{place}: {name}: there {error}")),
            },
        }
    }

    fn check(&self) {
        assert!(
            self.wrong.is_empty(),
            "{} differ, such as\n{}",
            self.wrong.len(),
            self.wrong[..self.wrong.len().min(12)].join("\n")
        );
    }
}

/// The dataset dicts of all files.
#[derive(Default)]
struct Datasets {
    /// Why each is refused; nothing where it builds.
    built: BTreeMap<usize, Option<String>>,
    files: usize,
    broken_files: Vec<String>,
    refused_files: BTreeMap<String, String>,
    /// How many of them its own code builds.
    built_there: usize,
    used_reasons: BTreeSet<usize>,
    unknown_reasons: Vec<String>,
}

impl Datasets {
    fn see(
        &mut self,
        line: &DatasetLine,
        built: Result<Vec<Vec<RowPrompt>>>,
        reasons: &[Reason],
    ) -> Option<Vec<Vec<RowPrompt>>> {
        match built {
            Ok(built) => {
                self.built.insert(line.number, None);
                Some(built)
            }
            Err(error) => {
                let message = error.to_string();
                let reason = reasons.iter().position(|reason| message.contains(&reason.message));
                let known = reason.map(|reason| reasons[reason].message.clone());
                self.used_reasons.extend(reason);
                if known.is_none() {
                    self.unknown_reasons.push(format!("{message}\n{}", line.dataset.get()));
                }
                self.built.insert(line.number, Some(known.unwrap_or(message)));
                None
            }
        }
    }

    fn see_file(&mut self, file: String, error: Option<String>, datasets: &[usize], reasons: &[Reason]) {
        self.files += 1;
        if let Some(error) = error {
            self.broken_files.push(format!("{file}: {error}"));
            return;
        }
        if let Some(reason) = datasets.iter().find_map(|number| self.built[number].clone()) {
            let there_too = reasons.iter().any(|known| known.message == reason && known.there_too);
            self.built_there += usize::from(!there_too);
            self.refused_files.insert(file, reason);
        }
    }
}

/// The prompts of all rows.
fn build(line: &DatasetLine) -> Result<Vec<Vec<RowPrompt>>> {
    let dataset = Dataset::parse("dataset.json", line.dataset.get().as_bytes())?;
    let rows = |rows: &[Json]| rows.iter().map(|row| Row::from_json(row.get())).collect::<Result<Vec<Row>>>();
    let (train, rows) = (rows(&line.train)?, rows(&line.rows)?);
    let mut inference = Inference::new(&dataset, &train)?;
    let mut prompts = |(row, ids): (&Row, &Vec<i64>)| match dataset.inferencer.kind.has_turns() {
        false => inference.prompts(row, ids.clone(), |_| Ok(0)),
        // Those behind the first need answers.
        true => {
            let plan = inference.plan(row, ids.clone(), |_| Ok(0))?;
            let first = plan.prompt().expect("the dialogue asks for an answer");
            Ok(vec![RowPrompt { turn: plan.turn(), ..first.into() }])
        }
    };
    rows.iter().zip(&line.ids).map(&mut prompts).collect()
}

#[test]
fn configurations() {
    let Some((root, every)) = package().zip(Some(every())) else { return };
    let refused = include_str!("opencompass_refused.toml");
    let Refused { reason: reasons, judge: judge_reasons, only_there } =
        toml::from_str(refused).expect("the list can be read");
    let (mut templates, mut datasets, mut counts) = (Templates::new(), Datasets::default(), Counts::default());
    let (mut models, mut model_counts, mut judges) = (0, Counts::default(), Judges::default());
    let (mut child, lines) = reference(&root, every);
    for line in lines {
        match line {
            Line::Template { name, template } => templates.add(name, &template),
            Line::Dataset(line) => {
                if let Some(built) = datasets.see(&line, build(&line), &reasons) {
                    compare(&line, &built, &templates, &only_there, &mut counts);
                }
            }
            Line::Judge(line) => judges.see(&line, &templates, &judge_reasons, &only_there),
            Line::File { file, error, datasets: numbers } => datasets.see_file(file, error, &numbers, &reasons),
            Line::Model { file, model, made } => {
                models += 1;
                compare_model(&file, &model, made.unwrap_or_default(), &templates, &only_there, &mut model_counts);
            }
        }
    }
    assert!(child.wait().expect("it was started").success(), "see what it says above");
    report(&datasets, &counts, &model_counts, models);
    judges.report();
    counts.check();
    model_counts.check();
    judges.check((every == 1).then_some(&judge_reasons));
    assert!(
        datasets.unknown_reasons.is_empty(),
        "refused for reasons not listed: {}",
        datasets.unknown_reasons.join("\n")
    );
    if every == 1 {
        let run = datasets.files - datasets.broken_files.len();
        assert!(datasets.built_there * 100 <= run * 2, "{:#?}", datasets.refused_files);
        for (i, reason) in reasons.iter().enumerate() {
            assert!(datasets.used_reasons.contains(&i), "nothing is refused for {:?}", reason.message);
        }
    }
}

fn compare(
    line: &DatasetLine,
    built: &[Vec<RowPrompt>],
    templates: &Templates,
    known: &[OnlyThere],
    counts: &mut Counts,
) {
    for (number, (made, prompts)) in line.made.iter().zip(built).enumerate() {
        let place = format!("dict {} row {number}", line.number);
        if prompts.iter().any(|prompt| prompt.turn.is_some()) {
            counts.turns += prompts.len();
            continue;
        }
        let made = match made {
            Outcome::Ok(made) => made,
            Outcome::Error(error) => {
                counts.compare(known, "rows", &place, &Outcome::Error(error.clone()), Ok(Value::Null));
                continue;
            }
        };
        // What answers are compared with where they stand alone has no prompt of its own there.
        let prompts: Vec<_> = prompts.iter().filter(|prompt| !prompt.is_normalizing).collect();
        assert_eq!(prompts.len(), made.len(), "{place}");
        for (prompt, made) in prompts.into_iter().zip(made) {
            counts.prompts += 1;
            let label = prompt.label.as_ref().map(|label| label.text());
            assert_eq!(label.as_deref(), made.label.as_ref().and_then(Value::as_str), "{place}");
            for (name, there) in &made.r#as {
                if name == "api-system" && is_lost(&prompt.conversation) {
                    counts.lost_there += 1;
                    continue;
                }
                counts.compare(known, name, &place, there, templates.make(name, &prompt.conversation, made.mode));
            }
        }
    }
}

/// Whether a role that has no place in rounds says something there by its fallback_role, which OpenCompass loses.
fn is_lost(conversation: &Conversation) -> bool {
    let Conversation::List(items) = conversation else { return false };
    let rounds =
        items.iter().skip_while(|item| !matches!(item, Item::Marker(marker) if marker.section == Section::Round));
    rounds
        .into_iter()
        .any(|item| matches!(item, Item::Message(said) if said.role == "SYSTEM" && said.fallback_role.is_some()))
}

fn compare_model(
    file: &str,
    model: &RawValue,
    made: Vec<MadeByModel>,
    templates: &Templates,
    known: &[OnlyThere],
    counts: &mut Counts,
) {
    let loaded = Model::parse("model.json", model.get().as_bytes());
    let loaded = match loaded {
        Ok(loaded) => loaded,
        // OpenCompass stops at it too.
        Err(error) if error.to_string().contains("a list of one meta template") => {
            counts.refused_by_both += 1;
            return;
        }
        Err(error) => return counts.wrong.push(format!("{file}: {error}")),
    };
    let renderer = loaded.meta_template.as_ref().map(|template| templates.renderer(template));
    for MadeByModel { conversation, mode, is_api, made } in made {
        let here = match &renderer {
            _ if is_api => loaded
                .to_api()
                .and_then(|template| template.prompt(&conversation, mode))
                .map(|prompt| serde_json::to_value(prompt).expect("turns are JSON")),
            Some(renderer) => templates.text(&**renderer, &conversation, mode).map(Value::from),
            None => panic!("{file}: it has no template"),
        };
        counts.prompts += 1;
        counts.compare(known, if is_api { "api" } else { "lm" }, file, &made, here);
    }
}

fn report(datasets: &Datasets, counts: &Counts, model_counts: &Counts, models: usize) {
    let refused = datasets.built.values().filter(|reason| reason.is_some()).count();
    println!(
        "opencompass: {} files of datasets, {} that Python cannot run, {} refused of which OpenCompass builds {}; {} different dicts, {refused} refused",
        datasets.files,
        datasets.broken_files.len(),
        datasets.refused_files.len(),
        datasets.built_there,
        datasets.built.len()
    );
    for (what, counts) in [("datasets", counts), ("models", model_counts)] {
        println!(
            "opencompass: {what}: {} prompts and {} turns, equal {:?}, refused by both {}, refused only there {:?}, lost there {}",
            counts.prompts, counts.turns, counts.equal, counts.refused_by_both, counts.only_there, counts.lost_there
        );
    }
    println!("opencompass: {models} models");
    datasets.refused_files.iter().for_each(|(file, reason)| println!("opencompass: refused: {file}: {reason}"));
}
