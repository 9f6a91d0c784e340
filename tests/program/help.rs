//! Help pages, completions, and the checks of `bench`: what people see who look at the program itself.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Tests, tests};
use crate::program::{self, METATOK};

pub(crate) fn tests() -> Tests {
    tests![
        short_help_fits_a_screen,
        rare_options_are_in_the_long_help_only,
        examples_of_help_pages_are_commands,
        completions_know_names,
        completions_of_bash_are_of_whole_words,
        bench_checks_before_it_measures
    ]
}

fn metatok(args: &[&str]) -> Command {
    program::metatok(Path::new("."), args)
}

/// A help page as it is printed where the terminal has this many columns.
fn help(args: &[&str], columns: &str) -> String {
    let output = metatok(args).env("COLUMNS", columns).output().expect("the program runs");
    assert!(output.status.success(), "{args:?}: {}", program::stderr(&output));
    String::from_utf8(output.stdout).expect("help is text")
}

/// The commands that there are, from the first page.
fn commands() -> Vec<String> {
    let page = help(&["-h"], "100");
    let (_, rest) = page.split_once("Commands:\n").expect("there are commands");
    let names = rest.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = names.map(|line| line.split_whitespace().next().expect("a command has a name").to_owned());
    names.filter(|name| name != "help").collect()
}

fn short_help_fits_a_screen() {
    assert_eq!(commands().len(), 18);
    for command in commands() {
        for (columns, most) in [("100", 50), ("80", 56)] {
            let page = help(&[&command, "-h"], columns);
            assert!(page.lines().count() <= most, "{command} at {columns}: {} lines\n{page}", page.lines().count());
            let widest = page.lines().map(|line| line.chars().count()).max();
            assert!(widest <= columns.parse().ok(), "{command} at {columns}\n{page}");
        }
    }
}

fn rare_options_are_in_the_long_help_only() {
    let (short, long) = (help(&["build", "-h"], "100"), help(&["build", "--help"], "100"));
    for option in
        ["--no-cache", "--compat", "--arrow-compat", "--round-fallback", "--max-line-bytes", "--served-model-name"]
    {
        assert!(!short.contains(option), "{option}");
        assert!(long.contains(option), "{option}");
    }
    let headings: Vec<&str> = short.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    let expected = ["Arguments:", "Output:", "Errors:", "Model:", "Dataset:", "Length:", "Prompt:", "General:"];
    let found: Vec<&str> = headings.into_iter().filter(|heading| expected.contains(heading)).collect();
    assert_eq!(found, expected);
}

fn examples_of_help_pages_are_commands() {
    let program = Path::new(METATOK).parent().expect("it is in a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let pages = commands().into_iter().map(|command| help(&[&command, "--help"], "200")).chain([help(&["-h"], "200")]);
    let examples: Vec<String> = pages
        .flat_map(|page| page.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.starts_with("  ") && line.contains("metatok ") && !line.starts_with("   "))
        // These run for long, and take nothing that could be wrong.
        .filter(|line| !matches!(line.split("  ").nth(1), Some("metatok bench" | "metatok run")))
        .collect();
    assert!(examples.len() > 40, "{examples:#?}");
    for example in examples {
        assert!(example.chars().count() <= 80, "{example}");
        let command = example.trim().split("   ").next().expect("it is a command");
        let output = Command::new("sh")
            .args(["-c", command])
            .env("PATH", &path)
            // Nothing is asked of the network.
            .env("HF_HUB_OFFLINE", "1")
            .env("HF_HOME", folder.path())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("there is a shell");
        let stderr = program::stderr(&output);
        assert!(!stderr.contains("Usage:") && !stderr.contains("unexpected argument"), "{command}: {stderr}");
    }
}

fn completions_know_names() {
    for (shell, expected) in [("bash", "metatok"), ("zsh", "#compdef metatok"), ("fish", "complete")] {
        let output = metatok(&["completions", shell]).output().expect("the program runs");
        assert!(output.status.success());
        assert!(program::stdout(&output).contains(expected), "{shell}");
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("qwen-mine.toml"), "").expect("the file can be written");
    for (typed, expected) in [
        (&["build", "--model", "qwen3"][..], &["qwen3", "qwen3-no-think"][..]),
        (&["build", "--model", "qwen-"], &["qwen-mine.toml"]),
        (&["view", "--conversation", "vicuna"], &["vicuna_v1.1"]),
        (&["check", "--deny", "no-p"], &["no-pad"]),
        (&["check", "--deny", "warn"], &["warnings"]),
        (&["check", "--allow", "double"], &["double-bos"]),
        (&["build", "--format", "vllm"], &["vllm", "vllm-generate"]),
        (&["enc"], &["encode"]),
    ] {
        let index = typed.len().to_string();
        let output = metatok(&[&["--", "metatok"], typed].concat())
            .env("METATOK_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", index)
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "false")
            .env("_CLAP_IFS", "\n")
            .current_dir(folder.path())
            .output()
            .expect("the program runs");
        let stdout = program::stdout(&output);
        for name in expected {
            assert!(stdout.lines().any(|line| line == *name), "{typed:?}: {stdout:?}");
        }
    }
}

