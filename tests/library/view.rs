//! Views lose nothing and forge nothing: what they show is the prompt, token by token.

use std::sync::Arc;

use metatok::conversation::{ContentPart, Media, MediaKind};
use metatok::view::{NamedToken, TerminalOptions, ViewTurn};
use metatok::{BuilderOptions, ChatMessage, Conversation, Model, PromptBuilder, Tokenizer, View};
use proptest::prelude::*;

use crate::harness::{Tests, tests};
use crate::laws;

pub(crate) fn tests() -> Tests {
    tests![
        pages_hold_the_prompt,
        long_rows_are_folded_and_whole,
        rows_say_how_many_tokens_they_have,
        roles_are_as_the_messages_name_them,
        terminals_show_the_prompt,
        ids_stand_below_their_tokens,
        colours_are_only_added,
        rows_cover_every_token,
        media_are_chips,
        names_have_signs_too
    ]
}

/// Texts that are hard to show.
const HARD: [&str; 8] = [
    "你好！请用中文解释。\n第二行",
    "مرحبا بالعالم، كيف حالك؟",
    "👩\u{200d}💻🎉🇩🇪 zero\u{200b}width, mark\u{202e}, NBSP\u{a0}here, e\u{301}",
    "\tdef f(x):\r\n\t\treturn x  # code",
    "<script>alert('&amp;')</script> \"quoted\" <|im_end|>",
    "\u{1b}[31mred\u{1b}[0m \u{7} bell \0 nul \u{9b}2J",
    "",
    "\n\n\n",
];

