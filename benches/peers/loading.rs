//! How long loading takes, and how much memory, each time in a process of its own.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use metatok::Conversation;

use crate::chat_format;
use crate::setting::{Setting, name};
use crate::subjects::{CONTESTANTS, METATOK, Place};
use crate::table::Table;
use crate::workloads::Prompt;

/// The argument by which this program is such a process: it is followed by a contestant and a folder.
pub(crate) const ARGUMENT: &str = "--load";

/// Those who load something of their own.
const LOADERS: [usize; 4] = [METATOK, 2, 3, 4];
const TIMES: usize = 3;

/// Seconds and MiB.
struct Load {
    seconds: f64,
    memory: f64,
}

pub(crate) fn table(setting: &Setting) -> Result<(), String> {
    let columns = ["tokenizer", "metatok, first sight", "metatok, again", "rc", "classic", "fastokens"];
    let title = "Loading, up to the ids of a first prompt: seconds, and by how many MiB the peak of memory grows";
    let mut table = Table::new(title, &columns, 1);
    for folder in setting.folders.iter().filter(|folder| setting.wants(&name(folder), "")) {
        let mut cells = vec![name(folder)];
        for contestant in LOADERS {
            let loads = loads(contestant, folder, if setting.measures { TIMES } else { 1 });
            let kinds = if contestant == METATOK { 2 } else { 1 };
            cells.extend((0..kinds).map(|kind| median(loads.iter().filter_map(|pair| pair[kind].as_ref()).collect())));
        }
        table.row(&cells);
    }
    Ok(())
}

/// At first sight and again, this many times. What is kept between is in a folder that is new each time.
fn loads(contestant: usize, folder: &Path, times: usize) -> Vec<[Option<Load>; 2]> {
    let pair = |_| {
        let cache = tempfile::tempdir().expect("a folder can be made");
        [(); 2].map(|()| load_elsewhere(contestant, folder, cache.path()))
    };
    (0..times).map(pair).collect()
}

fn median(mut loads: Vec<&Load>) -> String {
    loads.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let middle = loads.get(loads.len() / 2);
    middle.map_or_else(|| "cannot".into(), |load| format!("{:.2} s, {:.0} MiB", load.seconds, load.memory))
}

fn load_elsewhere(contestant: usize, folder: &Path, cache: &Path) -> Option<Load> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command
        .arg(ARGUMENT)
        .arg(contestant.to_string())
        .arg(folder)
        .env_remove("METATOK_CACHE")
        .env("XDG_CACHE_HOME", cache);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (seconds, memory) = text.trim().split_once(' ')?;
    Some(Load { seconds: seconds.parse().ok()?, memory: memory.parse().ok()? })
}

/// Loads once, and says seconds and MiB.
pub(crate) fn load(arguments: &[String]) -> ExitCode {
    let [contestant, folder] = arguments else { return ExitCode::FAILURE };
    let Some(contestant) = contestant.parse().ok().and_then(|i: usize| CONTESTANTS.get(i)) else {
        return ExitCode::FAILURE;
    };
    let conversation: Conversation = [("user", "Hi!")].into_iter().collect();
    let prompts = [Prompt { conversation, text: "Hi!".into(), ids: Vec::new() }];
    let (model, before, started) = (chat_format::chatml(), peak_memory(), Instant::now());
    let folder = Path::new(folder);
    let place = Place { folder, completed: folder, model: &model };
    let ran = (contestant.open)(&place).and_then(|mut subject| subject.run(&prompts, &mut |_| ()));
    let seconds = started.elapsed().as_secs_f64();
    println!("{seconds} {}", peak_memory() - before);
    if ran.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The most memory that this process has had, in MiB; not a number where the system does not tell.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}
