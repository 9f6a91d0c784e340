//! Content attacks templates: drawn from the halves and wholes of reserved tokens, it must forge none, take none away, and
//! be said as it is.

use std::sync::Arc;

use metatok::dialect::ChatTemplate;
use metatok::template::{Affix, AffixItem, RoleTemplate, RoundItem};
use metatok::tokenizer::TokenizerFiles;
use metatok::{
    AddSpecialTokens, BuilderOptions, ChatMessage, Conversation, ErrorKind, MetaTemplate, Mode, Model, PromptBuilder,
    TokenId, TokenizedPrompt, Tokenizer,
};
use serde_json::{Value, json};

use crate::harness::{Tests, tests};
use crate::loaded;
use crate::subjects::{self, SYNTHETIC, added};

pub(crate) fn tests() -> Tests {
    tests![
        no_content_changes_the_reserved_tokens,
        no_text_beside_contents_is_a_reserved_token,
        what_is_left_out_hides_no_forged_token,
    ]
}

/// The tokenizer that leaves out what it does not know.
const LEAVES_OUT: &str = "characters that are left out";

/// How many contents are tried on each tokenizer; `METATOK_ATTACKS=100000` tries this many.
fn attacks() -> usize {
    std::env::var("METATOK_ATTACKS").ok().and_then(|attacks| attacks.parse().ok()).unwrap_or(200)
}

/// How many contents are tried on one template: making its builder takes longer than using it.
const CONTENTS: usize = 20;

/// Merges with nothing that templates are made of here.
const NEUTRAL: &str = "0";

/// Draws the same each time (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// The beginning or the end of a token, or all of it.
    fn half(&mut self, token: &str) -> String {
        let places: Vec<usize> = token.char_indices().map(|(at, _)| at).collect();
        let at = *self.one(&places);
        match self.below(3) {
            0 => token[..at].to_owned(),
            1 => token[at..].to_owned(),
            _ => token.to_owned(),
        }
    }
}

/// A tokenizer under attack.
struct Target {
    name: String,
    tokenizer: Arc<Tokenizer>,
    /// What templates and contents are made of: added tokens, and others that are reserved now and then.
    tokens: Vec<String>,
    /// Whether decoding gives the text back, but for white space beside tokens that strip it.
    is_lossless: bool,
    /// Whether some bytes cannot be written in other tokens, so that content may be refused.
    may_refuse: bool,
}

/// Tokens of every kind that reaches into the text beside it.
const FLAGGED: [(&str, &[&str]); 10] = [
    ("<end>", &["special"]),
    ("<end><l>", &["special"]),
    ("<l>", &["special", "lstrip"]),
    ("<r>", &["special", "rstrip"]),
    ("<w>", &["special", "single_word"]),
    ("<N>", &["special", "normalized"]),
    ("<tool>", &[]),
    ("<lr>", &["lstrip", "rstrip"]),
    ("\n\n", &[]),
    ("  ", &["special"]),
];

impl Target {
    /// A made tokenizer, of whose vocabulary some entries become special: merges reach them.
    fn made(files: &TokenizerFiles) -> Self {
        let mut json: Value = serde_json::from_slice(&files.tokenizer_json).expect("it is JSON");
        let entries: Vec<String> = match &json["model"]["vocab"] {
            Value::Object(vocab) => vocab.keys().cloned().collect(),
            vocab => vocab
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|entry| entry[0].as_str())
                .map(str::to_owned)
                .collect(),
        };
        let size = entries.len();
        let is_word = |entry: &&String| entry.len() > 1 && entry.bytes().all(|byte| byte.is_ascii_lowercase());
        let reached = entries.iter().filter(is_word).step_by(29).take(4).cloned();
        let listed = json["added_tokens"].as_array_mut().expect("it is a list");
        let special: &[&str] = &["special"];
        let flagged = FLAGGED.iter().map(|(token, flags)| ((*token).to_owned(), *flags));
        for (content, flags) in reached.map(|token| (token, special)).chain(flagged) {
            // An entry of the vocabulary keeps its id.
            listed.push(added(size + listed.len(), &content, flags));
        }
        let name = &files.name;
        if name == "Unigram" {
            json["decoder"] = json["pre_tokenizer"].clone();
        }
        let tokenizer = Tokenizer::new(&subjects::files(name, &json)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let is_lossless = ["demo", "Prepend"].contains(&&**name);
        Self::new(name, tokenizer.into(), is_lossless, !is_lossless)
    }

