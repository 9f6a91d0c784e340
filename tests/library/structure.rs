//! The shape of the code: modules use only those before them, and libraries stay where they belong.

use std::path::{Path, PathBuf};

use crate::circles::circles;
use crate::harness::{Tests, tests};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        modules_use_only_those_before_them,
        libraries_stay_where_they_belong,
        no_files_use_each_other_in_a_circle,
        the_demo_tokenizer_is_what_its_program_trains,
        only_the_command_line_names_flags
    ]
}

/// The library's modules in the order of `lib.rs`, which is that of the data's flow.
fn modules() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("src/lib.rs")).expect("it is there");
    let module = |line: &str| {
        let declared = line.strip_prefix("pub ").unwrap_or(line);
        declared.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
    };
    text.lines().filter_map(module).collect()
}

/// The library's sources.
fn sources() -> Vec<(String, PathBuf, String)> {
    sources_of("src")
}

fn sources_of(folder: &str) -> Vec<(String, PathBuf, String)> {
    fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the sources can be listed").flatten() {
            let path = entry.path();
            if path.is_dir() { collect(&path, paths) } else { paths.push(path) }
        }
    }
    let root = root().join(folder);
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths
        .into_iter()
        .map(|path| {
            let below = path.strip_prefix(&root).expect("it is below the root").to_owned();
            let module = below
                .iter()
                .next()
                .map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned())
                .unwrap_or_default();
            let text = std::fs::read_to_string(&path).expect("a source can be read");
            (module, below, text)
        })
        .collect()
}

fn modules_use_only_those_before_them() {
    let modules = modules();
    let place = |module: &str| modules.iter().position(|known| known == module);
    for (module, path, text) in sources() {
        if module == "lib" {
            continue;
        }
        let own = place(&module).unwrap_or_else(|| panic!("{} is in no module of lib.rs", path.display()));
        // Docs may point ahead.
        let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        assert!(!code.contains("crate::{"), "{} hides which modules it uses", path.display());
        for used in code.split("crate::").skip(1) {
            let used: String = used.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            // What the crate's root re-exports has no module in its path.
            let Some(other) = place(&used) else { continue };
            assert!(other <= own, "{} uses {used}, which comes after {module}", path.display());
        }
    }
}

fn libraries_stay_where_they_belong() {
    for (module, path, text) in sources() {
        let uses =
            |library: &str| text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(library));
        if module != "tokenizer" {
            assert!(!uses("tokenizers::") && !uses("tokenizers_classic"), "{}", path.display());
        }
        if !path.starts_with("tokenizer/hub") {
            assert!(!uses("hf_hub::") && !uses("ureq::"), "{}", path.display());
        }
        assert!(!uses("println!") && !uses("eprintln!"), "{}", path.display());
    }
}

fn no_files_use_each_other_in_a_circle() {
    for folder in ["src", "cli/src", "python/src"] {
        let source = |(_, path, text): (String, PathBuf, String)| (path.to_string_lossy().into_owned(), text);
        let circles = circles(&sources_of(folder).into_iter().map(source).collect::<Vec<_>>());
        for (file, used) in &circles {
            println!("{folder}/{file} uses {}", used.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        }
        assert!(circles.is_empty(), "files of {folder} use each other in a circle: see above which");
    }
}

#[path = "../../examples/train_demo_tokenizer.rs"]
#[allow(dead_code, reason = "it is a program too")]
mod train_demo_tokenizer;

fn the_demo_tokenizer_is_what_its_program_trains() {
    let folder = root().join("models/demo");
    let trained = train_demo_tokenizer::train(&train_demo_tokenizer::text(&folder).expect("the text is there"));
    let embedded = std::fs::read_to_string(folder.join("tokenizer.json")).expect("it is there");
    assert!(
        trained.expect("it can be trained") == embedded,
        "run `cargo run --release --example train_demo_tokenizer`"
    );
}

/// Options of other programs, which the library may name.
const OF_OTHER_PROGRAMS: [(&str, &str); 2] = [
    ("dataset/source/compressed.rs", "zstd -dc --long=31"),
    ("error/mod.rs", "raise --max-line-bytes if"), // What a program makes of a setting.
];

fn only_the_command_line_names_flags() {
    for (_, path, text) in sources() {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if !is_rust {
            continue;
        }
        for line in text.lines() {
            let is_allowed =
                OF_OTHER_PROGRAMS.iter().any(|(file, words)| path == Path::new(file) && line.contains(words));
            let names_flag = line.split("--").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(is_allowed || !names_flag, "{}: use `Setting`: {line}", path.display());
        }
    }
}
