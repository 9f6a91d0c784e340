//! The engine in process: what it computes equals what `transformers` computes, one prompt or many side by side.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use metatok::batch::{Batch, Pack, Padding, PaddingSide};
use metatok::dataset::records::Record;
use metatok::engine::{CandleDevice, CandleEngine, Engine, GenerationEvent, Request, Requests, Sampling};
use metatok::stop::FinishReason;
use metatok::{Conversation, PromptBuilder, TokenId};
use ndarray::{Array2, ArrayView1, Axis};
use proptest::prelude::*;
use serde::Deserialize;

use crate::harness::{Tests, tests};
use crate::laws;
use crate::root::root;

pub(crate) fn tests() -> Tests {
    tests![
        logits_and_answers_are_those_of_transformers,
        padding_and_packing_change_no_logit,
        padded_and_packed_rows_go_on_as_each_alone,
        every_answer_of_the_demo_ends_by_its_eos,
        a_seed_decides_what_is_drawn,
        the_number_of_sequences_changes_no_answer,
        the_next_turn_reads_only_what_is_new,
        requests_end_by_themselves,
        wrong_models_and_prompts,
        answers_end_where_the_context_does
    ]
}

/// What `transformers` gives for prompts, see tests/data/engine/make.py.
#[derive(Deserialize)]
struct Expected {
    prompts: Vec<Vec<TokenId>>,
    /// After the last token of each.
    logits: Vec<Vec<f32>>,
    greedy: Vec<Vec<TokenId>>,
}

fn folders() -> Vec<PathBuf> {
    let folder = root().join("tests/data/engine");
    let entries = std::fs::read_dir(folder).expect("the models are there").flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}

fn load(folder: &Path) -> CandleEngine {
    CandleEngine::load(&folder.to_string_lossy(), CandleDevice::Cpu).expect("the model can be loaded")
}

/// Requests that are known beforehand, and their tokens.
struct Listed<'p> {
    requests: Vec<Request<'p>>,
    next: usize,
    /// After this many tokens a request is broken off.
    enough: Vec<usize>,
    answers: Vec<Vec<TokenId>>,
    ended: Vec<usize>,
}

impl<'p> Listed<'p> {
    fn new(requests: Vec<Request<'p>>) -> Self {
        let (enough, answers) = (vec![usize::MAX; requests.len()], vec![Vec::new(); requests.len()]);
        Self { requests, next: 0, enough, answers, ended: Vec::new() }
    }
}

impl Requests for Listed<'_> {
    fn next(&mut self) -> metatok::Result<Option<Request<'_>>> {
        self.next += 1;
        Ok(self.requests.get(self.next - 1).copied())
    }

    fn token(&mut self, request: usize, id: TokenId) -> metatok::Result<ControlFlow<()>> {
        self.answers[request].push(id);
        let has_enough = self.answers[request].len() == self.enough[request];
        Ok(if has_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn end(&mut self, request: usize) -> metatok::Result<()> {
        self.ended.push(request);
        Ok(())
    }
}

fn seqs(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("there are some")
}

/// Answers these, this many side by side.
fn generate(engine: &CandleEngine, requests: Vec<Request<'_>>, max_num_seqs: usize) -> Vec<Vec<TokenId>> {
    let mut listed = Listed::new(requests);
    engine.generate(&mut listed, seqs(max_num_seqs)).expect("the prompts can be continued");
    listed.ended.sort_unstable();
    assert!(listed.ended.into_iter().eq(0..listed.answers.len()), "each ends once");
    listed.answers
}

/// All side by side.
fn greedy(engine: &CandleEngine, prompts: &[Vec<TokenId>], max_new_tokens: usize) -> Vec<Vec<TokenId>> {
    generate(engine, prompts.iter().map(|prompt| Request::new(prompt, max_new_tokens)).collect(), prompts.len())
}

#[track_caller]
fn assert_close(logits: ArrayView1<'_, f32>, expected: ArrayView1<'_, f32>, what: &str) {
    for (i, (a, b)) in logits.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{what}: the logit of {i} is {a}, and should be {b}");
    }
}

