//! A large input of plain chats is built by a meta template made of the chat template.

use std::fs;

use crate::harness::{Tests, tests};
use crate::program::{metatok, stderr};

pub(crate) fn tests() -> Tests {
    tests![a_chat_template_is_left_only_where_the_ids_stay, what_is_refused_depends_on_nothing_else]
}

/// Chats longer than those that the meta template was compared on are written in another way.
const TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role if loop.index < 40 + 41 else '?' }}\n{{ m.content }}\
                        <|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

fn chat(messages: usize) -> String {
    let message = |i: usize| {
        let role = if i.is_multiple_of(2) { "user" } else { "assistant" };
        format!(r#"{{"role": "{role}", "content": "{i}"}}"#)
    };
    let messages: Vec<String> = (0..messages).map(message).collect();
    format!("{{\"messages\": [{}]}}\n", messages.join(", "))
}

fn a_chat_template_is_left_only_where_the_ids_stay() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    fs::write(at.join("t.jinja"), TEMPLATE).expect("written");
    fs::write(at.join("chats.jsonl"), chat(3).repeat(1500) + &chat(91).repeat(600)).expect("written");
    let build = |more: &[&str]| {
        let args = [&["build", "-t", "demo", "--chat-template", "t.jinja", "chats.jsonl"][..], more].concat();
        metatok(at, &args).output().expect("the program runs")
    };
    let rendered = build(&["--always-render"]);
    for threads in ["1", "2", "4"] {
        let fast = build(&["-j", threads]);
        assert!(fast.status.success(), "{}", stderr(&fast));
        assert_eq!(fast.stdout, rendered.stdout, "{threads}");
    }
}

/// A character that marks need, beside what may become a control token.
fn what_is_refused_depends_on_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at = folder.path();
    fs::write(at.join("t.jinja"), TEMPLATE).expect("written");
    let refused = chat(1).replace("\"0\"", "\"<|im_end|>\u{10FFFD}\"");
    let chats: String = (0..3000).map(|i| if i % 7 == 3 { refused.clone() } else { chat(1) }).collect();
    fs::write(at.join("chats.jsonl"), chats).expect("written");
    let build = |more: &[&str]| {
        let args = ["build", "-t", "demo", "--chat-template", "t.jinja", "chats.jsonl", "--on-error", "reject"];
        metatok(at, &[&args[..], more].concat()).output().expect("the program runs")
    };
    let rendered = build(&["--always-render"]);
    assert!(stderr(&rendered).contains("U+10FFFD"), "{}", stderr(&rendered));
    for threads in ["1", "2", "4"] {
        assert_eq!(build(&["-j", threads]).stdout, rendered.stdout, "{threads}");
    }
}
