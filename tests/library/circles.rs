//! Circles between files: files that name each other, directly or through others.
//!
//! A file uses another if a path in it leads there: in `use`, or where it stands in the code. A path leads to the file that
//! defines the name, through all re-exports, `super::` and imports of modules. To re-export a name is not to use it. A test
//! within a file may use anything. What a method call reaches is not seen, for the path to its type is.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{Tests, tests};

pub(crate) fn tests() -> Tests {
    tests![circles_are_found_through_every_kind_of_path, to_hand_a_name_on_is_no_circle]
}

/// What the code of one file declares, by the module that it is.
#[derive(Default)]
struct Module {
    file: String,
    /// The names that it imports or re-exports, with the paths as they are written.
    imports: BTreeMap<String, Vec<String>>,
    /// The modules of which it takes every name.
    globs: Vec<Vec<String>>,
    reexports: BTreeSet<String>,
    defined: BTreeSet<String>,
    /// The code without its `use` statements.
    body: String,
}

/// Where a path leads.
enum Found {
    Module(String),
    /// An item of this module.
    Item(String),
}

struct Crate(BTreeMap<String, Module>);

/// The files that are in circles, each with the files of its circle that it uses; `sources` are paths below `src` with their texts.
pub(crate) fn circles(sources: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let modules = sources.iter().map(|(path, text)| (module_of(path), Module::read(path, text)));
    let mut uses = Crate(modules.collect()).uses();
    let reached: BTreeMap<String, BTreeSet<String>> =
        uses.keys().map(|file| (file.clone(), reached(file, &uses))).collect();
    uses.iter_mut().for_each(|(file, used)| used.retain(|used| reached[used].contains(file)));
    uses.retain(|_, used| !used.is_empty());
    uses
}

/// The files that a file uses, directly or through others.
fn reached(file: &str, uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(file) = open.pop() {
        open.extend(uses[file].iter().filter(|used| reached.insert((*used).clone())).map(String::as_str));
    }
    reached
}

impl Crate {
    /// The files that each file uses.
    fn uses(&self) -> BTreeMap<String, BTreeSet<String>> {
        let of_module = |(name, module): (&String, &Module)| {
            let imported = module.imports.iter().filter(|(name, _)| module.is_used(name)).map(|(_, path)| path.clone());
            let paths = imported.chain(module.globs.iter().cloned()).chain(paths_in(&module.body));
            let files = paths.filter_map(|path| match self.resolve(name, &path, 0)? {
                Found::Item(of) => Some(self.0[&of].file.clone()),
                // Until something in it is named, a module is no more than a part of a path.
                Found::Module(of) => module.globs.contains(&path).then(|| self.0[&of].file.clone()),
            });
            (module.file.clone(), files.filter(|file| *file != module.file).collect())
        };
        self.0.iter().map(of_module).collect()
    }

    fn resolve(&self, module: &str, path: &[String], depth: usize) -> Option<Found> {
        let mut at = module.to_owned();
        for (i, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" => at = "crate".to_owned(),
                "self" => {}
                "super" => at = at.rsplit_once("::")?.0.to_owned(),
                name => match self.step(&at, name, i + 1 == path.len(), depth)? {
                    Found::Module(found) => at = found,
                    item @ Found::Item(_) => return Some(item),
                },
            }
        }
        Some(Found::Module(at))
    }

    /// Where a name leads in a module. A module and a function may share a name, which is the function's at the end of a path.
    fn step(&self, at: &str, name: &str, is_last: bool, depth: usize) -> Option<Found> {
        let module = self.0.get(at).filter(|_| depth < 16)?;
        let child = format!("{at}::{name}");
        let child = self.0.contains_key(&child).then_some(Found::Module(child));
        let imported = || module.imports.get(name).and_then(|path| self.resolve(at, path, depth + 1));
        let defined = || module.defined.contains(name).then(|| Found::Item(at.to_owned()));
        let of_globs = || {
            module.globs.iter().find_map(|path| match self.resolve(at, path, depth + 1)? {
                Found::Module(of) if of != at => self.step(&of, name, is_last, depth + 1),
                _ => None,
            })
        };
        let item = || imported().or_else(defined).or_else(of_globs);
        match is_last {
            true => item().filter(|found| matches!(found, Found::Item(_))).or(child).or_else(item),
            false => child.or_else(item),
        }
    }
}