fn logits_and_answers_are_those_of_transformers() {
    for folder in folders() {
        let expected = std::fs::read(folder.join("expected.json")).expect("it is there");
        let Expected { prompts, logits, greedy: answers } = serde_json::from_slice(&expected).expect("it is JSON");
        let engine = load(&folder);
        let name = folder.display().to_string();
        for (prompt, logits) in prompts.iter().zip(&logits) {
            let all = engine.logits(&Batch::new(&[prompt], Padding::new(0)).expect("they fit")).expect("the logits");
            let last = all.index_axis(Axis(0), 0);
            assert_close(last.row(last.nrows() - 1), ArrayView1::from(logits), &name);
        }
        for (prompt, answer) in prompts.iter().zip(&answers) {
            assert_eq!(greedy(&engine, std::slice::from_ref(prompt), answer.len())[0], *answer, "{name}");
        }
        assert_eq!(greedy(&engine, &prompts, answers[0].len()), answers, "{name}: side by side");
    }
}

/// The demo's prompts, and what is asked in them.
fn demo_prompts(builder: &PromptBuilder) -> Vec<Vec<TokenId>> {
    let conversations = std::fs::read_to_string(root().join("models/demo/conversations.jsonl"));
    let conversations = conversations.expect("they are there");
    let build = |line| {
        let conversation: Conversation = Record::parse(line).expect("a conversation").conversation;
        builder.build(&conversation).expect("a prompt").input_ids
    };
    conversations.lines().map(build).collect()
}

/// The demo with its prompts, and each tiny model with prompts of all lengths.
fn subjects() -> Vec<(CandleEngine, Vec<Vec<TokenId>>)> {
    let (builder, engine) = (PromptBuilder::demo().expect("the demo"), CandleEngine::demo().expect("its weights"));
    let prompts: Vec<Vec<TokenId>> = (1..24).map(|len| (0..len).map(|i| (i * i + len) % 40).collect()).collect();
    let tiny = folders().into_iter().map(|folder| (load(&folder), prompts.clone()));
    std::iter::once((engine, demo_prompts(&builder))).chain(tiny).collect()
}

/// Padding by an id that is one of the model's.
fn padding(padding_side: PaddingSide) -> Padding {
    Padding { padding_side, pad_to_multiple_of: NonZeroUsize::new(16).expect("16"), pad_token_id: 7 }
}

fn padding_and_packing_change_no_logit() {
    for (engine, prompts) in subjects() {
        let alone =
            |prompt| engine.logits(&Batch::new(&[prompt], Padding::new(0)).expect("they fit")).expect("the logits");
        let alone: Vec<_> = prompts.iter().map(alone).collect();
        let same = |row: ArrayView1<'_, f32>, prompt: usize, token: usize, what: &str| {
            let alone = alone[prompt].index_axis(Axis(0), 0);
            assert_close(row, alone.row(token), &format!("{what}: prompt {prompt}, token {token}"));
        };
        for side in [PaddingSide::Left, PaddingSide::Right] {
            let batch = Batch::new(&prompts, padding(side)).expect("they fit");
            let logits = engine.logits(&batch).expect("the logits");
            let mask: Array2<u32> = batch.attention_mask();
            for (prompt, row) in logits.axis_iter(Axis(0)).enumerate() {
                let known = row.outer_iter().zip(mask.row(prompt)).filter(|(_, is_there)| **is_there == 1);
                known.enumerate().for_each(|(token, (row, _))| same(row, prompt, token, "padded"));
            }
        }
        let pack = Pack::new(&prompts, 64.max(longest(&prompts)), 7).expect("they can be packed");
        assert!(pack.input_ids.nrows() < prompts.len(), "some share a row");
        let logits = engine.packed_logits(&pack).expect("the logits");
        for (prompt, place) in pack.places.iter().enumerate() {
            let row = logits.index_axis(Axis(0), place.row);
            (0..place.len).for_each(|token| same(row.row(place.start + token), prompt, token, "packed"));
        }
    }
}

fn longest(prompts: &[Vec<TokenId>]) -> usize {
    prompts.iter().map(Vec::len).max().unwrap_or_default()
}

/// The likeliest token, the first of several.
fn likeliest(logits: ArrayView1<'_, f32>) -> TokenId {
    (0..).zip(logits).fold((0, f32::MIN), |best, (id, &logit)| if logit > best.1 { (id, logit) } else { best }).0
}

