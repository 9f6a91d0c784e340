//! What the program is built of is what `deny.toml` allows: licences, sources, and no crate twice without a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::harness::{Tests, tests};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        licences_are_permissive,
        crates_come_from_the_registry,
        the_library_has_no_command_line,
        no_crate_is_there_twice_without_a_reason,
        expressions
    ]
}

/// `deny.toml`, as far as it is looked at here. `cargo deny` reads all of it.
#[derive(Deserialize)]
struct Deny {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Graph {
    features: Vec<String>,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

fn deny() -> Deny {
    let path = root().join("deny.toml");
    toml::from_str(&std::fs::read_to_string(path).expect("it is there")).unwrap_or_else(|error| panic!("{error}"))
}

/// What cargo knows of every crate that is built here: name, version, licence and source.
fn crates(deny: &Deny) -> Vec<Value> {
    let version = Command::new("rustc").arg("-vV").output().expect("there is a rustc").stdout;
    let version = String::from_utf8(version).expect("it is text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("it says where it runs");
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
        .args(["--features", &deny.graph.features.join(",")])
        .current_dir(root())
        .output()
        .expect("there is a cargo");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let mut metadata: Value = serde_json::from_slice(&metadata.stdout).expect("it is JSON");
    let Value::Array(crates) = metadata["packages"].take() else { panic!("there are no packages") };
    assert!(crates.len() > 100, "{}", crates.len());
    crates
}

fn name(package: &Value) -> &str {
    package["name"].as_str().expect("a crate has a name")
}

fn licences_are_permissive() {
    let deny = deny();
    let refused: Vec<String> = crates(&deny)
        .iter()
        .filter(|package| {
            let excepted = deny.licenses.exceptions.iter().filter(|exception| exception.name == name(package));
            let allowed: Vec<&String> =
                deny.licenses.allow.iter().chain(excepted.flat_map(|exception| &exception.allow)).collect();
            let licence = package["license"].as_str().unwrap_or_default();
            !satisfies(licence, &|one| allowed.iter().any(|allowed| *allowed == one))
        })
        .map(|package| format!("{}: {}", name(package), package["license"]))
        .collect();
    assert!(refused.is_empty(), "add a licence or an exception to deny.toml, or go without: {refused:#?}");
}

fn crates_come_from_the_registry() {
    let deny = deny();
    let allowed: Vec<String> = deny.sources.allow_registry.iter().map(|url| format!("registry+{url}")).collect();
    for package in crates(&deny) {
        match package["source"].as_str() {
            Some(source) => {
                assert!(allowed.iter().any(|allowed| allowed == source), "{} is from {source}", name(&package))
            }
            None => {
                assert!(["metatok", "metatok-cli", "metatok-python"].contains(&name(&package)), "{}", name(&package))
            }
        }
    }
}

fn the_library_has_no_command_line() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "metatok", "--edges", "normal", "--prefix", "none"])
        .current_dir(root())
        .output()
        .expect("there is a cargo");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("names of crates are text");
    let found: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(found.contains(&"tokenizers"), "{found:?}");
    for front in ["clap", "anstream", "indicatif", "terminal_size", "textwrap", "signal-hook"] {
        assert!(!found.contains(&front), "{front} is for the command line alone");
    }
}

fn no_crate_is_there_twice_without_a_reason() {
    let deny = deny();
    assert!(deny.bans.skip.iter().all(|skip| !skip.reason.is_empty()));
    let crates = crates(&deny);
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in &crates {
        versions.entry(name(package)).or_default().insert(package["version"].as_str().unwrap_or_default());
    }
    versions.retain(|name, versions| versions.len() > 1 && !deny.bans.skip.iter().any(|skip| skip.name == *name));
    assert!(versions.is_empty(), "agree on one version, or say why not in deny.toml: {versions:#?}");
}

/// Whether an SPDX expression holds where these licences may be chosen.
fn satisfies(expression: &str, may: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    !rest.is_empty() && any_of(&mut rest, may) && rest.is_empty()
}

fn any_of(rest: &mut &[&str], may: &dyn Fn(&str) -> bool) -> bool {
    let mut holds = all_of(rest, may);
    while let ["OR", behind @ ..] = *rest {
        *rest = behind;
        holds |= all_of(rest, may);
    }
    holds
}

fn all_of(rest: &mut &[&str], may: &dyn Fn(&str) -> bool) -> bool {
    let mut holds = one_of(rest, may);
    while let ["AND", behind @ ..] = *rest {
        *rest = behind;
        holds &= one_of(rest, may);
    }
    holds
}

/// A licence, perhaps with an exception, or an expression in parentheses.
fn one_of(rest: &mut &[&str], may: &dyn Fn(&str) -> bool) -> bool {
    if let ["(", behind @ ..] = *rest {
        *rest = behind;
        let holds = any_of(rest, may);
        *rest = rest.get(1..).unwrap_or_default();
        return holds;
    }
    let length = rest.iter().take_while(|word| !matches!(**word, "AND" | "OR" | ")")).count();
    let (licence, behind) = rest.split_at(length);
    *rest = behind;
    may(&licence.join(" "))
}

fn expressions() {
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("", false),
        ("GPL-3.0 OR MIT", true),
        ("MIT/GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("GPL-3.0 AND MIT OR MIT", true),
        ("GPL-3.0 AND (MIT OR MIT)", false),
        ("(MIT OR GPL-3.0) AND MIT", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
    ] {
        let may = |licence: &str| matches!(licence, "MIT" | "Apache-2.0 WITH LLVM-exception");
        assert_eq!(satisfies(expression, &may), expected, "{expression}");
    }
}