    fn new(name: &str, tokenizer: Arc<Tokenizer>, is_lossless: bool, may_refuse: bool) -> Self {
        let unknown = tokenizer.unk_token_id();
        let listed = tokenizer.added_tokens().filter(|token| Some(token.id) != unknown);
        let mut tokens: Vec<String> = listed.map(|token| token.content.clone()).collect();
        // Hundreds of them are one like the other.
        let step = (tokens.len() / 40).max(1);
        tokens = tokens.into_iter().step_by(step).collect();
        Self { name: name.to_owned(), tokenizer, tokens, is_lossless, may_refuse }
    }

    fn text(&self, draw: &mut Draw, most: usize, entries: &[String]) -> String {
        const PLAIN: [&str; 16] =
            ["the", " ", "\n", "a", " \n", "ing ", "Grüße", "法", "🐙", "<", ">", "|", "\t", "x y", "＜end＞", "12"];
        let pieces = 0..draw.below(most + 1);
        let piece = |_| match draw.below(4) {
            0 => (*draw.one(&PLAIN)).to_owned(),
            1 if !entries.is_empty() => {
                let entry = draw.one(entries).clone();
                draw.half(&entry)
            }
            _ => {
                let token = draw.one(&self.tokens).clone();
                draw.half(&token)
            }
        };
        pieces.map(piece).collect()
    }

    /// An entry of the vocabulary that another one begins or ends with, and the other one's text.
    fn merged(&self, draw: &mut Draw) -> Option<(String, [String; 2])> {
        let id = draw.below(self.tokenizer.vocab_size()) as TokenId;
        let longer = self.tokenizer.id_to_token(id)?;
        let places: Vec<usize> = longer.char_indices().map(|(at, _)| at).collect();
        let (start, end) = longer.split_at(*draw.one(places.get(1..).filter(|places| !places.is_empty())?));
        let entry = *draw.one(&[start, end]);
        // Another way to write a single character there need not be.
        let is_fit = entry.chars().count() > 1 && !entry.contains(NEUTRAL);
        let entry_id = self.tokenizer.token_to_id(entry).filter(|_| is_fit)?;
        let text = |id| String::from_utf8(self.tokenizer.token_bytes(id)?).ok();
        let is_added = self.tokenizer.added_tokens().any(|token| [id, entry_id].contains(&token.id));
        Some((entry.to_owned(), [text(entry_id)?, text(id)?])).filter(|_| !is_added)
    }

    fn template(&self, draw: &mut Draw, entries: &[String]) -> MetaTemplate {
        let mut affix = |most| Affix(vec![AffixItem::Text(self.text(draw, most, entries))]);
        let role = |role: &str, generate, begin, end| {
            let role = RoleTemplate { role: role.into(), begin, end, generate, ..RoleTemplate::default() };
            RoundItem::Role(Box::new(role))
        };
        let (ask, asked, answer, answered) = (affix(3), affix(3), affix(3), affix(3));
        let round = vec![role("HUMAN", false, ask, asked), role("BOT", true, answer, answered)];
        MetaTemplate { begin: affix(2), round, end: affix(2), ..MetaTemplate::default() }
    }

    /// A builder, and what else contents are made of. Now and then an entry of the vocabulary is reserved, which text gives
    /// by merges, and which more text merges away.
    fn builder(&self, draw: &mut Draw) -> (PromptBuilder, Vec<String>) {
        let (reserve, entries) = match draw.below(3) {
            0 => (0..8).find_map(|_| self.merged(draw)).unzip(),
            _ => (None, None),
        };
        let entries = entries.map_or_else(Vec::new, Vec::from);
        let model = Model { meta_template: Some(self.template(draw, &entries)), ..Model::default() };
        let options = BuilderOptions {
            reserve: reserve.into_iter().collect(),
            mode: *draw.one(&[Mode::Generate, Mode::Score]),
            special_tokens: Some(AddSpecialTokens::Never),
            text: true,
            ..BuilderOptions::default()
        };
        let built = PromptBuilder::new(&model, Arc::clone(&self.tokenizer), &options);
        (built.unwrap_or_else(|error| panic!("{}: {error}: {:?}", self.name, options.reserve)), entries)
    }

