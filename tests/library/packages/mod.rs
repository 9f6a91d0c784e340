//! OpenCompass's and AISBench's own packages: each of their configurations builds or is refused for a reason that is known, and
//! prompts are those of their own code.
//!
//! Skipped, and that is said, where there is no Python or no package (`pip install --no-deps opencompass
//! ais_bench_benchmark`); METATOK_PYTHON names a Python, METATOK_OPENCOMPASS and METATOK_AISBENCH the folders that hold the
//! packages. Of ten files of datasets one is looked at; METATOK_PACKAGES_EVERY=1 takes all.

mod build;
mod counts;
mod datasets;
mod judges;
mod package;
mod templates;

use build::Built;
use counts::Counts;
use datasets::{Datasets, Known};
use judges::Judges;
use metatok::conversation::{Item, Section};
use metatok::render::{ApiTemplate, ChatWrapper};
use metatok::{Conversation, Model};
use package::{DatasetLine, Line, MadeByModel, Outcome, Package, every, reference};
use serde_json::Value;
use serde_json::value::RawValue;
use templates::Templates;

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![opencompass, aisbench]
}

fn opencompass() {
    let known = include_str!("../../packages/opencompass.toml");
    configurations(&Package { name: "opencompass", folder: "opencompass", pip: "opencompass", known });
}

fn aisbench() {
    let known = include_str!("../../packages/aisbench.toml");
    configurations(&Package { name: "aisbench", folder: "ais_bench", pip: "ais_bench_benchmark", known });
}

fn configurations(package: &Package) {
    let Some(root) = package.root() else { return };
    let known: Known = toml::from_str(package.known).expect("the list can be read");
    let (mut templates, mut datasets) = (Templates::new(chat_of(package)), Datasets::default());
    let (mut models, mut counts, mut model_counts) = (0, Counts::new(&known), Counts::new(&known));
    let mut judges = Judges::new(&known);
    let (mut child, lines) = reference(package, &root);
    for line in lines {
        match line {
            Line::Template { name, template } => templates.add(name, &template),
            Line::Dataset(line) => {
                if let Some(built) = datasets.see(&line, Built::of(&line), &known) {
                    compare(&line, &built, &templates, &mut counts);
                }
            }
            Line::Judge(line) => judges.see(&line, &templates),
            Line::File { file, error, datasets: numbers } => datasets.see_file(file, error, &numbers, &known),
            Line::Model { file, model, made } => {
                models += 1;
                compare_model(&file, &model, made, &templates, &mut model_counts);
            }
        }
    }
    assert!(child.wait().expect("it was started").success(), "run tests/packages/reference.py by hand");
    let name = package.name;
    println!("{name}: {datasets}");
    println!("{name}: datasets: {counts}");
    println!("{name}: models: {models}, {model_counts}");
    datasets.refused_files.iter().for_each(|(file, reason)| println!("{name}: refused: {file}: {reason}"));
    judges.report(name);
    counts.check();
    model_counts.check();
    judges.check(every() == 1);
    datasets.check(&known, every() == 1);
}

/// What stands for the package's chat wrapper.
fn chat_of(package: &Package) -> ApiTemplate {
    match (package.name, ChatWrapper::AisBench.template()) {
        // It refuses turns in which nobody says anything, and loses what stands around parts.
        ("aisbench", ApiTemplate::Roles(mut roles)) => {
            (roles.needs_prompts, roles.compat) = (true, true);
            ApiTemplate::Roles(roles)
        }
        _ => ChatWrapper::OpenCompass.template(),
    }
}

fn compare(line: &DatasetLine, built: &Built, templates: &Templates, counts: &mut Counts) {
    for (number, (made, prompts)) in line.made.iter().zip(&built.prompts).enumerate() {
        let place = format!("dict {} row {number}", line.number);
        let made = match made {
            Outcome::Ok(made) => made,
            Outcome::Error(error) => {
                counts.compare("rows", &place, &Outcome::Error(error.clone()), Ok(Value::Null));
                continue;
            }
        };
        // What answers are compared with where they stand alone has no prompt of its own there.
        let prompts: Vec<_> = prompts.iter().filter(|prompt| !prompt.is_normalizing).collect();
        assert_eq!(prompts.len(), made.len(), "{place}");
        for (prompt, made) in prompts.into_iter().zip(made) {
            counts.prompts += 1;
            counts.turns += usize::from(prompt.turn.is_some());
            let label = prompt.label.as_ref().map(|label| label.text());
            assert_eq!(label.as_deref(), made.label.as_ref().and_then(Value::as_str), "{place}");
            let tools = prompt.tools.as_ref().map(|tools| serde_json::from_str(tools).expect("they are JSON"));
            assert_eq!(tools, made.tools, "{place}");
            for (name, there) in &made.r#as {
                if name == "api-system" && is_lost(&prompt.conversation) {
                    counts.lost_there += 1;
                    continue;
                }
                let here = templates.make(name, &prompt.conversation, made.mode, built.each_message);
                counts.compare(name, &place, there, here);
            }
        }
    }
}

/// Whether a role that has no place in rounds says something there by its fallback_role, which the packages lose.
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
    made: Option<Vec<MadeByModel>>,
    templates: &Templates,
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
    let renderer = templates.renderer(loaded.meta_template.as_ref());
    for MadeByModel { conversation, mode, is_api, made } in made.unwrap_or_default() {
        let here = match is_api {
            true => loaded
                .to_api()
                .and_then(|template| template.prompt(&conversation, mode))
                .map(|prompt| serde_json::to_value(prompt).expect("turns are JSON")),
            false => templates.text(&*renderer, &conversation, mode).map(Value::from),
        };
        counts.prompts += 1;
        counts.compare(if is_api { "api" } else { "lm" }, file, &made, here);
    }
}
