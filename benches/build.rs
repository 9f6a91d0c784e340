//! Compares building prompts with joining a string and encoding it, with either library.
//!
//! There are two workloads, with questions and answers as long as those of gsm8k: five-shot prompts, which share their
//! examples, and multi-turn dialogues, which share nothing. New prompts are made for every iteration, outside the measured
//! time. The libraries get joined strings, so their figures include only encoding. Uses a real tokenizer
//! (`../shared/tokenizers/qwen3`, or `$METATOK_BENCH_TOKENIZER`) if there is one, else the demo's.
#![allow(clippy::print_stdout, reason = "what is measured is said")]
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use metatok::compile::CompiledTemplate;
use metatok::conversation::{Item, Marker, Message, Section};
use metatok::dataset::{RowPrompter, Value};
use metatok::tokenizer::TokenizerFiles;
use metatok::{
    AddSpecialTokens, BuilderOptions, Conversation, Dataset, Model, PromptBuilder, Row, TokenizedPrompt, Tokenizer,
};
use tokenizers::pipeline::{EncodeOptions, PipelineToken, PipelineTokenizer};

/// How many prompts a thread makes in an iteration: few enough to be in its caches, as what was just read is.
const PROMPTS: usize = 100;
/// The words of a question and of an answer.
const QUESTION: usize = 46;
const ANSWER: usize = 60;

fn files() -> TokenizerFiles {
    let real = std::env::var("METATOK_BENCH_TOKENIZER").unwrap_or_else(|_| "../shared/tokenizers/qwen3".into());
    // `cargo test` runs it too, to see that it does.
    let measures = std::env::args().any(|arg| arg == "--bench");
    let name = if measures && Path::new(&real).exists() { &real } else { "demo" };
    Tokenizer::files(name).expect("the tokenizer can be read")
}

/// ChatML by strings, which every ChatML tokenizer understands.
fn model() -> Model {
    let role = |role: &str, name: &str, generate: bool| serde_json::json!({ "role": role, "begin": format!("<|im_start|>{name}\n"), "end": "<|im_end|>\n", "generate": generate });
    let template = serde_json::json!({
        "round": [role("HUMAN", "user", false), role("BOT", "assistant", true)], "reserved_roles": [role("SYSTEM", "system", false)],
    });
    Model { meta_template: Some(serde_json::from_value(template).expect("it is a template")), ..Model::default() }
}

/// Words of the demo's English corpus in an order that never repeats: a linear congruential generator.
struct Words {
    words: Vec<&'static str>,
    state: u64,
}

impl Words {
    fn new(seed: u64) -> Self {
        let corpus = include_str!("../models/demo/corpus.txt").lines().filter(|line| line.is_ascii());
        Self { words: corpus.flat_map(str::split_whitespace).collect(), state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.state >> 33
    }

    fn say(&mut self, words: usize) -> String {
        let count = self.words.len();
        let places: Vec<_> = (0..words).map(|_| self.next() as usize % count).collect();
        let words: Vec<_> = places.into_iter().map(|place| self.words[place]).collect();
        words.join(" ")
    }
}

fn marker(section: Section, opens: bool) -> Item {
    Item::Marker(Marker { section, opens, has_extra_keys: false })
}

/// Makes one conversation after the other, no two alike.
type Workload = Box<dyn FnMut() -> Conversation>;

fn five_shot(seed: u64) -> Workload {
    let mut words = Words::new(seed);
    let examples: Vec<(String, String)> = (0..5).map(|_| (words.say(QUESTION), words.say(ANSWER))).collect();
    Box::new(move || {
        let mut items = Vec::new();
        for (question, answer) in &examples {
            items.push(marker(Section::Ice, true));
            items.push(Message::new("HUMAN", question).into());
            items.push(Message::new("BOT", answer).into());
            items.push(marker(Section::Ice, false));
        }
        items.push(marker(Section::Round, true));
        items.push(Message::new("HUMAN", words.say(QUESTION)).into());
        items.push(Message::new("BOT", "").into());
        items.push(marker(Section::Round, false));
        Conversation::List(items)
    })
}

fn multi_turn(seed: u64) -> Workload {
    let mut words = Words::new(seed);
    Box::new(move || {
        let mut items = vec![marker(Section::Round, true)];
        for _ in 0..5 {
            items.push(Message::new("HUMAN", words.say(QUESTION)).into());
            items.push(Message::new("BOT", words.say(ANSWER)).into());
        }
        items.push(marker(Section::Round, false));
        Conversation::List(items)
    })
}

fn builder(tokenizer: Arc<Tokenizer>, text: bool) -> PromptBuilder {
    let options = BuilderOptions { text, special_tokens: Some(AddSpecialTokens::Never), ..BuilderOptions::default() };
    PromptBuilder::new(&model(), tokenizer, &options).expect("the template fits")
}

/// The time of this many batches on every thread. Each thread makes its own, which is not counted.
fn time<T, S: FnMut(&T)>(
    batches: u64,
    threads: u64,
    batch: impl Fn(&mut Workload) -> Vec<T> + Sync,
    workload: fn(u64) -> Workload,
    step: impl Fn() -> S + Sync,
) -> Duration {
    let one = || {
        // Never twice the same, or the cache of runs would know what is said to be new.
        static SEED: AtomicU64 = AtomicU64::new(1);
        let (mut workload, mut step) = (workload(SEED.fetch_add(1, Ordering::Relaxed)), step());
        let timed = |_| {
            let batch = batch(&mut workload);
            let started = Instant::now();
            batch.iter().for_each(&mut step);
            started.elapsed()
        };
        (0..batches).map(timed).sum()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().map(|worker| worker.join().expect("measuring does not panic")).max().unwrap_or_default()
    })
}

