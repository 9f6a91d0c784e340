//! Trains the demo model's tokenizer on the demo's own text, the same bytes every time.
//!
//! `cargo run --release --example train_demo_tokenizer` writes models/demo/tokenizer.json.

use std::error::Error;
use std::path::Path;

use tokenizers_classic::models::bpe::{BPE, BpeTrainer};
use tokenizers_classic::normalizers::unicode::NFC;
use tokenizers_classic::pre_tokenizers::byte_level::ByteLevel;
use tokenizers_classic::{AddedToken, NormalizerWrapper, PostProcessorWrapper, Tokenizer, TokenizerBuilder};

/// Bytes, merges and control tokens together, at most: the text has fewer pairs that come twice.
const VOCABULARY: usize = 2048;

/// In the order of their ids, which follow those of the merges.
const CONTROL_TOKENS: [&str; 4] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/demo");
    std::fs::write(folder.join("tokenizer.json"), train(&text(&folder)?)?)?;
    Ok(())
}

/// All that the demo says.
pub(crate) fn text(folder: &Path) -> Result<String, Box<dyn Error>> {
    let conversations = std::fs::read_to_string(folder.join("conversations.jsonl"))?;
    Ok(std::fs::read_to_string(folder.join("corpus.txt"))? + &said(&conversations)?)
}

/// What is said in the conversations, control tokens left out: the tokenizer must not learn them as text.
fn said(conversations: &str) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for line in conversations.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let items = line["messages"].as_array().or(line["prompt"].as_array()).into_iter().flatten();
        for said in items.filter_map(|item| item["content"].as_str().or(item["prompt"].as_str())) {
            text += &said.replace("<|im_end|>", "");
            text += "\n";
        }
    }
    Ok(text)
}

/// The tokenizer as `tokenizer.json`.
pub(crate) fn train(text: &str) -> Result<String, Box<dyn Error>> {
    let byte_level = ByteLevel::new(false, false, true);
    let mut trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(VOCABULARY - CONTROL_TOKENS.len())
        .min_frequency(2)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    let mut tokenizer = TokenizerBuilder::new()
        .with_model(BPE::default())
        .with_normalizer(Some(NormalizerWrapper::NFC(NFC)))
        .with_pre_tokenizer(Some(byte_level))
        .with_post_processor(Some(PostProcessorWrapper::ByteLevel(byte_level)))
        .with_decoder(Some(byte_level))
        .build()
        .map_err(|error| error.to_string())?;
    tokenizer.train(&mut trainer, text.lines().map(|line| format!("{line}\n"))).map_err(|error| error.to_string())?;
    let mut tokenizer: Tokenizer =
        tokenizer.to_string(false).and_then(|json| json.parse()).map_err(|error| error.to_string())?;
    tokenizer
        .add_special_tokens(CONTROL_TOKENS.map(|token| AddedToken::from(token, true)))
        .map_err(|error| error.to_string())?;
    let json = tokenizer.to_string(true).map_err(|error| error.to_string())?;
    Ok(json + "\n")
}