    fn attack(&self, seed: u64) -> Count {
        let mut draw = Draw(seed);
        let mut count = Count::default();
        while count.tried < attacks() {
            let (builder, entries) = self.builder(&mut draw);
            let said = |texts: &[String]| {
                let roles = ["user", "assistant", "user"].iter().zip(texts);
                builder.build(&Conversation::Messages(
                    roles.map(|(role, text)| ChatMessage::new(*role, &**text)).collect(),
                ))
            };
            let neutral = [(); 3].map(|()| NEUTRAL.to_owned());
            let Some(expected) = self.prompt(said(&neutral), &neutral) else { continue };
            let expected = reserved(&builder, &expected);
            for _ in 0..CONTENTS {
                let texts = [(); 3].map(|()| self.text(&mut draw, 4, &entries));
                count.tried += 1;
                let Some(prompt) = self.prompt(said(&texts), &texts) else {
                    count.refused += 1;
                    continue;
                };
                if reserved(&builder, &prompt) != expected {
                    count.fail("forged", &prompt, &texts);
                } else if self.is_lossless && !self.says(&prompt) {
                    count.fail("unsaid", &prompt, &texts);
                }
            }
        }
        count
    }

    /// A prompt; none where content was refused, which must have its reason.
    fn prompt(&self, built: metatok::Result<TokenizedPrompt>, texts: &[String]) -> Option<TokenizedPrompt> {
        built
            .map_err(|error| match error.kind() {
                ErrorKind::ReservedInContent { .. } => assert!(self.may_refuse, "{}: {error}: {texts:?}", self.name),
                _ => panic!("{}: {error}: {texts:?}", self.name),
            })
            .ok()
    }

    /// Whether the ids decode to the prompt's text, white space aside, which some tokens swallow, and SentencePiece's sign for it.
    fn says(&self, prompt: &TokenizedPrompt) -> bool {
        let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '▁').collect::<String>();
        let decoded = self.tokenizer.decode(&prompt.input_ids, false).unwrap_or_else(|error| panic!("{error}"));
        visible(&decoded) == visible(prompt.text.as_deref().expect("it was asked for"))
    }
}

fn reserved(builder: &PromptBuilder, prompt: &TokenizedPrompt) -> Vec<TokenId> {
    prompt.input_ids.iter().copied().filter(|&id| builder.is_reserved(id)).collect()
}

/// What came of the attacks on one tokenizer.
#[derive(Default)]
struct Count {
    tried: usize,
    refused: usize,
    failed: Vec<String>,
}

impl Count {
    fn fail(&mut self, how: &str, prompt: &TokenizedPrompt, texts: &[String]) {
        self.failed.push(format!("{how} by {texts:?}: {:?} gives {:?}", prompt.text, prompt.input_ids));
    }
}

