//! Trains the demo's model on the demo's questions, from the same numbers every time.
//!
//! `cargo run --release --features candle --example train_demo_model` writes models/demo/config.json and
//! model.safetensors, in a minute or two. Other processors may round otherwise, and give other weights that answer as well.

#![allow(clippy::print_stderr, reason = "it is a program, and people wait for it")]

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use candle_core::{D, DType, Device, Tensor, Var};
use candle_nn::ops::{log_softmax, rms_norm_slow, softmax};
use candle_nn::rotary_emb::rope_slow;
use candle_nn::{AdamW, Optimizer, ParamsAdamW};
use metatok::batch::{Batch, Padding, PaddingSide};
use metatok::builder::IGNORE_INDEX;
use metatok::dataset::records::Record;
use metatok::{ChatMessage, Conversation, PromptBuilder, TokenId};
use rand_mt::Mt64;

const HIDDEN: usize = 64;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const KEY_VALUE_HEADS: usize = 2;
const HEAD_DIM: usize = HIDDEN / HEADS;
const INTERMEDIATE: usize = 192;
const EPS: f32 = 1e-6;
const THETA: f64 = 10_000.0;

const STEPS: usize = 400;
const BATCH: usize = 48;
const LEARNING_RATE: f64 = 4e-3;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo");
    let builder = PromptBuilder::demo()?;
    let examples = examples(&folder, &builder)?;
    let vocabulary = builder.tokenizer().vocab_size();
    let weights = train(&examples, vocabulary, builder.padding()?)?;
    let weights: HashMap<&str, Tensor> =
        weights.iter().map(|(name, weight)| (name.as_str(), weight.as_tensor().clone())).collect();
    candle_core::safetensors::save(&weights, folder.join("model.safetensors"))?;
    let config = serde_json::json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "max_position_embeddings": 2048,
        "rms_norm_eps": EPS,
        "rope_theta": THETA,
        "hidden_act": "silu",
        "tie_word_embeddings": true,
    });
    std::fs::write(folder.join("config.json"), format!("{config:#}\n"))?;
    Ok(())
}

/// A prompt with its answer, and what is learned of it: the answer, and where it ends.
struct Example {
    input_ids: Vec<TokenId>,
    labels: Vec<i64>,
}

/// Every answer in the demo's conversations, and the questions that the tokenizer's text asks and answers.
fn examples(folder: &Path, builder: &PromptBuilder) -> Result<Vec<Example>> {
    let conversations = std::fs::read_to_string(folder.join("conversations.jsonl"))?;
    let corpus = std::fs::read_to_string(folder.join("corpus.txt"))?;
    let mut examples = Vec::new();
    let mut add = |conversation: &Conversation, answer: &str, stop: &str| -> Result<()> {
        let mut input_ids = builder.build(conversation)?.input_ids;
        let mut labels = vec![IGNORE_INDEX; input_ids.len()];
        let stop = builder.tokenizer().token_to_id(stop).ok_or("the tokenizer has the stop")?;
        let answer = [builder.tokenizer().encode(answer)?, vec![stop]].concat();
        labels.extend(answer.iter().map(|&id| i64::from(id)));
        input_ids.extend(answer);
        examples.push(Example { input_ids, labels });
        Ok(())
    };
    for line in conversations.lines() {
        match Record::parse(line)?.conversation {
            Conversation::Messages(messages) => {
                for (i, message) in messages.iter().enumerate().filter(|(_, message)| message.role == "assistant") {
                    let answer = message.content.as_text().ok_or("an answer is text")?;
                    add(&Conversation::Messages(messages[..i].to_vec()), answer, "<|im_end|>")?;
                }
            }
            list @ Conversation::List(_) => add(&list, "4", "<|im_end|>")?,
            Conversation::Text(begin) => {
                let rest = corpus.split_once(&begin).and_then(|(_, rest)| rest.split_inclusive('.').next());
                let rest = rest.ok_or("the corpus goes on from there")?.to_owned();
                add(&Conversation::Text(begin), &rest, "<|endoftext|>")?;
            }
            Conversation::Chat(_) => return Err("the demo has no tools".into()),
        }
    }
    for line in corpus.lines() {
        for (question, answer) in asked(line) {
            let question = ChatMessage::new("user", question);
            add(&Conversation::Messages(vec![question]), answer, "<|im_end|>")?;
        }
    }
    Ok(examples)
}