/// Goes on from packed rows, packed anew for each token.
fn greedy_packed(engine: &CandleEngine, prompts: &[Vec<TokenId>], tokens: usize) -> Vec<Vec<TokenId>> {
    let mut texts = prompts.to_vec();
    for _ in 0..tokens {
        let pack = Pack::new(&texts, 64.max(longest(&texts)), 7).expect("they can be packed");
        let logits = engine.packed_logits(&pack).expect("the logits");
        for (text, place) in texts.iter_mut().zip(&pack.places) {
            text.push(likeliest(logits.index_axis(Axis(0), place.row).row(place.start + place.len - 1)));
        }
    }
    texts.iter().zip(prompts).map(|(text, prompt)| text[prompt.len()..].to_vec()).collect()
}

fn padded_and_packed_rows_go_on_as_each_alone() {
    for (engine, prompts) in subjects() {
        let alone = |prompt| greedy(&engine, std::slice::from_ref(prompt), 12).remove(0);
        let alone: Vec<_> = prompts.iter().map(alone).collect();
        assert_eq!(greedy(&engine, &prompts, 12), alone);
        assert_eq!(greedy_packed(&engine, &prompts, 12), alone);
    }
}

fn every_answer_of_the_demo_ends_by_its_eos() {
    let (builder, engine) = (PromptBuilder::demo().expect("the demo"), CandleEngine::demo().expect("its weights"));
    let prompts = demo_prompts(&builder);
    let requests: Vec<_> = prompts.iter().map(|prompt| Request::new(prompt, 100)).collect();
    let mut streamed = vec![String::new(); prompts.len()];
    let mut ended = Vec::new();
    let mut watch = |i: usize, progress: GenerationEvent<'_>| {
        match progress {
            GenerationEvent::Text(text) => streamed[i] += text,
            GenerationEvent::End(_) => ended.push(i),
            _ => {}
        }
        Ok(())
    };
    let trimmer = builder.trimmer().expect("a trimmer");
    let completions = engine.complete(&requests, &trimmer, &mut watch).expect("answers");
    for (completion, streamed) in completions.iter().zip(&streamed) {
        assert!(matches!(completion.finish_reason, FinishReason::StopToken(1050 | 1052)), "{completion:?}");
        assert!(!completion.token_ids.is_empty() && !completion.text.contains("<|"), "{completion:?}");
        assert_eq!(completion.text, *streamed);
    }
    ended.sort_unstable();
    assert_eq!(ended, (0..prompts.len()).collect::<Vec<_>>(), "each ends once");
}

fn a_seed_decides_what_is_drawn() {
    let engine = load(&folders()[0]);
    let draw = |seed, stream, beside: usize| {
        let sampling = Sampling { temperature: 1.5, top_p: 0.95, seed, stream, ..Sampling::default() };
        let request = Request { sampling, ..Request::new(&[3, 1, 4], 12) };
        generate(&engine, vec![request; beside], 3).remove(0)
    };
    assert_eq!(draw(1, 0, 1), draw(1, 0, 1));
    assert_eq!(draw(1, 0, 1), draw(1, 0, 3), "whatever stands beside it");
    assert_ne!(draw(1, 0, 1), draw(2, 0, 1));
    assert_ne!(draw(1, 0, 1), draw(1, 1, 1));
}

proptest! {
    #![proptest_config(laws::cases(64))]

    /// Requests end where they are told to, and take no others along.
    fn requests_end_by_themselves(lengths in prop::collection::vec((1..20_usize, 0..9_usize, 0..9_usize), 1..6), side_by_side in 1..4_usize) {
        let engine = load(&folders()[0]);
        let prompts: Vec<Vec<TokenId>> =
            lengths.iter().map(|(len, ..)| (0..*len as u32).map(|i| (i * 7 + *len as u32) % 40).collect()).collect();
        let limited = prompts.iter().zip(&lengths).map(|(prompt, (_, max, _))| Request::new(prompt, *max));
        let mut listed = Listed::new(limited.collect());
        listed.enough = lengths.iter().map(|(.., stop)| *stop).collect();
        engine.generate(&mut listed, seqs(side_by_side)).expect("answers");
        let answers = listed.answers;
        for (i, (_, max, stop)) in lengths.iter().enumerate() {
            let expected = if *stop == 0 { *max } else { *max.min(stop) };
            prop_assert_eq!(&answers[i], &greedy(&engine, &prompts[i..=i], expected)[0]);
        }
    }
}

