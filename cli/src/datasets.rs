//! `metatok datasets`: the built-in dataset files.

use std::path::Path;
use std::process::ExitCode;

use crate::args::DatasetsArgs;
use crate::models::refuse_path;
use crate::output;
use metatok::dataset::Dataset;
use metatok::error::Result;

pub(crate) fn run(args: &DatasetsArgs) -> Result<ExitCode> {
    let mut out = Vec::new();
    match &args.name {
        Some(name) => match Dataset::builtin_file(name) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => {
                refuse_path(name, "`metatok datasets` lists the built-in ones")?;
                // The error that lists the names.
                out.extend_from_slice(&Dataset::read_file(Path::new(name))?);
            }
        },
        None if args.json => {
            let entries: Vec<_> =
                Dataset::builtin().map(|(name, about)| serde_json::json!({"name": name, "about": about})).collect();
            output::push_json(&entries, &mut out);
        }
        None => {
            let width = Dataset::builtin().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, about) in Dataset::builtin() {
                out.extend_from_slice(format!("{name:width$}  {about}\n").as_bytes());
            }
        }
    }
    output::to_stdout(out)
}
