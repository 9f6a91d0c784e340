//! The shape of the code: modules use only those before them, and libraries stay where they belong.

use std::path::{Path, PathBuf};

/// In the order of the data's flow.
const MODULES: [&str; 15] = [
    "error",
    "tokenizer",
    "conversation",
    "template",
    "stop",
    "compile",
    "render",
    "dialect",
    "dataset",
    "run_cache",
    "assemble",
    "builder",
    "sink",
    "cli",
    "main",
];

fn sources() -> Vec<(String, PathBuf, String)> {
    fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the sources can be listed").flatten() {
            let path = entry.path();
            if path.is_dir() { collect(&path, paths) } else { paths.push(path) }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
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

#[test]
fn modules_use_only_those_before_them() {
    let place = |module: &str| MODULES.iter().position(|known| *known == module);
    for (module, path, text) in sources() {
        if module == "lib" {
            continue;
        }
        let own = place(&module).unwrap_or_else(|| panic!("{} is in no module of the list", path.display()));
        for used in text.split("crate::").skip(1) {
            let used: String = used.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            // What the crate's root re-exports has no module in its path.
            let Some(other) = place(&used) else { continue };
            assert!(other <= own, "{} uses {used}, which comes after {module}", path.display());
        }
    }
}

#[test]
fn libraries_stay_where_they_belong() {
    for (module, path, text) in sources() {
        let uses =
            |library: &str| text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(library));
        if module != "tokenizer" {
            assert!(!uses("tokenizers::") && !uses("tokenizers_classic"), "{}", path.display());
        }
        if path != Path::new("tokenizer/hub.rs") {
            assert!(!uses("hf_hub::"), "{}", path.display());
        }
        if module != "cli" {
            assert!(!uses("println!") && !uses("eprintln!"), "{}", path.display());
        }
    }
}

#[test]
fn the_demo_tokenizer_is_what_its_program_trains() {
    // Only that it could be: training again is the program's business, and takes it a second.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["examples/train_demo_tokenizer.rs", "models/demo/corpus.txt", "models/demo/tokenizer.json"] {
        assert!(manifest.join(file).is_file(), "{file}");
    }
}