/// Bash passes words that it splits at "=" and ":", and quotes and backslashes as they are typed.
fn completions_of_bash_are_of_whole_words() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for name in ["my file.jsonl", "train.jsonl", "a:b.jsonl", "a:c d", "template.jinja"] {
        std::fs::write(folder.path().join(name), "").expect("the file can be written");
    }
    std::fs::create_dir(folder.path().join("models")).expect("a folder can be made");
    const SCRIPT: &str = r#"
eval "$("$METATOK" completions bash)"
metatok() { "$METATOK" "$@"; }
compopt() { if [[ $2 == filenames ]]; then echo "as files:"; else echo "or else $2:"; fi; }
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3))
_metatok metatok "$2" ""
if ((${#COMPREPLY[@]})); then printf '%s\n' "${COMPREPLY[@]}"; else echo nothing; fi
"#;
    // The line, what bash replaces, and the words.
    let cases: [(&str, &str, &[&str], &str); 14] = [
        ("build --format sgl", "sgl", &["build", "--format", "sgl"], "sglang"),
        ("build --format=sgl", "sgl", &["build", "--format", "=", "sgl"], "sglang"),
        ("build --train=tr", "tr", &["build", "--train", "=", "tr"], "as files:\ntrain.jsonl"),
        ("build --chat-template te", "te", &["build", "--chat-template", "te"], "as files:\ntemplate.jinja"),
        (r"build my\ f", r"my\ f", &["build", r"my\ f"], "as files:\nmy file.jsonl"),
        ("build \"my f", "my f", &["build", "\"my f"], "as files:\nmy file.jsonl"),
        ("build --train='my f", "my f", &["build", "--train", "=", "'my f"], "as files:\nmy file.jsonl"),
        (r"build -omy\ f", r"-omy\ f", &["build", r"-omy\ f"], "as files:\n-omy file.jsonl"),
        ("build a:", "", &["build", "a", ":"], "as files:\nb.jsonl\nc d"),
        ("build a:c", "c", &["build", "a", ":", "c"], "as files:\nc d"),
        ("build mod", "mod", &["build", "mod"], "as files:\nmodels/"),
        // A command may have the name of a folder, and bash goes on where there is nothing.
        ("mod", "mod", &["mod"], "models"),
        ("build $NO", "$NO", &["build", "$NO"], "nothing"),
        ("build $NO/x", "$NO/x", &["build", "$NO/x"], "or else default:\nnothing"),
    ];
    for (line, typed, words, expected) in cases {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", SCRIPT, "bash", &format!("metatok {line}"), typed, "metatok"]).args(words);
        let Ok(output) = bash.env("METATOK", METATOK).current_dir(folder.path()).output() else { return };
        let stdout = program::stdout(&output);
        assert_eq!(stdout.trim_end(), expected, "{line}: {}", program::stderr(&output));
    }
    // Called by its path, it need not be on the PATH.
    const BY_PATH: &str = r#"
eval "$("$METATOK" completions bash)"
COMP_LINE="$METATOK enco" COMP_POINT=$((${#METATOK} + 5)) COMP_WORDS=("$METATOK" enco) COMP_CWORD=1 PATH=
_metatok "$METATOK" enco "$METATOK"
echo "${COMPREPLY[@]}"
"#;
    let mut bash = Command::new("bash");
    let Ok(output) = bash.args(["--norc", "-c", BY_PATH]).env("METATOK", METATOK).output() else { return };
    assert_eq!(program::stdout(&output), "encode\n", "{}", program::stderr(&output));
}

fn bench_checks_before_it_measures() {
    let output = metatok(&["bench", "--seconds", "0.01", "-j", "1"]).output().expect("the program runs");
    assert!(output.status.success());
    let stdout = program::stdout(&output);
    assert!(stdout.contains("ids equal to the joined string's: 35 of 36"), "{stdout}");
    for shown in ["ratio", "join, then encode", "on one core: reading", "found again by the cache:"] {
        assert!(stdout.contains(shown), "{stdout}");
    }
    let output = metatok(&["bench", "--seconds", "0.01", "--json"]).output().expect("the program runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&report["prompts"], &report["equal_ids"]), (&36.into(), &35.into()), "{report}");
    assert!(report["speeds"].as_array().is_some_and(|speeds| speeds.len() >= 3), "{report}");
    let output = metatok(&["bench", "--seconds", "0.01", "-j", "1000", "--json"]).output().expect("the program runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let measured =
        report["speeds"].as_array().and_then(|speeds| speeds.iter().map(|speed| speed["cores"].as_u64()).max());
    assert_eq!(measured, Some(Some(cores as u64)), "{report}");
}