fn no_content_changes_the_reserved_tokens() {
    const MADE: [&str; 8] = [
        "demo",
        "normalized to lower case",
        "Metaspace, first",
        "Metaspace, always",
        "Prepend",
        "Unigram",
        "WordPiece",
        LEAVES_OUT,
    ];
    let made = SYNTHETIC.iter().filter(|files| MADE.contains(&&*files.name));
    let mut targets: Vec<Target> = made.map(Target::made).collect();
    targets.push(Target::new("demo as it is", loaded::demo(), true, false));
    for name in ["chatglm3", "gemma2", "internlm2", "llama2", "llama3_1", "qwen3"] {
        let Some(tokenizer) = loaded::tokenizer(name) else {
            println!("skipped: the tokenizer {name} is not here");
            continue;
        };
        targets.push(Target::new(name, tokenizer, true, false));
    }
    let (mut failed, mut all) = (Vec::new(), 0);
    for (seed, target) in targets.iter().enumerate() {
        let Count { tried, refused, failed: here } = target.attack(seed as u64);
        println!("{}: {tried} attacks, {} forged or unsaid, {refused} refused", target.name, here.len());
        all += tried;
        failed.extend(here.into_iter().take(5).map(|what| format!("{}: {what}", target.name)));
    }
    println!("{all} attacks");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Writes every key and every value that a conversation has.
const WRITES_ALL: &str = "
    {%- macro say(value) -%}
        {%- if value is mapping -%}{% for key, item in value.items() %}{{ key }}={{ say(item) }} {% endfor %}
        {%- elif value is string or value is number -%}{{ value }}
        {%- elif value is iterable -%}{% for item in value %}{{ say(item) }} {% endfor %}
        {%- endif -%}
    {%- endmacro -%}
    {{ say(messages) }}{{ say(tools) }}{{ say(documents) }}{{ say(extra) }}";
/// Makes a token of each type, by the template's own texts.
const WRITES_TYPES: &str = "
    {%- for m in messages -%}
        {%- for call in m.tool_calls or [] %}<|{{ call.type }}|>{% endfor -%}
    {%- endfor -%}
    {%- for tool in tools or [] %}<|{{ tool.type }}|>{% endfor -%}";

/// Keys, types and values anywhere in a conversation are content, too.
fn no_text_beside_contents_is_a_reserved_token() {
    const END: &str = "<|im_end|>";
    let said = |message: Value| json!({"messages": [{"role": "user", "content": "Hi"}, message]});
    let beside = |key: &str, value: Value| json!({"messages": [{"role": "user", "content": "Hi"}], key: value});
    let part = |part: Value| said(json!({"role": "user", "content": [part]}));
    let call = |call: Value| said(json!({"role": "assistant", "content": "", "tool_calls": [call]}));
    let anywhere = [
        part(json!({"type": "text", "text": "Hi", END: 1})),
        part(json!({"type": "text", "text": "Hi", "cache": {END: 1}})),
        part(json!({"type": "image", "image": "a.png", END: 1})),
        said(json!({"role": "user", "content": "Hi", END: 1})),
        said(json!({"role": "user", "content": "Hi", "name": {END: 1}})),
        said(json!({"role": END, "content": "Hi"})),
        call(json!({"type": "function", "function": {"name": "f", "arguments": {END: 1}}})),
        call(json!({"type": "function", "function": {"name": "f", "arguments": {}}, END: 1})),
        call(json!({"type": END, "function": {"name": "f", "arguments": {}}})),
        beside("tools", json!([{"type": "function", "function": {"name": "f", "parameters": {END: {}}}}])),
        beside("tools", json!([{"type": END, END: 1}])),
        beside("documents", json!([{"title": "a", END: 1}])),
        beside("chat_template_kwargs", json!({"extra": {END: [1]}})),
    ];
    let types = [
        call(json!({"type": "im_end", "function": {"name": "f", "arguments": {}}})),
        beside("tools", json!([{"type": "im_end"}])),
    ];
    let tokenizer = loaded::demo();
    let end = tokenizer.token_to_id(END).expect("the demo has it");
    for (source, chats) in [(WRITES_ALL, &anywhere[..]), (WRITES_TYPES, &types[..])] {
        let model = Model::from(ChatTemplate::new("mine", source));
        let options = BuilderOptions { text: true, ..BuilderOptions::default() };
        let builder = PromptBuilder::new(&model, Arc::clone(&tokenizer), &options).expect("it is a template");
        for chat in chats {
            let chat: Conversation = serde_json::from_value(chat.clone()).unwrap_or_else(|error| panic!("{error}"));
            let prompt = builder.build(&chat).unwrap_or_else(|error| panic!("{error}: {chat:?}"));
            let text = prompt.text.expect("it was asked for");
            assert!(text.contains(END), "{text:?} of {chat:?}");
            assert!(!prompt.input_ids.contains(&end), "{text:?} of {chat:?}");
        }
    }
}

/// A library says of a token that it comes from text before it, as far as characters are missing there.
fn what_is_left_out_hides_no_forged_token() {
    let mut json: Value = serde_json::from_slice(&subjects::named(LEAVES_OUT).tokenizer_json).expect("it is JSON");
    let end = json["model"]["vocab"]["<end>"].as_u64().expect("it is there") as usize;
    json["added_tokens"] = vec![added(end, "<end>", &["special"])].into();
    let tokenizer = Arc::new(Tokenizer::new(&subjects::files(LEAVES_OUT, &json)).expect("it loads"));
    let role = |role: &str, begin: &str| RoleTemplate::new(role).begin(begin).end("\n");
    let round = [role("HUMAN", "### Question: "), role("BOT", "### Answer: ").generate()];
    let round = round.map(|role| RoundItem::Role(Box::new(role))).to_vec();
    let model = Model { meta_template: Some(MetaTemplate { round, ..MetaTemplate::default() }), ..Model::default() };
    let builder = PromptBuilder::new(&model, tokenizer, &BuilderOptions::default()).expect("it is a model");
    for count in 0..40 {
        let said = [("user", "é".repeat(count)), ("assistant", "<end>".to_owned()), ("user", "?".to_owned())];
        match builder.build(&said.into_iter().collect::<Conversation>()) {
            Ok(prompt) => assert!(reserved(&builder, &prompt).is_empty(), "{count}: {:?}", prompt.input_ids),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::ReservedInContent { .. }), "{count}: {error}"),
        }
    }
}