/// What cannot be, and what is said of it.
fn wrong_models_and_prompts() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = root().join("tests/data/engine/llama");
    let config = std::fs::read_to_string(source.join("config.json")).expect("it is there");
    let weights = std::fs::read(source.join("model.safetensors")).expect("they are there");
    let cases = [
        (
            "LlamaForCausalLM",
            "GPT2LMHeadModel",
            "config.json: architectures names GPT2LMHeadModel, but metatok supports LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM",
        ),
        ("\"silu\"", "\"gelu\"", "config.json: hidden_act is \"gelu\", but metatok only supports \"silu\""),
        (
            "\"num_key_value_heads\": 2",
            "\"num_key_value_heads\": 3",
            "config.json: 4 attention heads cannot share 3 key-value heads",
        ),
        (
            "\"num_hidden_layers\": 2",
            "\"num_hidden_layers\": 3",
            "num_hidden_layers is 3, but the weights have 2 layers; use the config.json that belongs to these weights",
        ),
        (
            "\"num_hidden_layers\": 2",
            "\"num_hidden_layers\": 18446744073709551615",
            "num_hidden_layers is 18446744073709551615, but the weights have 2 layers; use the config.json that belongs to these weights",
        ),
        (
            "\"num_hidden_layers\": 2",
            "\"num_hidden_layers\": 0",
            "config.json: num_hidden_layers is 0, but a model needs at least one layer",
        ),
        (
            "\"head_dim\": 4",
            "\"head_dim\": 4611686018427387904",
            "config.json: 4 attention heads of size 4611686018427387904 are too large",
        ),
        (
            "\"num_attention_heads\": 4",
            "\"num_attention_heads\": 0",
            "config.json: 0 attention heads cannot share 2 key-value heads",
        ),
        (
            "\"num_hidden_layers\": 2",
            "\"num_hidden_layers\": 1",
            "the weights have a tensor model.layers.1.input_layernorm.weight, which such a model does not use",
        ),
        (
            "\"vocab_size\": 40",
            "\"vocab_size\": 41",
            "the tensor model.embed_tokens.weight has the shape [40, 16], but config.json requires [41, 16]",
        ),
        ("\"default\"", "\"yarn\"", "rope type \"yarn\" is not supported; choose default, linear or llama3"),
        ("\"default\"", "\"linear\"", "rope scaling has no factor"),
    ];
    let name = folder.path().to_string_lossy().into_owned();
    std::fs::write(folder.path().join("model.safetensors"), &weights).expect("written");
    let message =
        || CandleEngine::load(&name, CandleDevice::Cpu).err().map_or("none".into(), |error| error.to_string());
    assert_eq!(
        message(),
        format!(
            "{name}: there is no config.json; a model must be a folder, or a repository of the hub, with config.json and model.safetensors"
        )
    );
    for (from, to, expected) in cases {
        assert!(config.contains(from), "{from} is in the file");
        std::fs::write(folder.path().join("config.json"), config.replacen(from, to, 1)).expect("written");
        assert_eq!(message(), format!("{name}: {expected}"));
    }
    std::fs::write(folder.path().join("config.json"), &config).expect("written");
    std::fs::write(folder.path().join("model.safetensors"), &weights[..weights.len() / 2]).expect("written");
    assert!(message().starts_with(&format!("{name}: {name}/model.safetensors: ")), "{}", message());

    // A repository names no files but its own.
    for file in ["../x", "/etc/passwd", "..", "a/../../x", ""] {
        let index = serde_json::json!({ "weight_map": { "x": file } }).to_string();
        std::fs::write(folder.path().join("model.safetensors.index.json"), index).expect("written");
        let what =
            format!("model.safetensors.index.json: weight_map names {file:?}, but there is no such file next to it");
        assert_eq!(message(), format!("{name}: {what}"));
    }

    let engine = load(&source);
    let refused = |input_ids: &[TokenId], sampling| {
        let request = Request { sampling, ..Request::new(input_ids, 1) };
        let error = engine.generate(&mut Listed::new(vec![request]), seqs(1)).err();
        error.map_or("none".into(), |error| error.to_string())
    };
    let greedy = Sampling::default();
    assert_eq!(refused(&[], greedy), "request 0: there are no tokens to continue");
    assert_eq!(refused(&[1, 40], greedy), "request 0: token id 40 is outside the vocabulary (40 tokens)");
    assert_eq!(
        refused(&[1; 65], greedy),
        "request 0: there are 65 tokens, but the model's context has room for only 64"
    );
    assert_eq!(refused(&[1], Sampling { top_p: 0.0, ..greedy }), "top_p is 0, but must be above 0 and at most 1");
    let too_many = engine.generate(&mut Listed::new(Vec::new()), seqs(4097)).err().map(|error| error.to_string());
    assert_eq!(too_many.as_deref(), Some("4097 sequences side by side are too many; the most is 4096"));
    assert_eq!(
        refused(&[1], Sampling { temperature: -1.0, ..greedy }),
        "temperature is -1, but must be a finite number, 0 or more"
    );
}

