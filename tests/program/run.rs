//! `metatok run`: answers that are right, in the order of the input, and the same however often a run is cut off.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rand_mt::Mt64;

use crate::harness::{Tests, tests};
use crate::program::{metatok, output, stderr};

pub(crate) fn tests() -> Tests {
    #[cfg(feature = "candle")]
    let with_or_without = with_an_engine::tests();
    #[cfg(not(feature = "candle"))]
    let with_or_without = tests![without_an_engine_nothing_runs];
    with_or_without.into_iter().chain(tests![a_killed_build_is_built_again]).collect()
}

fn read(folder: &Path, name: &str) -> Option<Vec<u8>> {
    std::fs::read(folder.join(name)).ok()
}

/// Runs a command that writes `out` to its end once, and then kills it at fifty moments of that time. Each time
/// `again` runs until it is complete; the file must then have the bytes of the undisturbed run. Gives how often the
/// command was in the midst of its work.
fn killed_fifty_times(folder: &Path, args: &[&str], again: &[&str]) -> usize {
    let started = Instant::now();
    assert!(output(folder, args).status.success());
    let whole = started.elapsed();
    let expected = read(folder, "out").expect("it is written");
    let mut random = Mt64::new(7);
    let mut interrupted = 0;
    for _ in 0..50 {
        std::fs::remove_file(folder.join("out")).expect("it was there");
        let mut child = metatok(folder, args).stderr(Stdio::null()).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_nanos(random.next_u64() % whole.as_nanos() as u64));
        child.kill().expect("it can be killed");
        let was_done = child.wait().expect("it ends").success();
        interrupted += usize::from(!was_done);
        match read(folder, "out") {
            Some(out) => assert!(out == expected, "what is there is whole"),
            None => assert!(!was_done),
        }
        let ran = output(folder, again);
        assert!(ran.status.success(), "{}", stderr(&ran));
        assert!(read(folder, "out").expect("it is written") == expected, "the same bytes");
    }
    interrupted
}

fn a_killed_build_is_built_again() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let line = r#"{"messages": [{"role": "user", "content": "What is the capital of France?"}]}"#;
    std::fs::write(folder.path().join("in.jsonl"), format!("{line}\n").repeat(5_000)).expect("written");
    let build = ["build", "-m", "demo", "-q", "-o", "out", "in.jsonl"];
    let interrupted = killed_fifty_times(folder.path(), &build, &build);
    assert!(interrupted > 0, "no run was in the midst of its work");
}

#[cfg(not(feature = "candle"))]
fn without_an_engine_nothing_runs() {
    let ran = output(Path::new("."), &["run"]);
    assert_eq!(ran.status.code(), Some(2));
    let message = "metatok: this build of metatok does not include an engine; build it with --features candle\n";
    assert_eq!(stderr(&ran), message);
}

#[cfg(feature = "candle")]
mod with_an_engine {
    use std::io::Write;

    use crate::program::{json_lines, line_by_line};
    use crate::root::root;
    use metatok::engine::{Engine, Request};
    use metatok::{PromptBuilder, TokenId};
    use serde_json::Value;

    use super::*;

    pub(super) fn tests() -> Tests {
        tests![
            the_demo_answers_its_questions_and_stops,
            a_judge_answers_for_the_rows_that_have_an_answer,
            a_killed_run_is_resumed,
            a_killed_run_of_dialogues_is_resumed,
            an_interrupted_dialogue_keeps_its_answers,
            what_stops_a_run_is_not_done,
            a_run_that_is_stopped_waits_for_no_input,
            a_bad_line_is_told_though_nobody_reads_the_answers,
            a_slow_pipe_gives_each_answer_before_the_next_line,
            no_finished_answer_is_lost,
            what_cannot_be_resumed,
            wrong_arguments,
            the_models_own_sampling_is_used_on_request,
            dialogues_go_on_from_their_own_answers
        ]
    }

    /// The demo's questions, over and over.
    fn write_questions(folder: &Path, times: usize) {
        let demo = root().join("models/demo/conversations.jsonl");
        let questions = std::fs::read_to_string(demo).expect("they are there");
        std::fs::write(folder.join("in.jsonl"), questions.repeat(times)).expect("written");
    }

