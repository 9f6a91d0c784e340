//! Rows from Parquet files, as pyarrow writes them.

use std::path::Path;
use std::process::{Command, Output};

use crate::harness::{Tests, tests};
use crate::program::{METATOK, stderr, stdout};
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        every_kind_of_column_in_its_order,
        times_and_decimals_as_python_writes_them,
        values_within_maps_as_those_outside,
        times_of_int96_have_their_nanoseconds,
        json_in_texts_is_read_at_any_depth,
        a_bad_value_is_the_error_of_its_row,
        a_file_that_is_none,
        a_file_at_which_the_library_panics
    ]
}

fn build(dataset: &str, rows: &Path) -> Output {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("d.toml");
    std::fs::write(&file, dataset).expect("it can be written");
    Command::new(METATOK)
        .args(["build", "-q", "--format", "messages", "-d"])
        .args([&file, rows])
        .output()
        .expect("the program runs")
}

fn every_kind_of_column_in_its_order() {
    let dataset = r#"infer_cfg = { prompt_template = { template = "{q}|{z}|{a}|{choices}|{d}|{is}" } }"#;
    let output = build(dataset, &root().join("tests/data/rows.parquet"));
    assert_eq!(
        stdout(&output),
        concat!(
            r#"{"id":0,"messages":[{"role":"user","content":"1+1?|2|0.5|['x', 'y']|{'k': 1, 'b': 'é'}|True"}]}"#,
            "\n",
            r#"{"id":1,"messages":[{"role":"user","content":"Is, it?|None|1.0|[]|{'k': 2, 'b': '\"'}|False"}]}"#,
            "\n",
        ),
        "{}",
        stderr(&output)
    );
}

fn times_and_decimals_as_python_writes_them() {
    let dataset = r#"infer_cfg = { prompt_template = { template = "{at}|{days}|{time}|{fine}|{ms}|{whole}|{part}|{key}|{inner}" } }"#;
    let output = build(dataset, &root().join("tests/data/times.parquet"));
    let stdout = stdout(&output);
    let found: Vec<&str> = stdout.lines().filter_map(|line| line.split("\"content\":\"").nth(1)).collect();
    let expected = [
        "2020-01-02 03:04:05|['2020-01-02 03:04:05']|01:02:03|01:02:03|01:02:03|42|1.50|5e51933a-6840-4069-acad-741b8d374e53|{'n': 1, 'at': '2020-01-02 03:04:05'}",
        "2020-01-02 03:04:05.123456789|['2020-01-02 03:04:05.123456789', None]|01:02:03.000001|00:00:00.000000001|01:02:03.001000|-7|-0.05|5e51933a-6840-4069-acad-741b8d374e53|{'n': 2, 'at': None}",
        "None|[]|00:00:00|None|None|0|100.00|5e51933a-6840-4069-acad-741b8d374e53|None",
    ];
    assert_eq!(found, expected.map(|content| format!("{content}\"}}]}}")), "{}", stderr(&output));
}

fn values_within_maps_as_those_outside() {
    let dataset =
        r#"infer_cfg = { prompt_template = { template = "{at}|{fine}|{bytes}|{by_number}|{by_time}|{inner}" } }"#;
    let output = build(dataset, &root().join("tests/data/maps.parquet"));
    let stdout = stdout(&output);
    let found: Vec<&str> = stdout.lines().filter_map(|line| line.split("\"content\":\"").nth(1)).collect();
    let expected = [
        "{'k': '2020-01-02 03:04:05'}|{'k': '2020-01-02 03:04:05.123456789'}|{'k': 'hello', 'l': None}|{'1': 'one', '2': 'two'}|{'2020-01-02 03:04:05': True}|{'k': {'l': ['2020-01-02 03:04:05']}}",
        "{}|None|{'m': '/w=='}|{}|{}|{'k': None}",
    ];
    assert_eq!(found, expected.map(|content| format!("{content}\"}}]}}")), "{}", stderr(&output));
}

