//! What each key of a meta template does, as a law: with the key, a conversation gives the ids that a changed
//! conversation gives without it.

use std::sync::{Arc, LazyLock};

use metatok::template::{RoleTemplate, Trim};
use metatok::{
    AddSpecialTokens, BuilderOptions, ChatMessage, Conversation, MetaTemplate, Mode, Model, PromptBuilder, Tokenizer,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::harness::{Tests, tests};
use crate::laws;

pub(crate) fn tests() -> Tests {
    tests![
        to_trim_is_to_strip_the_contents,
        to_trim_a_turn_is_to_strip_what_is_merged,
        empty_messages_that_are_silent_might_as_well_be_missing,
        messages_of_silent_roles_might_as_well_be_missing,
        what_is_between_rounds_might_as_well_open_all_but_the_first,
        to_merge_at_the_last_is_to_move_the_message_before_it,
        earlier_answers_might_as_well_have_no_thoughts,
        the_last_answer_has_its_thoughts_between_the_tags,
        messages_one_by_one_follow_the_same_keys
    ]
}

static DEMO: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| Arc::new(Tokenizer::demo().expect("the demo loads")));

/// White space of several kinds, and text that looks like the template's own.
const PIECES: &[&str] = &[
    "",
    " ",
    "\n",
    "\n\n",
    "\t",
    "\u{1c}",
    "\u{1f}",
    "\u{85}",
    "\u{a0}",
    "\u{3000}",
    "\u{200b}",
    "a",
    "b c",
    "é",
    "數",
    "<think>",
    "</think>",
    "<think>\nx\n</think>\n\n",
    "<|im_end|>",
    "H:",
    "/",
];

/// The characters for which Python 3.11's `str.isspace` holds.
const PYTHON_SPACES: &str = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