fn build(criterion: &mut Criterion) {
    let files = files();
    let tokenizer = Arc::new(Tokenizer::new(&files).expect("the tokenizer loads"));
    let fast = fast(&files);
    let classic = tokenizers_classic::Tokenizer::from_bytes(&files.tokenizer_json).expect("the library loads it");
    let all = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    for (name, workload) in [("5-shot", five_shot as fn(u64) -> Workload), ("multi-turn", multi_turn)] {
        let metatok = builder(Arc::clone(&tokenizer), false);
        let joiner = builder(Arc::clone(&tokenizer), true);
        let conversations =
            |workload: &mut Workload| -> Vec<Conversation> { (0..PROMPTS).map(|_| workload()).collect() };
        let join = |conversation: &Conversation| {
            joiner.build(conversation).expect("it builds").text.expect("it was asked for")
        };
        let texts = |workload: &mut Workload| -> Vec<String> { conversations(workload).iter().map(join).collect() };
        check(name, &metatok, &fast, &conversations(&mut workload(0)), join);

        let mut group = criterion.benchmark_group(name);
        group.warm_up_time(Duration::from_secs(1)).sample_size(30);
        for threads in if all > 1 { vec![1, all] } else { vec![1] } {
            group.throughput(Throughput::Elements(threads * PROMPTS as u64));
            group.bench_function(format!("metatok, threads: {threads}"), |bench| {
                let step = || {
                    let (mut session, mut prompt) = (metatok.session(), TokenizedPrompt::default());
                    move |conversation: &Conversation| {
                        session.build_into(conversation, &mut prompt).expect("it builds");
                        black_box(&prompt);
                    }
                };
                bench.iter_custom(|batches| time(batches, threads, conversations, workload, step));
            });
            group.bench_function(format!("fast encode_into of the joined string, threads: {threads}"), |bench| {
                let step = || {
                    let (mut ids, options): (Vec<PipelineToken>, _) = (Vec::new(), EncodeOptions::no_specials());
                    let fast = &fast;
                    move |text: &String| {
                        ids.clear();
                        fast.encode_into(text, &options, &mut ids).expect("it encodes");
                        black_box(&ids);
                    }
                };
                bench.iter_custom(|batches| time(batches, threads, texts, workload, step));
            });
        }
        group.throughput(Throughput::Elements(PROMPTS as u64)).sample_size(10);
        group.bench_function("classic encode of the joined string, threads: 1", |bench| {
            let step = || |text: &String| drop(black_box(classic.encode_fast(text.as_str(), false)));
            bench.iter_custom(|batches| time(batches, 1, texts, workload, step));
        });
        group.finish();
    }
}

/// What is measured side by side must be equal.
fn check(
    name: &str,
    metatok: &PromptBuilder,
    fast: &PipelineTokenizer,
    conversations: &[Conversation],
    join: impl Fn(&Conversation) -> String,
) {
    let (mut tokens, mut bytes) = (0, 0);
    for conversation in conversations {
        let text = join(conversation);
        let mut ids = Vec::new();
        fast.encode_into(&text, &EncodeOptions::no_specials(), &mut ids).expect("it encodes");
        assert_eq!(metatok.build(conversation).expect("it builds").input_ids, PipelineToken::cast_slice(&ids));
        tokens += ids.len();
        bytes += text.len();
    }
    let prompts = conversations.len();
    println!(
        "{name}: {} tokens and {} bytes a prompt, {}",
        tokens / prompts,
        bytes / prompts,
        metatok.tokenizer().name()
    );
}