fn times_of_int96_have_their_nanoseconds() {
    let dataset = r#"infer_cfg = { prompt_template = { template = "{at}|{list}|{inner}|{fine}" } }"#;
    let output = build(dataset, &root().join("tests/data/int96.parquet"));
    let stdout = stdout(&output);
    let found: Vec<&str> = stdout.lines().filter_map(|line| line.split("\"content\":\"").nth(1)).collect();
    let expected = [
        "2020-01-01 01:02:03.123456|['2020-01-01 01:02:03.123456', None, '2020-01-01 00:00:00']|{'at': '1969-12-31 23:59:59.999999'}|2020-01-01 01:02:03.123456789",
        "None|[]|None|None",
        "1601-01-01 00:00:00|None|{'at': None}|1970-01-01 00:00:00",
    ];
    assert_eq!(found, expected.map(|content| format!("{content}\"}}]}}")), "{}", stderr(&output));
}

/// Row 2 has text that is not UTF-8, row 3 a date too late, and row 4 a time too late.
/// As `datasets` writes columns of the type `Json()`.
fn json_in_texts_is_read_at_any_depth() {
    let lines = concat!(
        r#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "I look."}], "#,
        r#""tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Rome", "n": 7}}}]}], "#,
        r#""tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}, "#,
        r#"{"type": "function", "function": {"name": "sum", "parameters": {"type": "object", "properties": {"xs": {"type": "array", "items": {"type": "number"}}}}}}], "#,
        r#""chat_template_kwargs": {"think": false}}"#,
        "\n",
        r#"{"messages": [{"role": "user", "content": "Is {\"a\"} JSON?"}, {"role": "assistant", "content": "", "#,
        r#""tool_calls": [{"type": "function", "function": {"name": "sum", "arguments": {"xs": [1, 2.5]}}}]}, {"role": "user", "content": "And?"}]}"#,
        "\n",
    );
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("it can be written");
        file
    };
    let template = write(
        "t.jinja",
        "{{ tools | tojson if tools }}{{ 'no thoughts' if think is false }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}{% endfor %}",
    );
    let build = |rows: &Path| {
        let command = ["build", "-q", "--text", "--mode", "ppl", "-t", "demo", "--chat-template"].map(Path::new);
        let output = Command::new(METATOK).args(command).args([&*template, rows]).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let found = build(&root().join("tests/data/json.parquet"));
    assert_eq!(found, build(&write("rows.jsonl", lines)));
    assert!(found.contains("no thoughts"), "{found}");
}

fn a_bad_value_is_the_error_of_its_row() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("d.toml");
    std::fs::write(&file, r#"infer_cfg = { prompt_template = { template = "{n}" } }"#).expect("it can be written");
    let rejects = folder.path().join("rejects.jsonl");
    let output = Command::new(METATOK)
        .args(["build", "-q", "--format", "messages", "--on-error", "reject", "--rejects"])
        .args([&rejects, Path::new("-d"), &file, &root().join("tests/data/bad_values.parquet")])
        .output()
        .expect("the program runs");
    assert_eq!(stdout(&output), "{\"id\":0,\"messages\":[{\"role\":\"user\",\"content\":\"1\"}]}\n");
    let stderr = stderr(&output);
    let outside = "which is a date or time outside the years 1 to 9999, which are all that Python has; write null or a text instead";
    for expected in [
        "row 2: column \"s\" has text that is not UTF-8; write the file with this text decoded from its own encoding\n"
            .to_owned(),
        format!("row 3: column \"d\" has 2147483647, {outside}\n"),
        format!("row 4: column \"at\" has 253402300800000000, {outside}\n"),
    ] {
        assert!(stderr.contains(&expected), "{stderr}");
    }
    let rejects = std::fs::read_to_string(rejects).expect("it was written");
    assert!(rejects.contains(r#"\"d\":2147483647"#), "{rejects}");
}

fn a_file_that_is_none() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows = folder.path().join("rows.parquet");
    std::fs::write(&rows, "PAR1 and no more").expect("it can be written");
    let output = build(r#"infer_cfg = { prompt_template = { template = "{q}" } }"#, &rows);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("rows.parquet: Parquet error: "), "{stderr}");
}

fn a_file_at_which_the_library_panics() {
    let mut bytes = std::fs::read(root().join("tests/data/rows.parquet")).expect("it is there");
    // The place of a column, which becomes negative.
    bytes[1391] = 1;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows = folder.path().join("rows.parquet");
    std::fs::write(&rows, bytes).expect("it can be written");
    let output = build(r#"infer_cfg = { prompt_template = { template = "{q}" } }"#, &rows);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let expected = "rows.parquet: row 1: the library panicked: column start and length should not be negative\n";
    assert!(stderr.starts_with("metatok: ") && stderr.ends_with(expected), "{stderr}");
}