impl Module {
    fn read(path: &str, text: &str) -> Self {
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let mut module = Self { file: path.to_owned(), ..Self::default() };
        let mut statement: Option<(bool, String)> = None;
        for line in lines {
            let code = line.trim_start();
            if statement.is_none() {
                let (visibility, rest) = visibility(code);
                match rest.strip_prefix("use ") {
                    Some(tree) => statement = Some((!visibility.is_empty(), tree.to_owned())),
                    None => {
                        module.defined.extend(defined(line));
                        module.body.push_str(code);
                        module.body.push('\n');
                    }
                }
            } else if let Some((_, tree)) = &mut statement {
                tree.push_str(code);
            }
            if let Some((is_export, tree)) = statement.take_if(|(_, tree)| tree.contains(';')) {
                let tree = tree.split(';').next().unwrap_or_default();
                module.import(&mut Vec::new(), tree, is_export);
            }
        }
        module
    }

    /// Takes in the names of a `use` tree.
    fn import(&mut self, before: &mut Vec<String>, tree: &str, is_export: bool) {
        let tree = tree.trim().trim_start_matches("::");
        let length = before.len();
        if let Some(list) = tree.strip_prefix('{') {
            let list = list.strip_suffix('}').expect("a list of names ends");
            split_at_commas(list).into_iter().for_each(|part| self.import(before, part, is_export));
        } else if let Some((segment, rest)) = tree.split_once("::") {
            before.push(segment.to_owned());
            self.import(before, rest, is_export);
        } else if tree == "*" {
            self.globs.push(before.clone());
        } else if !tree.is_empty() {
            let (name, alias) = tree.split_once(" as ").unwrap_or((tree, tree));
            if name != "self" {
                before.push(name.to_owned());
            }
            let alias = if alias == "self" { before.last().cloned().unwrap_or_default() } else { alias.to_owned() };
            if is_export {
                self.reexports.insert(alias.clone());
            }
            self.imports.insert(alias, before.clone());
        }
        before.truncate(length);
    }

    /// Whether a name that it imports is more than handed on.
    fn is_used(&self, name: &str) -> bool {
        !self.reexports.contains(name) || words(&self.body).any(|word| word == name)
    }
}

/// The name of the module that a file is.
fn module_of(path: &str) -> String {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(path, "lib" | "main") { "crate".to_owned() } else { format!("crate::{}", path.replace('/', "::")) }
}

fn visibility(code: &str) -> (&str, &str) {
    let Some(rest) = code.strip_prefix("pub") else { return ("", code) };
    let end = if rest.starts_with('(') { rest.find(')').map_or(0, |at| at + 1) } else { 0 };
    (&code[..3 + end], rest[end..].trim_start())
}

/// The name that a line at the beginning of an item defines.
fn defined(line: &str) -> Option<String> {
    let (_, rest) = visibility(line);
    let mut words = rest.split([' ', '<', '(', ':', ';', '{', '=', '!']);
    let kind =
        words.by_ref().find(|word| !matches!(*word, "const" | "async" | "unsafe") || rest.starts_with("const "))?;
    let is_item = matches!(kind, "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "macro_rules");
    let name = words.find(|word| !matches!(*word, "" | "fn" | "mut"))?;
    is_item.then(|| name.to_owned())
}

/// The parts of a list, whose own lists may have commas too.
fn split_at_commas(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c| !is_name(c)).filter(|word| !word.is_empty())
}

/// The paths that stand in code: names with `::` between them.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let paths = code.split(|c| !is_name(c) && c != ':').filter(|path| path.contains("::"));
    paths.map(|path| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()).collect()
}

fn circles_are_found_through_every_kind_of_path() {
    for (what, a, b) in [
        ("use", "use crate::b::B; pub struct A;", "use crate::a::A; pub struct B;"),
        ("a list", "use crate::{b::{B, C}}; pub struct A;", "use crate::a::{self}; pub struct B(a::A); pub struct C;"),
        ("super", "pub struct A(super::b::B);", "pub struct B(super::a::A);"),
        ("the root", "pub struct A(crate::B);", "pub struct B(crate::A);"),
        ("every name", "use crate::b::*; pub struct A;", "use crate::a::*; pub struct B;"),
        ("an alias", "use crate::b as other; pub struct A(other::B);", "use crate::a::A as Other; pub struct B;"),
        ("an export that is used", "pub use crate::b::B; pub struct A(B);", "pub struct B(crate::a::A);"),
    ] {
        let source = |path: &str, text: &str| (path.to_owned(), text.replace("; ", ";\n"));
        let root = source("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
        let found = circles(&[root, source("a.rs", a), source("b.rs", b)]);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a.rs", "b.rs"], "{what}");
    }
}

fn to_hand_a_name_on_is_no_circle() {
    let source = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let parent = source("a/mod.rs", "mod b;\npub use b::B;\npub struct A;");
    assert!(circles(&[source("lib.rs", "mod a;"), parent, source("a/b.rs", "pub struct B(super::A);")]).is_empty());
}