/// Questions, each with the sentence after it.
fn asked(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let sentences: Vec<&str> = line.split_inclusive(['.', '?', '!']).map(str::trim).collect();
    let pairs: Vec<(&str, &str)> = sentences.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter().filter(|(question, answer)| question.ends_with('?') && answer.ends_with('.'))
}

type Weights = HashMap<String, Var>;

fn train(examples: &[Example], vocabulary: usize, padding: Padding) -> Result<Weights> {
    let mut random = Mt64::new(2026);
    let weights = initial(vocabulary, &mut random)?;
    let mut names: Vec<&String> = weights.keys().collect();
    names.sort();
    let vars = names.into_iter().map(|name| weights[name].clone()).collect();
    let mut optimizer = AdamW::new(vars, ParamsAdamW { lr: LEARNING_RATE, weight_decay: 0.01, ..Default::default() })?;
    for step in 0..STEPS {
        let (warm, done) = ((step + 1) as f64 / 50.0, step as f64 / STEPS as f64);
        optimizer.set_learning_rate(LEARNING_RATE * warm.min(1.0) * (1.0 - done).max(0.02));
        let chosen: Vec<&Example> =
            (0..BATCH).map(|_| &examples[(random.next_u64() % examples.len() as u64) as usize]).collect();
        let loss = loss(&weights, &chosen, padding)?;
        optimizer.backward_step(&loss)?;
        if step % 50 == 0 || step + 1 == STEPS {
            eprintln!("step {step}: loss {:.4}", loss.to_scalar::<f32>()?);
        }
    }
    Ok(weights)
}

/// How far the model is from the answers, per token.
fn loss(weights: &Weights, examples: &[&Example], padding: Padding) -> Result<Tensor> {
    let padding = Padding { padding_side: PaddingSide::Right, ..padding };
    let prompts: Vec<&[TokenId]> = examples.iter().map(|example| example.input_ids.as_slice()).collect();
    let labels: Vec<&[i64]> = examples.iter().map(|example| example.labels.as_slice()).collect();
    let batch: Batch<u32> = Batch::new(&prompts, padding).expect("they fit");
    let labels = batch.labels(&labels)?;
    let (rows, tokens) = batch.input_ids.dim();
    let input_ids = Tensor::from_vec(batch.input_ids.into_raw_vec_and_offset().0, (rows, tokens), &Device::Cpu)?;
    let logits = logits(weights, &input_ids)?;
    // What is learned is the token after each.
    let learned: Vec<(u32, u32)> = (0..rows * tokens)
        .filter(|place| (place + 1) % tokens != 0)
        .filter_map(|place| Some((place as u32, u32::try_from(labels[[place / tokens, place % tokens + 1]]).ok()?)))
        .collect();
    let (places, ids): (Vec<u32>, Vec<u32>) = learned.into_iter().unzip();
    let logits = logits.flatten_to(1)?.index_select(&Tensor::new(places, &Device::Cpu)?, 0)?;
    let ids = Tensor::new(ids, &Device::Cpu)?.unsqueeze(1)?;
    Ok(log_softmax(&logits, D::Minus1)?.gather(&ids, 1)?.mean_all()?.neg()?)
}