type Chat = Vec<(&'static str, String)>;

fn chats() -> impl Strategy<Value = Chat> {
    let content = prop::collection::vec(prop::sample::select(PIECES), 0..5).prop_map(|pieces| pieces.concat());
    let role = prop::sample::select(&["user", "user", "assistant", "assistant", "tool"][..]);
    prop::collection::vec((role, content), 1..7)
}

/// Ids in both modes, or the errors.
fn ids(template: &MetaTemplate, chat: &[(&str, String)]) -> [Result<Vec<u32>, String>; 2] {
    ids_with(template, chat, &BuilderOptions::default())
}

fn ids_with(
    template: &MetaTemplate,
    chat: &[(&str, String)],
    options: &BuilderOptions,
) -> [Result<Vec<u32>, String>; 2] {
    let messages = chat.iter().map(|(role, content)| ChatMessage::new(*role, content.as_str())).collect();
    let conversation = Conversation::Messages(messages);
    let model = Model { meta_template: Some(template.clone()), ..Model::default() };
    [Mode::Generate, Mode::Score].map(|mode| {
        let special_tokens = Some(AddSpecialTokens::Never);
        let options = BuilderOptions { mode, special_tokens, ..options.clone() };
        let builder = PromptBuilder::new(&model, Arc::clone(&DEMO), &options).expect("the template fits");
        builder.build(&conversation).map(|prompt| prompt.input_ids).map_err(|error| error.to_string())
    })
}

fn human() -> RoleTemplate {
    RoleTemplate::new("HUMAN").begin("<|im_start|>user\n").end("<|im_end|>\n")
}

fn bot() -> RoleTemplate {
    RoleTemplate::new("BOT").begin("<|im_start|>assistant\n").end("<|im_end|>\n").generate()
}

fn tool() -> RoleTemplate {
    RoleTemplate::new("tool").begin("(").end(")")
}

fn law(law: impl Fn(Chat) -> Result<(), TestCaseError>) {
    let config = laws::cases(300);
    if let Err(error) = TestRunner::new(config).run(&chats(), law) {
        panic!("{error}");
    }
}

fn changed(chat: &Chat, mut change: impl FnMut(usize, &str, &str) -> Option<String>) -> Chat {
    let each = chat.iter().enumerate();
    each.filter_map(|(i, (role, content))| Some((*role, change(i, role, content)?))).collect()
}

fn strip(content: &str, trim: Trim) -> &str {
    let is_space = |c| PYTHON_SPACES.contains(c);
    let content = if trim == Trim::End { content } else { content.trim_start_matches(is_space) };
    if trim == Trim::Start { content } else { content.trim_end_matches(is_space) }
}

fn to_trim_is_to_strip_the_contents() {
    for trim in [Trim::Both, Trim::Start, Trim::End, Trim::Turn] {
        law(|chat| {
            let with = MetaTemplate::new([human().trim(trim), bot()]).reserved_role(tool());
            let without = MetaTemplate::new([human(), bot()]).reserved_role(tool());
            let stripped = changed(&chat, |_, role, content| {
                Some(if role == "user" { strip(content, trim) } else { content }.to_owned())
            });
            prop_assert_eq!(ids(&with, &chat), ids(&without, &stripped));
            Ok(())
        });
    }
}

fn to_trim_a_turn_is_to_strip_what_is_merged() {
    law(|chat| {
        let note = RoleTemplate::new("tool").end("\n").merge_into("HUMAN");
        let with = MetaTemplate::new([human().trim(Trim::Turn), bot()]).reserved_role(note);
        let without = MetaTemplate::new([human(), bot()]);
        let (mut merged, mut note) = (Vec::new(), String::new());
        for (role, content) in &chat {
            match *role {
                "tool" => note += &format!("{content}\n"),
                "user" => merged.push((*role, strip(&(std::mem::take(&mut note) + content), Trim::Both).to_owned())),
                role => merged.push((role, content.clone())),
            }
        }
        // Notes after the last question are an error.
        if note.is_empty() && !merged.is_empty() {
            prop_assert_eq!(ids(&with, &chat), ids(&without, &merged));
        }
        Ok(())
    });
}

/// The same ids, where anything is said. A last answer is left out only if nothing comes after it, even a silent message.
fn equal_where_said(
    with: &MetaTemplate,
    chat: &Chat,
    without: &MetaTemplate,
    written: &Chat,
) -> Result<(), TestCaseError> {
    let (Some((last, _)), Some((last_written, _))) = (chat.last(), written.last()) else { return Ok(()) };
    let ([open, scored], [open_written, scored_written]) = (ids(with, chat), ids(without, written));
    prop_assert_eq!(scored, scored_written);
    if *last_written != "assistant" || last == last_written {
        prop_assert_eq!(open, open_written);
    }
    Ok(())
}

fn empty_messages_that_are_silent_might_as_well_be_missing() {
    law(|chat| {
        let silent = |role: RoleTemplate| role.trim(Trim::Both).silent_if_empty();
        let with = MetaTemplate::new([silent(human()), bot().trim(Trim::Both)]).reserved_role(silent(tool()));
        let without = MetaTemplate::new([human(), bot().trim(Trim::Both)]).reserved_role(tool());
        let written = changed(&chat, |_, role, content| match (role, strip(content, Trim::Both)) {
            ("user" | "tool", "") => None,
            ("assistant", _) => Some(content.to_owned()),
            (_, stripped) => Some(stripped.to_owned()),
        });
        equal_where_said(&with, &chat, &without, &written)
    });
}

fn messages_of_silent_roles_might_as_well_be_missing() {
    law(|chat| {
        let with = MetaTemplate::new([human(), bot()]).reserved_role(RoleTemplate::new("tool").silent());
        let without = MetaTemplate::new([human(), bot()]);
        let written = changed(&chat, |_, role, content| (role != "tool").then(|| content.to_owned()));
        equal_where_said(&with, &chat, &without, &written)
    });
}

fn what_is_between_rounds_might_as_well_open_all_but_the_first() {
    law(|chat| {
        // With one role, each message is a round.
        let with = MetaTemplate::new([bot()]).between("<|endoftext|>");
        let without = MetaTemplate::new([bot()]);
        let between = DEMO.encode("<|endoftext|>").expect("it encodes");
        let rounds: Chat = chat.into_iter().map(|(_, content)| ("assistant", content)).collect();
        let mut expected = Vec::new();
        for (i, round) in rounds.iter().enumerate() {
            expected.extend(between.iter().filter(|_| i > 0));
            let [_, scored] = ids(&without, std::slice::from_ref(round));
            expected.extend(scored.map_err(TestCaseError::fail)?);
        }
        prop_assert_eq!(&ids(&with, &rounds)[1], &Ok(expected));
        Ok(())
    });
}

fn to_merge_at_the_last_is_to_move_the_message_before_it() {
    law(|chat| {
        let note = || RoleTemplate::new("tool").begin("(").end(")");
        let with = MetaTemplate::new([human(), bot()]).reserved_role(note().merge_into_last("HUMAN"));
        let without = MetaTemplate::new([human(), bot()]).reserved_role(note().merge_into("HUMAN"));
        let Some(last) = chat.iter().rposition(|(role, _)| *role == "user") else { return Ok(()) };
        if chat[last..].iter().any(|(role, _)| *role == "tool") {
            return Ok(());
        }
        let notes = chat.iter().filter(|(role, _)| *role == "tool").cloned();
        let others = |part: &[(&'static str, String)]| {
            part.iter().filter(|(role, _)| *role != "tool").cloned().collect::<Vec<_>>()
        };
        let moved: Chat = others(&chat[..last]).into_iter().chain(notes).chain(others(&chat[last..])).collect();
        prop_assert_eq!(ids(&with, &chat), ids(&without, &moved));
        Ok(())
    });
}

/// What Qwen3's template does: `content.split('</think>')[-1].lstrip('\n')`.
fn said(answer: &str) -> &str {
    answer.rsplit_once("</think>").map_or(answer, |(_, said)| said.trim_start_matches('\n'))
}

fn earlier_answers_might_as_well_have_no_thoughts() {
    law(|chat| {
        let with = MetaTemplate::new([human(), bot().thoughts("</think>")]).reserved_role(tool());
        let without = MetaTemplate::new([human(), bot()]).reserved_role(tool());
        let asked = chat.iter().rposition(|(role, _)| *role == "user").unwrap_or(chat.len());
        let shorter = changed(&chat, |i, role, content| {
            Some(if role == "assistant" && i < asked { said(content) } else { content }.to_owned())
        });
        prop_assert_eq!(ids(&with, &chat), ids(&without, &shorter));
        Ok(())
    });
}

fn the_last_answer_has_its_thoughts_between_the_tags() {
    law(|mut chat| {
        chat.retain(|(role, _)| *role != "tool");
        let Some((_, question)) = chat.first().cloned() else { return Ok(()) };
        let Some((_, answer)) = chat.last().cloned() else { return Ok(()) };
        let chat = [("user", question), ("assistant", answer.clone())];
        let begin = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
        let with = MetaTemplate::new([human(), bot().thoughts("</think>").last_begin(begin)]);
        // As Qwen3's template finds them.
        let thoughts = answer.split_once("</think>").map_or("", |(before, _)| before);
        let thoughts = thoughts.rsplit("<think>").next().unwrap_or_default().trim_matches('\n');
        let said = said(&answer).trim_start_matches('\n');
        let written = format!("<think>\n{thoughts}\n</think>\n\n{said}");
        let without = MetaTemplate::new([human(), bot()]);
        prop_assert_eq!(&ids(&with, &chat)[1], &ids(&without, &[chat[0].clone(), ("assistant", written)])[1]);
        Ok(())
    });
}

fn messages_one_by_one_follow_the_same_keys() {
    let options = BuilderOptions { each_message: true, ..BuilderOptions::default() };
    law(|chat| {
        let user = human().trim(Trim::Turn).silent_if_empty();
        let with =
            MetaTemplate::new([user, bot().thoughts("</think>")]).reserved_role(RoleTemplate::new("tool").silent());
        let without = MetaTemplate::new([human(), bot()]);
        let asked = chat.iter().rposition(|(role, _)| *role == "user").unwrap_or(chat.len());
        let written = changed(&chat, |i, role, content| match role {
            "tool" => None,
            "user" => Some(strip(content, Trim::Both).to_owned()).filter(|content| !content.is_empty()),
            _ if i < asked => Some(said(content).to_owned()),
            _ => Some(content.to_owned()),
        });
        if !written.is_empty() {
            prop_assert_eq!(ids_with(&with, &chat, &options), ids_with(&without, &written, &options));
        }
        Ok(())
    });
}
