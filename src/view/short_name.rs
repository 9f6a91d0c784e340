//! Names of files without the machine's folders.

use std::path::{Component, Path};

/// A name as given. For a path from the root, or out of the folder, the last two components: enough to recognize it,
/// and nothing about the machine.
pub(super) fn short_name(name: &str) -> String {
    let path = Path::new(name);
    if !path.has_root() && path.components().next() != Some(Component::ParentDir) {
        return name.to_owned();
    }
    let named: Vec<_> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
        .collect();
    named[named.len().saturating_sub(2)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn names_tell_nothing_about_the_machine() {
        for (name, shown) in [
            ("qwen3", "qwen3"),
            ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
            ("mine/a/b.toml", "mine/a/b.toml"),
            ("./mine.toml", "./mine.toml"),
            ("/home/ann/models/mine.toml", "models/mine.toml"),
            ("/home/ann/Qwen3-8B/", "ann/Qwen3-8B"),
            ("/mine.toml", "mine.toml"),
            ("../../tokenizers/qwen3", "tokenizers/qwen3"),
            ("/", ""),
        ] {
            assert_eq!(short_name(name), shown);
        }
    }
}