fn fast(files: &TokenizerFiles) -> PipelineTokenizer {
    let json = std::str::from_utf8(&files.tokenizer_json).expect("it is UTF-8");
    tokenizers::from_json(&tokenizers::canonicalize_str(json).expect("it is canonical")).expect("the library loads it")
}

/// Rows of a dataset with five examples, beside formatting the string by hand and encoding it.
fn rows(criterion: &mut Criterion) {
    let files = files();
    let metatok = builder(Arc::new(Tokenizer::new(&files).expect("the tokenizer loads")), false);
    let fast = fast(&files);
    let dataset = Dataset::parse("bench.toml", DATASET.as_bytes()).expect("it is a dataset");
    let mut words = Words::new(u64::MAX);
    let mut row = move || {
        let column = |name: &str, text: String| (name.to_owned(), Value::Text(text));
        Row::new(vec![column("question", words.say(QUESTION)), column("answer", words.say(ANSWER))])
    };
    let train: Vec<Row> = (0..5).map(|_| row()).collect();
    let text = |row: &Row, column: &str| row.get(column).expect("it has it").text().into_owned();
    let example = |row: &Row| {
        let (question, answer) = (text(row, "question"), text(row, "answer"));
        format!("<|im_start|>user\nQuestion: {question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n")
    };
    let examples: String = train.iter().map(example).collect();
    let format = |row: &Row| {
        let question = text(row, "question");
        format!("{examples}<|im_start|>user\nQuestion: {question}<|im_end|>\n<|im_start|>assistant\n")
    };
    let mut prompter = RowPrompter::new(dataset, train).expect("its templates fit together");
    let mut prompt = |row: &Row| {
        let mut prompts = prompter.prompts(row, (0..5).collect(), |_| Ok(0)).expect("it fits the template");
        prompts.pop().expect("it has one").conversation
    };
    let encode = |text: &str, ids: &mut Vec<PipelineToken>| {
        ids.clear();
        fast.encode_into(text, &EncodeOptions::no_specials(), ids).expect("it encodes");
    };
    let first = row();
    let mut ids = Vec::new();
    encode(&format(&first), &mut ids);
    assert_eq!(metatok.build(&prompt(&first)).expect("it builds").input_ids, PipelineToken::cast_slice(&ids));

    let mut group = criterion.benchmark_group("5-shot rows");
    group.warm_up_time(Duration::from_secs(1)).sample_size(30).throughput(Throughput::Elements(PROMPTS as u64));
    let mut batch = move || (0..PROMPTS).map(|_| row()).collect::<Vec<Row>>();
    group.bench_function("metatok", |bench| {
        let (mut session, mut built) = (metatok.session(), TokenizedPrompt::default());
        let mut step = |row: &Row| {
            session.build_into(&prompt(row), &mut built).expect("it builds");
            black_box(&built);
        };
        bench.iter_batched(&mut batch, |rows| rows.iter().for_each(&mut step), BatchSize::LargeInput);
    });
    group.bench_function("format, then fast encode_into", |bench| {
        let mut step = |row: &Row| {
            encode(&format(row), &mut ids);
            black_box(&ids);
        };
        bench.iter_batched(&mut batch, |rows| rows.iter().for_each(&mut step), BatchSize::LargeInput);
    });
    group.finish();
}

const DATASET: &str = r#"
[reader_cfg]
output_column = "answer"
[infer_cfg.ice_template]
template = { round = [{ role = "HUMAN", prompt = "Question: {question}" }, { role = "BOT", prompt = "{answer}" }] }
[infer_cfg.prompt_template]
ice_token = "</E>"
template = { begin = "</E>", round = [{ role = "HUMAN", prompt = "Question: {question}" }, { role = "BOT", prompt = "" }] }
"#;

fn compile(criterion: &mut Criterion) {
    let tokenizer = Tokenizer::new(&files()).expect("the tokenizer loads");
    let template = model().meta_template.expect("it has one");
    criterion.bench_function("compile", |bench| bench.iter(|| CompiledTemplate::new(&template, &tokenizer)));
}

fn load(criterion: &mut Criterion) {
    let files = files();
    let mut group = criterion.benchmark_group("load");
    group.sample_size(10);
    group.bench_function("metatok", |bench| bench.iter(|| Tokenizer::new(&files).expect("the tokenizer loads")));
    group.bench_function("fast library", |bench| bench.iter(|| fast(&files)));
    group.bench_function("classic library", |bench| {
        bench.iter(|| tokenizers_classic::Tokenizer::from_bytes(&files.tokenizer_json).expect("the library loads it"));
    });
    group.finish();
}

criterion_group!(benches, build, rows, compile, load);
criterion_main!(benches);