/// Answers of 1 to 100 tokens, greedy and sampled.
fn the_number_of_sequences_changes_no_answer() {
    let engine = CandleEngine::demo().expect("its weights");
    let prompts = demo_prompts(&PromptBuilder::demo().expect("the demo"));
    for temperature in [0.0, 1.2] {
        let answers = |max_num_seqs| {
            let request = |(i, prompt): (usize, _)| {
                let sampling = Sampling { temperature, stream: i as u64, ..Sampling::default() };
                Request { sampling, ..Request::new(prompt, 1 + 9 * i) }
            };
            let prompts = prompts.iter().take(12).map(Vec::as_slice);
            generate(&engine, prompts.enumerate().map(request).collect(), max_num_seqs)
        };
        let alone = answers(1);
        assert!(alone.iter().any(|answer| answer.len() == 1) && alone.iter().any(|answer| answer.len() > 90));
        for max_num_seqs in [2, 3, 8] {
            assert_eq!(answers(max_num_seqs), alone, "{max_num_seqs} side by side");
        }
    }
}

/// A dialogue: what is said to each answer, which every next prompt begins with.
struct Talk<'t> {
    prompt: Vec<TokenId>,
    said: std::slice::Iter<'t, Vec<TokenId>>,
    dialogue: Option<u64>,
    is_answering: bool,
    answer: Vec<TokenId>,
    answers: Vec<Vec<TokenId>>,
    prompt_tokens: usize,
    cached_tokens: usize,
}

impl Requests for Talk<'_> {
    fn next(&mut self) -> metatok::Result<Option<Request<'_>>> {
        if self.is_answering {
            return Ok(None);
        }
        let Some(said) = self.said.next() else { return Ok(None) };
        self.is_answering = true;
        self.prompt.append(&mut self.answer);
        self.prompt.extend(said);
        self.prompt_tokens += self.prompt.len();
        Ok(Some(Request { dialogue: self.dialogue, ..Request::new(&self.prompt, 7) }))
    }

    fn prefilled(&mut self, _: usize, cached_tokens: usize) -> metatok::Result<()> {
        self.cached_tokens += cached_tokens;
        Ok(())
    }

    fn token(&mut self, _: usize, id: TokenId) -> metatok::Result<ControlFlow<()>> {
        self.answer.push(id);
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _: usize) -> metatok::Result<()> {
        self.is_answering = false;
        self.answers.push(self.answer.clone());
        Ok(())
    }
}

fn the_next_turn_reads_only_what_is_new() {
    let builder = PromptBuilder::demo().expect("the demo");
    let engine = CandleEngine::demo().expect("its weights");
    for said in demo_prompts(&builder).chunks(4) {
        let talk = |dialogue| {
            let said = said.iter();
            let mut talk = Talk {
                prompt: Vec::new(),
                said,
                dialogue,
                is_answering: false,
                answer: Vec::new(),
                answers: Vec::new(),
                prompt_tokens: 0,
                cached_tokens: 0,
            };
            engine.generate(&mut talk, seqs(3)).expect("answers");
            talk
        };
        let (kept, anew) = (talk(Some(5)), talk(None));
        assert_eq!(kept.answers, anew.answers);
        assert_eq!(anew.cached_tokens, 0);
        // All that was said, and the last token of each answer, which no step read.
        let new: usize = said.iter().map(Vec::len).sum::<usize>() + said.len() - 1;
        assert_eq!(kept.prompt_tokens - kept.cached_tokens, new);
    }
}

fn answers_end_where_the_context_does() {
    let engine = load(&folders()[0]);
    assert_eq!(greedy(&engine, &[vec![1; 60], vec![1; 3]], 100).iter().map(Vec::len).collect::<Vec<_>>(), [4, 61]);
}
