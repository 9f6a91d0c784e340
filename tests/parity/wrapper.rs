//! OpenCompass's wrappers of local models: what becomes of a prompt's text on its way to the model.
//!
//! Compared are the ids. Which of them a length limit leaves, and where padding goes, is the wrapper's
//! business and undone here.

use metatok::dialect::{ChatTemplate, ChatTemplateRenderer};
use metatok::render::ApiPrompt;
use metatok::{AddSpecialTokens, BuilderOptions, ContentTrust, Conversation, Mode, Model, PromptBuilder, TokenId};
use serde_json::{Value, json};

use crate::{Outcome, Replayer, api};

pub(crate) fn replay(replayer: &mut Replayer, case: &Value) -> Outcome {
    let job = &case["job"];
    let wrapper = job["wrapper"].as_str().unwrap_or_default();
    let call = job["call"].as_str().unwrap_or("generate");
    let name = job["tokenizer"].as_str().unwrap_or_default();
    if call == "criteria" {
        return Outcome::Skipped("when output ends".into());
    }
    if case["expect"].get("$error").is_some() {
        return Outcome::Skipped("limits below nothing, batches that do not fit together".into());
    }
    let Some(tokenizer) = replayer.beside(name) else { return Outcome::Skipped(format!("tokenizer {name}")) };
    let builder = |special_tokens| {
        let options = BuilderOptions {
            // The wrapper encodes whatever is left.
            allow_empty_prompts: true,
            special_tokens: Some(special_tokens),
            content: ContentTrust::Trusted,
            ..BuilderOptions::default()
        };
        PromptBuilder::new(&Model::default(), tokenizer.clone(), &options).expect("there is no template to fit")
    };
    let wrapper = Wrapper {
        job,
        always: builder(AddSpecialTokens::Always),
        never: builder(AddSpecialTokens::Never),
        chat_template: replayer.chat_template(name),
        name: wrapper,
    };
    let found = match call {
        "get_token_len" => wrapper.lengths(&case["expect"]["value"]),
        "batch_encode" => wrapper.intern_train(&case["expect"]["value"]),
        _ => wrapper.calls(&case["expect"]["calls"]),
    };
    match found {
        Ok(()) => Outcome::Passed,
        Err(Difference::TextCut) => match replayer.excepted(&json!({ "cuts_text_by": job["wrapper"] }), &Value::Null) {
            Some(rule) => Outcome::Excepted(rule),
            None => Outcome::Failed("no rule says that this wrapper cuts text".into()),
        },
        Err(Difference::Other(message)) => Outcome::Failed(message),
    }
}

enum Difference {
    /// The middle was cut out of text, and tokenized again.
    TextCut,
    Other(String),
}

struct Wrapper<'a> {
    job: &'a Value,
    always: PromptBuilder,
    never: PromptBuilder,
    chat_template: Option<String>,
    name: &'a str,
}