    fn the_demo_answers_its_questions_and_stops() {
        let demo = root().join("models/demo/conversations.jsonl");
        let questions = json_lines(std::fs::read(demo).expect("they are there"));
        let ran = output(Path::new("."), &["run"]);
        let answers = json_lines(&ran.stdout);
        assert_eq!(answers.len(), questions.len());
        for (answer, question) in answers.iter().zip(&questions) {
            assert_eq!(answer["id"], question["id"]);
            if let Some(messages) = question["messages"].as_array() {
                assert_eq!(Some(&answer["text"]), messages.last().map(|last| &last["content"]), "{question}");
            }
            let stop = &answer["stop"]["token_id"];
            assert!(stop == 1052 || stop == 1050, "{answer}");
            assert_eq!(answer["tail"], serde_json::json!([stop]));
            assert!(!answer["token_ids"].as_array().expect("a list").contains(stop), "{answer}");
            assert!(!answer["text"].as_str().expect("a string").contains("<|"), "{answer}");
        }
    }

    fn a_judge_answers_for_the_rows_that_have_an_answer() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        write(
            "d.toml",
            "[infer_cfg]\n[eval_cfg.evaluator]\ntype = \"GenericLLMEvaluator\"\njudge_cfg = { max_out_len = 3 }\nprompt_template = { template = { round = [{ role = \"HUMAN\", prompt = \"Is {prediction} red?\" }] } }\n",
        );
        write("rows.jsonl", "{\"q\": \"a\"}\n{\"q\": \"b\"}\n{\"q\": \"c\"}\n");
        write("answers.jsonl", "{\"id\": 2, \"text\": \"Mars\"}\n{\"id\": 0, \"text\": \"Saturn\"}\n");
        let args =
            ["run", "-m", "demo", "-d", "d.toml", "--judge", "answers.jsonl", "--keep", "prediction", "rows.jsonl"];
        let ran = output(folder.path(), &args);
        assert!(ran.status.success(), "{}", stderr(&ran));
        let asked: Vec<_> =
            json_lines(&ran.stdout).iter().map(|line| (line["id"].clone(), line["columns"].clone())).collect();
        let column = |said: &str| serde_json::json!({ "prediction": said });
        assert_eq!(asked, [(0.into(), column("Saturn")), (2.into(), column("Mars"))]);
        assert!(
            json_lines(&ran.stdout).iter().all(|line| line["token_ids"].as_array().is_some_and(|ids| ids.len() <= 3))
        );
        assert!(stderr(&ran).contains("answers.jsonl: there is no answer to 1 of 3 rows"), "{}", stderr(&ran));
    }

    fn a_killed_run_is_resumed() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        write_questions(folder.path(), 3);
        let run = ["run", "-m", "demo", "-q", "-o", "out", "--batch-size", "10", "in.jsonl"];
        let again = [&run[..], &["--resume"]].concat();
        let interrupted = killed_fifty_times(folder.path(), &run, &again);
        assert!(interrupted > 0, "no run was in the midst of its work");
        assert!(read(folder.path(), "out.partial").is_none(), "nothing is left beside it");
    }

    /// Dialogues of one to four turns, whose answers go on from those before.
    fn write_dialogues(folder: &Path, rows: usize) {
        std::fs::write(folder.join("mt.toml"), FROM_OWN_ANSWERS).expect("written");
        let questions = ["1+1=?", "What is the opposite of hot?", "Which letter comes after A?", "And of early?"];
        let row = |i: usize| {
            let asked: Vec<_> = questions.iter().cycle().skip(i).take(1 + i * 3 % 4).collect();
            let answers = vec![""; asked.len()];
            format!("{}\n", serde_json::json!({ "question": asked, "answer": answers }))
        };
        std::fs::write(folder.join("rows.jsonl"), (0..rows).map(row).collect::<String>()).expect("written");
    }

    /// A dataset whose dialogues go on from the model's own answers.
    const FROM_OWN_ANSWERS: &str = r#"
            [reader_cfg]
            input_columns = ["question"]
            [infer_cfg.prompt_template]
            type = "MultiTurnPromptTemplate"
            template = { round = [{ role = "HUMAN", prompt = "{question}" }, { role = "BOT", prompt = "{answer}" }] }
            [infer_cfg.inferencer]
            type = "MultiTurnGenInferencer"
            infer_mode = "every"
        "#;

    const DIALOGUES: [&str; 16] = [
        "run",
        "-m",
        "demo",
        "-q",
        "-d",
        "mt.toml",
        "-o",
        "out",
        "--batch-size",
        "3",
        "--temperature",
        "0.9",
        "--max-out-len",
        "12",
        "--on-error",
        "reject",
    ];

    fn a_killed_run_of_dialogues_is_resumed() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        write_dialogues(folder.path(), 30);
        let run = [&DIALOGUES[..], &["rows.jsonl"]].concat();
        let interrupted = killed_fifty_times(folder.path(), &run, &[&run[..], &["--resume"]].concat());
        assert!(interrupted > 0, "no run was in the midst of its work");
    }

    /// Wherever the journal ends, also in the midst of a dialogue: no answer in it is written again, and the others are those
    /// of an undisturbed run.
    fn an_interrupted_dialogue_keeps_its_answers() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = folder.path();
        write_dialogues(at, 9);
        let mut rows = read(at, "rows.jsonl").expect("it is there");
        rows.extend_from_slice(b"no row\n");
        std::fs::write(at.join("rows.jsonl"), rows).expect("written");
        let run = [&DIALOGUES[..14], &["rows.jsonl"]].concat();
        assert_eq!(output(at, &run).status.code(), Some(1));
        let journal = read(at, "out.partial").expect("it is there");
        let again = [&DIALOGUES[..], &["--resume", "rows.jsonl"]].concat();
        let mut expected: Option<Vec<u8>> = None;
        let ends = (0..journal.len()).filter(|i| journal[*i] == b'\n').map(|i| i + 1);
        for end in ends.collect::<Vec<_>>().into_iter().rev() {
            std::fs::write(at.join("out.partial"), &journal[..end]).expect("written");
            assert_eq!(output(at, &again).status.code(), Some(1), "the last row is none");
            let out = read(at, "out").expect("it is written");
            assert_eq!(expected.get_or_insert_with(|| out.clone()), &out, "cut at byte {end}");
            std::fs::remove_file(at.join("out")).expect("it was there");
        }
    }

    /// The second turn of the first line is too long, which is found while later lines are being answered.
    fn what_stops_a_run_is_not_done() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = folder.path();
        write_dialogues(at, 6);
        let rows = String::from_utf8(read(at, "rows.jsonl").expect("it is there")).expect("it is UTF-8");
        let first = serde_json::json!({ "question": ["1+1=?", "why ".repeat(300)], "answer": ["", ""] });
        std::fs::write(at.join("rows.jsonl"), format!("{first}\n{rows}")).expect("written");
        let run =
            ["run", "-m", "demo", "-q", "-d", "mt.toml", "-o", "out", "--batch-size", "4", "--max-seq-len", "200"];
        let run = [&run[..], &["--max-out-len", "12", "rows.jsonl"]].concat();
        assert_eq!(output(at, &run).status.code(), Some(1));
        let resumed = output(at, &[&run[..], &["--resume", "--on-error", "reject"]].concat());
        assert_eq!(resumed.status.code(), Some(1), "{}", stderr(&resumed));
        let out = json_lines(read(at, "out").expect("it is written"));
        let ids: Vec<_> = out.iter().map(|line| line["id"].as_u64().expect("a number")).collect();
        assert_eq!(ids, [0, 0, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 6, 6, 6]);
        assert!(out[1]["error"].as_str().is_some_and(|error| error.contains("tokens")), "{}", out[1]);
        assert_eq!(out[1]["turn"], 1);
    }

    fn a_run_that_is_stopped_waits_for_no_input() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        write_dialogues(folder.path(), 0);
        let run = ["run", "-m", "demo", "-q", "-d", "mt.toml", "--max-seq-len", "60", "--max-out-len", "12", "-"];
        let mut run = metatok(folder.path(), &run).stdin(Stdio::piped()).spawn().expect("it runs");
        let mut stays_open = run.stdin.take().expect("it is piped");
        let row = serde_json::json!({ "question": ["1+1=?", "why ".repeat(300)], "answer": ["", ""] });
        writeln!(stays_open, "{row}").expect("it is read");
        assert_eq!(run.wait().expect("it ends").code(), Some(1));
    }

    /// The second line is found to be bad while the first is being answered.
    fn a_bad_line_is_told_though_nobody_reads_the_answers() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        write_questions(folder.path(), 1);
        let questions = read(folder.path(), "in.jsonl").expect("it is there");
        let first = questions.split_inclusive(|byte| *byte == b'\n').next().expect("it has lines");
        std::fs::write(folder.path().join("in.jsonl"), [first, b"no conversation"].concat()).expect("written");
        let run = ["run", "-m", "demo", "-q", "--batch-size", "2", "in.jsonl"];
        let run = metatok(folder.path(), &run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut run = run.expect("it runs");
        drop(run.stdout.take());
        let ran = run.wait_with_output().expect("it ends");
        assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
        assert!(stderr(&ran).contains("in.jsonl: line 2"), "{}", stderr(&ran));
    }

    fn a_slow_pipe_gives_each_answer_before_the_next_line() {
        let questions =
            std::fs::read_to_string(root().join("models/demo/conversations.jsonl")).expect("they are there");
        let three: String = questions.split_inclusive('\n').take(3).collect();
        assert_eq!(line_by_line(&["run", "-m", "demo", "-q", "-"], &three).len(), 3);
    }

    fn no_finished_answer_is_lost() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        write_questions(folder.path(), 1);
        let run = ["run", "-m", "demo", "-q", "-o", "out", "--batch-size", "10", "--temperature", "0.8", "in.jsonl"];
        let again = [&run[..], &["--resume"]].concat();
        assert!(output(folder.path(), &run).status.success());
        let expected = read(folder.path(), "out").expect("it is written");
        let journal = |folder: &Path| String::from_utf8(read(folder, "out.partial").expect("it is there"));
        // A journal as any kill could leave it, made of one that a bad line has stopped after all others.
        let mut bad = read(folder.path(), "in.jsonl").expect("it is there");
        bad.extend_from_slice(b"\n");
        std::fs::remove_file(folder.path().join("out")).expect("it was there");
        std::fs::write(folder.path().join("in.jsonl"), [&bad[..], b"no conversation"].concat()).expect("written");
        assert_eq!(output(folder.path(), &run).status.code(), Some(1));
        let whole = journal(folder.path()).expect("it is UTF-8");
        let header = whole.lines().next().expect("it has a first line").to_owned();
        for cut in (header.len()..=whole.len()).step_by(whole.len() / 40) {
            std::fs::write(folder.path().join("out.partial"), &whole.as_bytes()[..cut]).expect("written");
            let resumed = output(folder.path(), &[&again[..], &["--on-error", "reject"]].concat());
            assert_eq!(resumed.status.code(), Some(1), "{}", stderr(&resumed));
            let out = read(folder.path(), "out").expect("it is written");
            assert!(out.starts_with(&expected), "cut at byte {cut}");
            assert_eq!(json_lines(&out).len(), json_lines(&expected).len() + 1, "the error is the last");
            std::fs::remove_file(folder.path().join("out")).expect("it was there");
        }
    }

    fn what_cannot_be_resumed() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = folder.path();
        std::fs::write(at.join("in.jsonl"), "\"Once upon a time\"\nno conversation\n").expect("written");
        let run = |args: &[&str]| {
            let ran = output(at, &[&["run", "-m", "demo"], args].concat());
            (ran.status.code(), stderr(&ran).lines().last().unwrap_or_default().to_owned())
        };
        let file = &["-o", "out", "--batch-size", "1", "in.jsonl"][..];
        let with = |more: &[&'static str]| [file, more].concat();
        let stopped = "metatok: stopped at the first bad row (1 answer kept in out.partial); use --on-error reject to skip bad rows, and --resume to continue from here";
        std::fs::write(at.join("out.partial"), "my own").expect("written");
        let foreign = "metatok: out.partial: the file exists, but is not the journal of a run; move it away";
        assert_eq!(run(file), (Some(2), foreign.into()));
        std::fs::remove_file(at.join("out.partial")).expect("it was there");
        // Where there is no answer yet there is nothing to lose.
        assert_eq!(run(&with(&["--weights", "nowhere"])).0, Some(2));
        assert_eq!(run(file), (Some(1), stopped.into()));
        let cut_off = "metatok: out.partial: it has 1 answer of an interrupted run; continue it with --resume, or remove it to start over";
        assert_eq!(run(file), (Some(2), cut_off.into()));
        let otherwise = "metatok: out.partial: its answers were made with other settings: seed differs: file has 0, current is 1; remove it to start over";
        assert_eq!(run(&with(&["--resume", "--seed", "1"])), (Some(2), otherwise.into()));
        assert_eq!(
            run(&["--resume", "-o", "out", "-"]).1,
            "metatok: --resume: the input is read again, but standard input can be read only once; use a file"
        );
        assert_eq!(
            run(&["--resume", "-o", "/dev/null", "in.jsonl"]).1,
            "metatok: --resume needs answers in a file; choose it with --output"
        );
        std::fs::write(at.join("in.jsonl"), "\"Once upon a day\"\n").expect("written");
        let (code, message) = run(&with(&["--resume"]));
        assert_eq!(code, Some(2));
        assert!(
            message.starts_with(
                "metatok: out.partial: its answers were made with other settings: input differs: file has ["
            ),
            "{message}"
        );
        std::fs::remove_file(at.join("out.partial")).expect("it was there");
        assert_eq!(run(&with(&["-q"])).0, Some(0));
        assert_eq!(
            run(&with(&["--resume"])),
            (Some(0), "metatok: nothing to resume: the answers are complete; they are not compared with the input, and without --resume all are made again".into())
        );
    }

    fn wrong_arguments() {
        let cases: [(&[&str], &str); 9] = [
            (
                &["--mode", "ppl"],
                "`run` writes answers, but these are texts to score; remove --mode ppl, or use `build`",
            ),
            (
                &["--dataset", "boolq", "-"],
                "`run` writes answers, but the dataset's inferencer makes texts to score; use `build`",
            ),
            (&["--temperature", "-1"], "temperature is -1, but must be a finite number, 0 or more"),
            (&["--top-p", "1.5"], "top_p is 1.5, but must be above 0 and at most 1"),
            (&["--device", "tpu"], "--device \"tpu\" must be cpu, cuda, or cuda:N"),
            (
                &["--weights", "nowhere"],
                "nowhere: there is no directory or file \"nowhere\", and a repository of the hub would have the form org/name",
            ),
            (
                &["--max-seq-len", "8", "--max-out-len", "2"],
                "demo: line 1: the prompt has 18 tokens, but only 6 fit (context 8, minus 2 for the answer); shorten it, or choose with --truncate what to drop",
            ),
            (
                &["--max-seq-len", "520"],
                "demo: line 1: the prompt has 18 tokens, but only 8 fit (context 520, minus 512 for the answer); shorten it, or choose with --truncate what to drop",
            ),
            (
                &["/dev/null"],
                "/dev/null: no conversations found; a line looks like {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}]}",
            ),
        ];
        for (args, expected) in cases {
            let ran = output(Path::new("."), &[&["run", "-m", "demo"], args].concat());
            let stderr = stderr(&ran);
            assert_eq!(stderr.lines().next(), Some(&*format!("metatok: {expected}")), "{args:?}");
            assert!(ran.stdout.is_empty());
        }
    }

    fn the_models_own_sampling_is_used_on_request() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        write_questions(folder.path(), 1);
        for file in ["config.json", "model.safetensors"] {
            std::fs::copy(root().join("models/demo").join(file), folder.path().join(file)).expect("copied");
        }
        let run = |config: &str, args: &[&str]| {
            std::fs::write(folder.path().join("generation_config.json"), config).expect("written");
            output(folder.path(), &[&["run", "-m", "demo", "-q", "--weights", ".", "in.jsonl"], args].concat())
        };
        let answers = |config: &str, args: &[&str]| {
            let ran = run(config, args);
            assert!(ran.status.success(), "{}", stderr(&ran));
            ran.stdout
        };
        let sampled = r#"{"do_sample": true, "temperature": 3.0, "top_k": 5}"#;
        let greedy = answers(sampled, &[]);
        let expected = answers(sampled, &["--temperature", "3", "--top-k", "5"]);
        assert_ne!(greedy, expected);
        assert!(answers(sampled, &["--generation-config"]) == expected, "as if the options said so");
        assert!(answers(sampled, &["--generation-config", "--temperature", "0"]) == greedy, "options come first");
        assert!(answers(r#"{"temperature": 3.0}"#, &["--generation-config"]) == greedy, "do_sample is not there");
        assert_ne!(answers(r#"{"repetition_penalty": 5.0}"#, &["--generation-config"]), greedy);
        let refused = run(r#"{"do_sample": true, "min_p": 0.1}"#, &["--generation-config"]);
        assert_eq!(refused.status.code(), Some(2));
        assert_eq!(
            stderr(&refused),
            "metatok: ./generation_config.json: min_p is 0.1, which this engine does not apply; state temperature, top_p and top_k yourself\n"
        );
    }

    /// Turn by turn, with the model's own answers before: what `build --answers` makes of the answers are the prompts
    /// that were answered.
    fn dialogues_go_on_from_their_own_answers() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("mt.toml"), FROM_OWN_ANSWERS).expect("written");
        let rows = r#"{"question": ["1+1=?", "2+2=?"], "answer": ["", ""]}
{"question": ["What is the opposite of hot?", "And of early?", "What is half of ten?"], "answer": ["", "", ""]}
{"question": ["Which letter comes after A?"], "answer": [""]}
"#;
        std::fs::write(folder.path().join("rows.jsonl"), rows).expect("written");
        let run = output(
            folder.path(),
            &[
                "run",
                "-m",
                "demo",
                "-q",
                "--max-out-len",
                "9",
                "--dataset",
                "mt.toml",
                "-o",
                "answers.jsonl",
                "rows.jsonl",
            ],
        );
        assert!(run.status.success(), "{}", stderr(&run));
        let answers = json_lines(read(folder.path(), "answers.jsonl").expect("it is written"));
        let places: Vec<_> = answers.iter().map(|answer| (answer["id"].as_u64(), answer["turn"].as_u64())).collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0)].map(|(row, turn)| (Some(row), Some(turn))));
        assert_eq!([&answers[0]["text"], &answers[1]["text"], &answers[3]["text"]], ["2", "4", "Late."]);

        let built = output(
            folder.path(),
            &["build", "-m", "demo", "-q", "--dataset", "mt.toml", "--answers", "answers.jsonl", "rows.jsonl"],
        );
        let prompts = json_lines(&built.stdout);
        assert_eq!(prompts.len(), answers.len());
        let (builder, engine) =
            (PromptBuilder::demo().expect("the demo"), metatok::engine::CandleEngine::demo().expect("its weights"));
        let trimmer = builder.trimmer().expect("a trimmer");
        for (prompt, answer) in prompts.iter().zip(&answers) {
            let ids = |value: &Value| -> Vec<TokenId> { serde_json::from_value(value.clone()).expect("ids") };
            let input_ids = ids(&prompt["input_ids"]);
            let request = Request::new(&input_ids, 9);
            let completions = engine.complete(&[request], &trimmer, &mut |_, _| Ok(())).expect("an answer");
            assert_eq!(completions[0].token_ids, ids(&answer["token_ids"]), "{prompt}");
        }
    }
}