fn builder() -> PromptBuilder {
    let model = Model::load("demo").unwrap_or_else(|error| panic!("{error}"));
    let tokenizer = Arc::new(Tokenizer::demo().unwrap_or_else(|error| panic!("{error}")));
    PromptBuilder::new(&model, tokenizer, &BuilderOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn view(builder: &PromptBuilder, contents: &[&str]) -> View {
    let roles = ["system", "user", "assistant", "user", "assistant"];
    let messages = roles.iter().zip(contents).map(|(role, content)| ChatMessage::new(*role, *content));
    View::new(builder, "demo", &Conversation::Messages(messages.collect())).unwrap_or_else(|error| panic!("{error}"))
}

/// The page's text without its marks, line ends put back: what a reader would copy.
fn copied(html: &str) -> String {
    let prompt = html.split("<main class=\"prompt\">").nth(1).and_then(|rest| rest.split("</main>").next());
    let mut text = String::new();
    for cell in prompt.expect("there is a prompt").split("<div class=\"tokens").skip(1) {
        let cell = cell.split_once('>').and_then(|(_, rest)| rest.split_once("</div>")).expect("a row ends").0;
        let mut rest = cell;
        while let Some(at) = rest.find('<') {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(mark) = rest.strip_prefix("<s>").or(rest.strip_prefix("<s class=\"b\">")) {
                let (mark, behind) = mark.split_once("</s>").expect("a mark ends");
                match mark {
                    "↵" => text.push('\n'),
                    "␍" => text.push('\r'),
                    "⇥" => {}
                    mark if mark.ends_with(" more tokens") => {}
                    mark => text.push_str(&format!("<{mark}>")),
                }
                rest = behind;
            } else {
                rest = rest.split_once('>').expect("a tag ends").1;
            }
        }
        text.push_str(rest);
    }
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    plain.iter().fold(text, |text, (written, plain)| text.replace(written, plain))
}

/// A text as a view writes it: with codes for what cannot be seen.
fn coded(view: &View) -> String {
    let mut text = String::new();
    for token in &view.tokens {
        for chunk in token.bytes.utf8_chunks() {
            for (i, c) in chunk.valid().char_indices() {
                let is_shown = matches!(c, '\n' | '\r' | '\t' | ' ');
                let is_hidden = c.is_control() || c.is_whitespace() || "\u{200b}\u{200d}\u{202e}".contains(c);
                match c {
                    c if !is_shown && is_hidden => text.push_str(&format!("<U+{:04X}>", u32::from(c))),
                    '\u{301}' if i == 0 => text.push_str("◌\u{301}"),
                    c => text.push(c),
                }
            }
            text.extend(chunk.invalid().iter().map(|byte| format!("<{byte:02X}>")));
        }
    }
    text
}

fn pages_hold_the_prompt() {
    let builder = builder();
    for pair in HARD.windows(5) {
        let view = view(&builder, pair);
        let html = view.html();
        assert_eq!(copied(&html), coded(&view));
        assert_eq!(html.matches("<i ").count(), view.tokens.len() + 1, "one more for the legend");
        assert!(!html.contains("<script") && !html.contains("http"));
    }
}

fn long_rows_are_folded_and_whole() {
    let view = view(&builder(), &["", &"1+1=? ".repeat(1_000)]);
    let html = view.html();
    assert_eq!(copied(&html), coded(&view));
    assert_eq!(html.matches("<details>").count(), 1);
    assert!(!view_of("short").html().contains("<details>"));
}

fn rows_say_how_many_tokens_they_have() {
    let html = view_of("1+1=?").html();
    assert!(html.contains(r#"<div class="key">content <span class="n">4</span></div>"#), "{html}");
    assert!(
        html.contains(r#"<h2><b>user #1</b> <span>HUMAN · round</span> <span class="n">10 tokens</span></h2>"#),
        "{html}"
    );
}

fn roles_are_as_the_messages_name_them() {
    let view = view_of("1+1=?");
    let names: Vec<_> = view.rows.iter().map(|row| (row.role.as_deref(), row.message_role.as_deref())).collect();
    assert_eq!(names[0], (Some("SYSTEM"), Some("system")));
    assert_eq!(names.last(), Some(&(Some("BOT"), Some("assistant"))));
}

fn view_of(said: &str) -> View {
    view(&builder(), &["Be brief.", said])
}

fn terminals_show_the_prompt() {
    let builder = builder();
    for pair in HARD.windows(5) {
        let view = view(&builder, pair);
        for width in [20, 60, 200] {
            let screen = view.terminal(TerminalOptions { width, colour: false, ids: false });
            assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen:?}");
            assert!(!screen.contains(['\u{202e}', '\u{200b}']), "{screen:?}");
            // The margin, bars, brackets and marks taken away, it is the prompt.
            let rows = screen.split("\n\n").nth(1).expect("the rows stand between blank lines");
            let margin = rows.lines().next().map_or(0, |heads| heads.len() + 2);
            let shown: String = rows.lines().skip(1).flat_map(|line| line.chars().skip(margin)).collect();
            let shown =
                shown.replace('|', "").replace('·', " ").replace('↵', "\n").replace('⇥', "\t").replace('␍', "\r");
            let expected = view.tokens.iter().fold(String::new(), |text, token| {
                let one = View { tokens: vec![token.clone()], ..view.clone() };
                let token = if token.control { format!("[{}]", coded(&one)) } else { coded(&one) };
                text + &token.replace('|', "")
            });
            assert_eq!(shown, expected, "{width}");
        }
    }
}

fn ids_stand_below_their_tokens() {
    let view = view(&builder(), &["", "1+1=?"]);
    let screen = view.terminal(TerminalOptions { width: 60, colour: false, ids: true });
    let expected = "\
                    content  4  1  +  1  =?
                                16 10 16 337
";
    assert!(screen.contains(expected), "{screen}");
}

fn colours_are_only_added() {
    let view = view(&builder(), &HARD[..5]);
    let coloured = view.terminal(TerminalOptions { width: 60, colour: true, ids: false });
    assert!(coloured.contains("\u{1b}["));
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    for line in plain.lines() {
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
}

proptest! {
    #![proptest_config(laws::cases(64))]

    fn rows_cover_every_token(contents in prop::collection::vec(".{0,40}", 2..6)) {
        let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
        let view = view(&builder(), &contents);
        let positions: Vec<usize> = view.rows.iter().flat_map(|row| row.tokens.clone()).collect();
        prop_assert_eq!(positions, (0..view.tokens.len()).collect::<Vec<_>>());
        // The tokens' ranges are in order, lie on the text, and leave nothing out.
        let mut end = 0;
        for token in &view.tokens {
            prop_assert!(token.range.start <= end && token.range.end >= end && token.range.end <= view.text.len());
            end = token.range.end;
        }
        prop_assert_eq!(end, view.text.len());
        prop_assert_eq!(view.html().matches("<i ").count(), view.tokens.len() + 1);
    }
}

/// Whatever the names of models, roles and tokens hold.
fn names_have_signs_too() {
    const EVIL: &str = "x\u{1b}[31m\u{7}\r\u{9b}\u{202e}<script>";
    let evil = || EVIL.to_owned();
    let mut view = view_of("1+1=?");
    (view.model, view.tokenizer) = (evil(), evil());
    view.tokens.iter_mut().for_each(|token| token.token = evil());
    view.stop.iter_mut().for_each(|stop| stop.named.token = evil());
    view.stop_strings = vec![evil()];
    let named = NamedToken { id: 7, token: evil() };
    view.special_tokens_added = vec![named.clone()];
    view.special_tokens_omitted = vec![named.clone()];
    view.special_tokens_omitted_end = vec![named];
    view.turn = Some(ViewTurn { turn: 1, turns: 2, prefix_tokens: 3, prefix_break: Some(evil()) });
    for (role, message_role) in
        [(Some(evil()), None), (Some("HUMAN".into()), Some(evil())), (Some(evil()), Some("user".into()))]
    {
        for row in &mut view.rows {
            (row.role, row.message_role) = (role.clone(), message_role.clone());
        }
        let screen = view.terminal(TerminalOptions { width: 100, colour: false, ids: false });
        let html = view.html();
        for shown in [&screen, &html] {
            assert!(shown.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{shown:?}");
        }
        assert!(screen.contains("x<U+001B>[31m<U+0007>␍<U+009B><U+202E><script>"), "{screen}");
        assert!(html.contains("x&lt;U+001B&gt;[31m") && !html.contains("<script"), "{html}");
    }
}

/// One chip for each image, whose source forges nothing and is never shown whole.
fn media_are_chips() {
    let model =
        Model::parse("m.toml", b"[multimodal]\nimage = { placeholder = [1050], repeat = 300 }").expect("it is one");
    let tokenizer = Arc::new(Tokenizer::demo().expect("it is embedded"));
    let builder = PromptBuilder::new(&model, tokenizer, &BuilderOptions::default()).expect("they fit");
    let options = TerminalOptions { width: 100, colour: false, ids: false };
    for (source, shown) in [
        ("/home/ann/my pics/a b.png".to_owned(), "my pics/a b.png"),
        ("<script>\u{1b}[31m\n\u{202e}".to_owned(), "<script><U+001B>[31m↵<U+202E>"),
        (format!("data:image/png;base64,{}", "A".repeat(10_000)), "data:image/png;base64,AAAAAAAA… (10022 bytes)"),
    ] {
        let image = || ContentPart::from(Media::new(MediaKind::Image, source.as_str()));
        let conversation = Conversation::Messages(vec![ChatMessage::new("user", vec![image(), image()])]);
        let view = View::new(&builder, "m", &conversation).expect("it builds");
        assert_eq!(view.rows.iter().map(|row| row.tokens.len()).collect::<Vec<_>>(), [300, 300]);
        let chip = format!("[image {shown} · 300 tokens]");
        assert_eq!(view.terminal(options).matches(&chip).count(), 2, "{}", view.terminal(options));
        let html = view.html();
        assert!(html.contains("· 300 tokens</i>"), "{html}");
        assert!(!html.contains("<script") && !html.contains(&"A".repeat(100)), "{html}");
        let json = serde_json::to_string(&view).expect("it is JSON");
        assert!(!json.contains(&"A".repeat(100)));
    }
}
