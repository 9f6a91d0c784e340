//! Fingerprints of builds: the same for the same arguments and files, and another for whatever changes prompts.

use crate::harness::{Tests, tests};
use crate::program::{output, stderr};

pub(crate) fn tests() -> Tests {
    tests![what_rows_and_budgets_decide_is_in_it]
}

/// What a build is told beside its model: `build` with some arguments, and `check --against` with others.
fn what_rows_and_budgets_decide_is_in_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    let run = |args: &[&str]| {
        let ran = output(folder.path(), args);
        (ran.status.code(), stderr(&ran).lines().next().unwrap_or_default().to_owned())
    };
    write(
        "chats.jsonl",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"What is the capital of France, and of Italy?\"}]}\n",
    );
    let short = ["--max-seq-len", "18", "--truncate", "left"];
    let build = [&["build", "-m", "demo", "--fingerprint", "-q", "-o", "built", "chats.jsonl"], &short[..]].concat();
    assert_eq!(run(&build).0, Some(0));
    let check = ["check", "-m", "demo", "--against", "built"];
    assert_eq!(
        run(&[&check[..], &short].concat()),
        (Some(0), "metatok: 1 prompt, up to date by fingerprint; ids are not compared".into())
    );
    let (code, message) = run(&check);
    assert_eq!(
        (code, &*message),
        (
            Some(1),
            "metatok: built: line 1: max_seq_len differs: file has 18, current is the default; truncate differs: file has \"left\", current is the default"
        )
    );

    write(
        "set.toml",
        "reader_cfg = { input_columns = [\"q\"], output_column = \"a\" }\n[infer_cfg]\nretriever = { type = \"FixKRetriever\", fix_id_list = [0] }\ninferencer = { type = \"GenInferencer\" }\nice_template = { type = \"PromptTemplate\", template = \"{q}\" }\nprompt_template = { type = \"PromptTemplate\", template = \"</E>{q}\", ice_token = \"</E>\" }\n",
    );
    write("rows.jsonl", "{\"q\": \"2+2=?\", \"a\": \"4\"}\n");
    write("train.jsonl", "{\"q\": \"1+1=?\", \"a\": \"2\"}\n");
    let rows = ["--dataset", "set.toml", "--train", "train.jsonl"];
    assert_eq!(
        run(&[&["build", "-m", "demo", "--fingerprint", "-q", "-o", "built", "rows.jsonl"], &rows[..]].concat()),
        (Some(0), String::new())
    );
    assert_eq!(run(&[&check[..], &rows].concat()).0, Some(0));
    // The same rows, written in other ways.
    let spelled = [
        ("train.jsonl", "{ \"q\" : \"1+1=?\", \"a\" : \"\\u0032\" }\n"),
        ("train.json", "[\n  {\n    \"q\": \"1+1=?\",\n    \"a\": \"2\"\n  }\n]\n"),
        ("train.csv", "q,a\n1+1=?,2\n"),
    ];
    for (name, text) in spelled {
        write(name, text);
        assert_eq!(run(&[&check[..], &["--dataset", "set.toml", "--train", name]].concat()).0, Some(0), "{name}");
    }
    write("train.jsonl", "{\"q\": \"3+1=?\", \"a\": \"4\"}\n");
    let (code, message) = run(&[&check[..], &rows].concat());
    assert!(code == Some(1) && message.starts_with("metatok: built: line 1: train differs: file has"), "{message}");

    write(
        "judged.toml",
        "[infer_cfg]\n[eval_cfg.evaluator]\ntype = \"GenericLLMEvaluator\"\nprompt_template = { template = { round = [{ role = \"HUMAN\", prompt = \"{prediction}\" }] } }\n",
    );
    write("answers.jsonl", "{\"id\": 0, \"text\": \"4\"}\n");
    let judge = ["--dataset", "judged.toml", "--judge", "answers.jsonl"];
    let build = ["build", "-m", "demo", "--fingerprint", "-q", "-o", "built", "rows.jsonl"];
    assert_eq!(run(&[&build[..], &judge].concat()), (Some(0), String::new()));
    assert_eq!(run(&[&check[..], &judge].concat()).0, Some(0));
    let (code, message) = run(&[&check[..], &judge, &["--strip-thoughts"]].concat());
    assert!(
        code == Some(1) && message.contains("strip_thoughts differs: file has the default, current is true"),
        "{message}"
    );
    write("answers.jsonl", "{\"id\": 0, \"text\": \"four\"}\n");
    let (code, message) = run(&[&check[..], &judge].concat());
    assert!(code == Some(1) && message.starts_with("metatok: built: line 1: judge differs: file has "), "{message}");

    write(
        "chat.toml",
        "infer_cfg = { prompt_template = { type = \"QaTemplate\", template = { doc_to_text = \"{q}\" } } }\n",
    );
    let rows = ["--dataset", "chat.toml", "--layout", "chat"];
    let build = [&["build", "-m", "demo", "--fingerprint", "-q", "-o", "built", "rows.jsonl"], &rows[..]].concat();
    assert_eq!(run(&build), (Some(0), String::new()));
    assert_eq!(run(&[&check[..], &rows].concat()).0, Some(0));
    let (code, message) = run(&[&check[..], &["--dataset", "chat.toml", "--layout", "turns"]].concat());
    assert_eq!(
        (code, &*message),
        (Some(1), "metatok: built: line 1: layout differs: file has \"chat\", current is \"turns\"")
    );
}