impl Wrapper<'_> {
    fn ids(&self, builder: &PromptBuilder, text: &str) -> Vec<TokenId> {
        let prompt = builder.build(&Conversation::Text(text.into())).unwrap_or_else(|error| panic!("{error}"));
        prompt.input_ids
    }

    fn number(&self, group: &str, key: &str) -> Option<usize> {
        self.job[group][key].as_u64().map(|number| number as usize)
    }

    fn has_chat_template(&self) -> bool {
        self.name.ends_with("withChatTemplate")
    }

    /// What the tokenizer gets of an input.
    fn text(&self, input: &Value) -> String {
        if !self.has_chat_template() {
            return input.as_str().expect("other inputs are strings").to_owned();
        }
        // These were parsed before, and are turns.
        let prompt = match input {
            Value::String(text) => ApiPrompt::Text(text.clone()),
            turns => {
                let turns = api::without_api_role(turns);
                ApiPrompt::Turns(serde_json::from_value(turns["$pl"].clone()).expect("they are turns"))
            }
        };
        let messages = prompt.messages(true, false).unwrap_or_else(|error| panic!("{error}"));
        let source = self.chat_template.as_deref().expect("the tokenizer has one");
        let mut template = ChatTemplate::new("chat_template", source);
        for name in ["bos_token", "eos_token"] {
            if let Some(token) = self.job["$config"][name].as_str() {
                template.special_tokens.insert(name.to_owned(), token.to_owned());
            }
        }
        let renderer = ChatTemplateRenderer::new(&template, self.never.tokenizer());
        let text = renderer.and_then(|renderer| renderer.text(&messages.into(), Mode::Generate));
        text.expect("it takes messages")
    }

    /// The ids, cut to a length as `transformers` cuts: special tokens stay.
    fn cut(&self, text: &str, longest: Option<usize>) -> Vec<TokenId> {
        let content = self.ids(&self.never, text);
        let whole = if self.has_chat_template() { content.clone() } else { self.ids(&self.always, text) };
        let Some(longest) = longest.filter(|longest| *longest > 0 && whole.len() > *longest) else { return whole };
        let before = whole.windows(content.len().max(1)).position(|ids| ids == content).unwrap_or(0);
        let kept = (longest + content.len()).saturating_sub(whole.len());
        let side = self.job["tok_kwargs"]["truncation_side"].as_str();
        let default = if self.name == "HuggingFaceBaseModel" { "left" } else { "right" };
        let kept = match side.unwrap_or(default) {
            "left" => &content[content.len() - kept..],
            _ => &content[..kept],
        };
        [&whole[..before], kept, &whole[before + content.len()..]].concat()
    }

    fn lengths(&self, expected: &Value) -> Result<(), Difference> {
        let inputs = self.job["inputs"].as_array().expect("it has inputs");
        let length = |input: &Value| self.cut(&self.text(input), None).len();
        equal(&inputs.iter().map(length).collect(), expected)
    }

    /// A batch: the beginning of each text, padded on either side.
    fn intern_train(&self, expected: &Value) -> Result<(), Difference> {
        let (limit, is_left) = (self.number("kwargs", "max_seq_len"), self.job["kwargs"]["left_padding"] == true);
        let bos = self.job["$config"]["bos_token"].as_str().and_then(|bos| self.never.tokenizer().token_to_id(bos));
        for (input, row) in inputs(self.job).zip(rows(expected)) {
            let mut ids: Vec<TokenId> = bos.into_iter().chain(self.ids(&self.never, &self.text(input))).collect();
            let limit = limit.unwrap_or(usize::MAX);
            if ids.len() > limit {
                let half = limit / 2;
                match self.job["attrs"]["mode"].as_str() {
                    Some("mid") => drop(ids.drain(half..ids.len() - half)),
                    _ => ids.truncate(limit),
                }
            }
            let padding = row.len().saturating_sub(ids.len());
            let own = if is_left { &row[padding..] } else { &row[..row.len() - padding] };
            equal(&json!(ids), &json!(own))?;
        }
        Ok(())
    }

    fn calls(&self, calls: &Value) -> Result<(), Difference> {
        let texts: Vec<String> = inputs(self.job).map(|input| self.text(input)).collect();
        let is_single = texts.len() == 1 || self.job["attrs"]["batch_padding"] != true;
        let reserved =
            self.number("kwargs", "max_out_len").filter(|_| is_single || self.has_chat_template()).unwrap_or(0);
        let longest = self.number("attrs", "max_seq_len").unwrap_or(2048);
        let cuts_middle = self.job["attrs"]["mode"] == "mid" || self.job["attrs"]["drop_middle"] == true;
        let mut texts = texts.iter();
        for call in calls.as_array().into_iter().flatten() {
            let masks = call["attention_mask"].as_array();
            if let Some(ids) = call["input_ids"].as_array() {
                for (i, row) in ids.iter().enumerate() {
                    let text = texts.next().expect("a row has an input");
                    let mut row = numbers(row);
                    if let Some(masks) = masks {
                        let mask = numbers(&masks[i]);
                        let mut mask = mask.iter();
                        row.retain(|_| mask.next() == Some(&1));
                    }
                    self.row(text, &row, longest, reserved, cuts_middle)?;
                }
            }
            for input in call["inputs"].as_array().into_iter().flatten() {
                let text = texts.next().expect("an input has one");
                self.input(text, input, longest, cuts_middle)?;
            }
        }
        Ok(())
    }

    /// A row of ids, without its padding.
    fn row(
        &self,
        text: &str,
        row: &[u64],
        longest: usize,
        reserved: usize,
        cuts_middle: bool,
    ) -> Result<(), Difference> {
        let whole = self.cut(text, None);
        let room = longest.saturating_sub(reserved);
        let limit = if self.name == "HuggingFace" { room } else { longest };
        let most = match self.name {
            "HuggingFaceBaseModel" => longest,
            "HuggingFacewithChatTemplate" => 0,
            _ => room,
        };
        if cuts_middle && whole.len() > most {
            return match self.name {
                // Columns are cut, of a batch that is as wide as its longest row.
                "HuggingFacewithChatTemplate" => {
                    let rows = inputs(self.job).map(|input| self.cut(&self.text(input), Some(longest)).len());
                    let width = rows.max().unwrap_or(0);
                    let ids = self.cut(text, Some(longest));
                    let half = if width > room { room / 2 } else { width };
                    let padding = width - ids.len();
                    let is_kept = |column: &usize| half == 0 || *column < half || *column >= width - half;
                    let kept: Vec<TokenId> =
                        (padding..width).filter(is_kept).map(|column| ids[column - padding]).collect();
                    equal(&json!(kept), &json!(row))
                }
                // Ids are cut, and all that fit are kept.
                "HuggingFaceBaseModel" if inputs(self.job).count() == 1 => {
                    let tail = whole.len() - longest.div_ceil(2);
                    equal(&json!([&whole[..longest / 2], &whole[tail..]].concat()), &json!(row))
                }
                "HuggingFaceBaseModel" => equal(&json!(self.cut(text, Some(longest))), &json!(row)),
                _ => Err(Difference::TextCut),
            };
        }
        equal(&json!(self.cut(text, Some(limit))), &json!(row))
    }

    /// An input of an engine that has a tokenizer of its own.
    fn input(&self, text: &str, input: &Value, longest: usize, cuts_middle: bool) -> Result<(), Difference> {
        if let Some(ids) = input.get("prompt_token_ids") {
            equal(&json!(text), &input["prompt"])?;
            return equal(&json!(self.ids(&self.never, text)), ids);
        }
        let tokenizer = self.always.tokenizer();
        match (self.name, cuts_middle) {
            ("VLLM", true) | ("TurboMindModelwithChatTemplate", true) => Err(Difference::TextCut),
            ("TurboMindModel", true) => {
                let ids = self.cut(text, None);
                if ids.len() <= longest {
                    return equal(&json!(text), input);
                }
                let kept = [&ids[..longest / 2], &ids[ids.len() - longest.div_ceil(2)..]].concat();
                let kept = tokenizer.decode(&kept, true).unwrap_or_else(|error| panic!("{error}"));
                equal(&json!(kept), input)
            }
            ("TurboMindModelwithChatTemplate", false) => {
                let bos = self.job["$config"]["bos_token"].as_str().unwrap_or("\0");
                equal(&json!(text.strip_prefix(bos).unwrap_or(text)), input)
            }
            _ => equal(&json!(text), input),
        }
    }
}

fn inputs(job: &Value) -> impl Iterator<Item = &Value> {
    job["inputs"].as_array().into_iter().flatten()
}

fn rows(value: &Value) -> impl Iterator<Item = Vec<u64>> {
    value.as_array().into_iter().flatten().map(numbers)
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

fn equal(found: &Value, expected: &Value) -> Result<(), Difference> {
    if found == expected {
        return Ok(());
    }
    Err(Difference::Other(format!("found {found}, recorded {expected}")))
}
