//! What was measured, and on which machine.

use std::fs;
use std::path::Path;

/// Lines to put over the tables.
pub(crate) fn say() {
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap_or_default();
    let of = |name: &str| {
        let packages = lock.split("[[package]]").filter(|package| package.contains(&format!("name = \"{name}\"\n")));
        let version = packages.filter_map(|package| package.split("version = \"").nth(1)?.split('"').next());
        version.collect::<Vec<_>>()
    };
    let classic = of("tokenizers").into_iter().find(|version| version.starts_with("0.")).unwrap_or_default().to_owned();
    let rc = of("tokenizers").into_iter().find(|version| !version.starts_with("0.")).unwrap_or_default().to_owned();
    println!("- metatok {}", env!("CARGO_PKG_VERSION"));
    println!("- rc: tokenizers {rc}, `encode_into` of joined strings; classic: tokenizers {classic}, `encode_fast`");
    println!("- fastokens {}, `encode` of joined strings, also with its segment cache", of("fastokens").join(", "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("- {}, {cores} cores", processor().unwrap_or_else(|| std::env::consts::ARCH.into()));
}

fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let name = info.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(name.trim_start_matches([' ', '\t', ':']).to_owned())
}