/// Small numbers, and ones for the norms.
fn initial(vocabulary: usize, random: &mut Mt64) -> Result<Weights> {
    let keys = KEY_VALUE_HEADS * HEAD_DIM;
    let mut shapes = vec![("model.embed_tokens.weight".to_owned(), vec![vocabulary, HIDDEN])];
    for layer in 0..LAYERS {
        let of_layer = [
            ("input_layernorm", vec![HIDDEN]),
            ("self_attn.q_proj", vec![HIDDEN, HIDDEN]),
            ("self_attn.k_proj", vec![keys, HIDDEN]),
            ("self_attn.v_proj", vec![keys, HIDDEN]),
            ("self_attn.o_proj", vec![HIDDEN, HIDDEN]),
            ("post_attention_layernorm", vec![HIDDEN]),
            ("mlp.gate_proj", vec![INTERMEDIATE, HIDDEN]),
            ("mlp.up_proj", vec![INTERMEDIATE, HIDDEN]),
            ("mlp.down_proj", vec![HIDDEN, INTERMEDIATE]),
        ];
        shapes.extend(of_layer.map(|(name, shape)| (format!("model.layers.{layer}.{name}.weight"), shape)));
    }
    shapes.push(("model.norm.weight".to_owned(), vec![HIDDEN]));
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let mut weights = HashMap::new();
    for (name, shape) in shapes {
        let count = shape.iter().product();
        let mut normal = || (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let numbers: Vec<f32> = match shape.len() {
            1 => vec![1.0; count],
            _ => (0..count).map(|_| (normal() * 0.05) as f32).collect(),
        };
        weights.insert(name, Var::from_tensor(&Tensor::from_vec(numbers, shape, &Device::Cpu)?)?);
    }
    Ok(weights)
}

/// The model once more, of operations that can be differentiated: rows, tokens, vocabulary.
fn logits(weights: &Weights, input_ids: &Tensor) -> Result<Tensor> {
    let (rows, tokens) = input_ids.dims2()?;
    let weight = |name: &str| weights.get(&format!("{name}.weight")).ok_or_else(|| format!("there is a {name}"));
    let linear = |hidden: &Tensor, name: &str| -> Result<Tensor> {
        let (rows, tokens, from) = hidden.dims3()?;
        let to = hidden.reshape((rows * tokens, from))?.matmul(&weight(name)?.t()?)?;
        Ok(to.reshape((rows, tokens, ()))?)
    };
    let norm = |hidden: &Tensor, name: &str| -> Result<Tensor> { Ok(rms_norm_slow(hidden, weight(name)?, EPS)?) };
    let freq: Vec<f32> =
        (0..HEAD_DIM).step_by(2).map(|i| (1.0 / THETA.powf(i as f64 / HEAD_DIM as f64)) as f32).collect();
    let angles = Tensor::arange(0, tokens as u32, &Device::Cpu)?.to_dtype(DType::F32)?.unsqueeze(1)?;
    let angles = angles.broadcast_mul(&Tensor::new(freq, &Device::Cpu)?)?;
    let (cos, sin) = (angles.cos()?, angles.sin()?);
    let later = |i: usize| (0..tokens).map(move |j| if j > i { f32::NEG_INFINITY } else { 0.0 });
    let mask =
        Tensor::from_vec((0..tokens).flat_map(later).collect::<Vec<f32>>(), (1, 1, tokens, tokens), &Device::Cpu)?;

    let embeddings = weight("model.embed_tokens")?;
    let mut hidden = embeddings.index_select(&input_ids.flatten_all()?, 0)?.reshape((rows, tokens, HIDDEN))?;
    for layer in 0..LAYERS {
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        let normed = norm(&hidden, &name("input_layernorm"))?;
        let by_head = |part: &str, heads: usize| -> Result<Tensor> {
            let split = linear(&normed, &name(part))?.reshape((rows, tokens, heads, HEAD_DIM))?.transpose(1, 2)?;
            // Heads that share keys and values see copies of them.
            let copies = split.unsqueeze(2)?.expand((rows, heads, HEADS / heads, tokens, HEAD_DIM))?;
            Ok(copies.reshape((rows, HEADS, tokens, HEAD_DIM))?.contiguous()?)
        };
        let query = rope_slow(&by_head("self_attn.q_proj", HEADS)?, &cos, &sin)?;
        let key = rope_slow(&by_head("self_attn.k_proj", KEY_VALUE_HEADS)?, &cos, &sin)?;
        let value = by_head("self_attn.v_proj", KEY_VALUE_HEADS)?;
        let scores = (query.matmul(&key.t()?.contiguous()?)? / (HEAD_DIM as f64).sqrt())?.broadcast_add(&mask)?;
        let seen = softmax(&scores, D::Minus1)?.matmul(&value)?;
        let seen = seen.transpose(1, 2)?.contiguous()?.reshape((rows, tokens, HIDDEN))?;
        hidden = (hidden + linear(&seen, &name("self_attn.o_proj"))?)?;
        let normed = norm(&hidden, &name("post_attention_layernorm"))?;
        let gated = (linear(&normed, &name("mlp.gate_proj"))?.silu()? * linear(&normed, &name("mlp.up_proj"))?)?;
        hidden = (hidden + linear(&gated, &name("mlp.down_proj"))?)?;
    }
    linear(&norm(&hidden, "model.norm")?, "model.embed_tokens")
}
