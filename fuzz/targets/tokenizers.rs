//! Tokenizers: loading, encoding with offsets, decoding, trimming. Input: tokenizer.json, tokenizer_config.json, a text.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use metatok::template::{Affix, AffixItem, RoleTemplate, RoundItem};
use metatok::tokenizer::TokenizerFiles;
use metatok::{ChatMessage, Conversation, MetaTemplate, Mode, Model, PromptBuilder, Tokenizer};

fuzz_target!(|input: &[u8]| {
    let Some([json, config, text]) = metatok_fuzz::parts(input) else { return };
    let files = TokenizerFiles {
        name: "t".into(),
        tokenizer_json: json.into(),
        tokenizer_config: (!config.is_empty()).then(|| config.into()),
        ..TokenizerFiles::default()
    };
    for tokenizer in [Tokenizer::new(&files), Tokenizer::classic(&files)] {
        let Ok(tokenizer) = tokenizer.map(Arc::new) else { continue };
        if let Ok(ids) = tokenizer.encode(text) {
            assert!(ids.iter().all(|id| (*id as usize) < tokenizer.vocab_size()), "ids are of the vocabulary");
            assert_eq!(tokenizer.encode(text).ok(), Some(ids.clone()), "the same text has the same ids");
            let _ = (tokenizer.decode(&ids, false), tokenizer.decode(&ids, true));
        }
        for model in [Model::default(), template(&tokenizer)] {
            build(&model, &tokenizer, text);
        }
    }
});

/// A template that begins and ends with the first two added tokens.
fn template(tokenizer: &Tokenizer) -> Model {
    let mut added = tokenizer.added_tokens().map(|token| AffixItem::Id(token.id.into()));
    let mut affix = || Affix(added.next().into_iter().chain([AffixItem::Text("a ".into())]).collect());
    let role =
        RoleTemplate { role: "user".into(), begin: affix(), end: affix(), generate: true, ..RoleTemplate::default() };
    let template = MetaTemplate { round: vec![RoundItem::Role(Box::new(role))], ..MetaTemplate::default() };
    Model { meta_template: Some(template), ..Model::default() }
}

fn build(model: &Model, tokenizer: &Arc<Tokenizer>, text: &str) {
    let Ok(builder) = PromptBuilder::new(model, Arc::clone(tokenizer), &metatok_fuzz::options(Mode::Score)) else {
        return;
    };
    let conversation = match model.meta_template {
        None => Conversation::Text(text.into()),
        Some(_) => Conversation::Messages(vec![ChatMessage::new("user", text), ChatMessage::new("user", "a")]),
    };
    metatok_fuzz::build(&builder, &conversation);
    if let (Ok(ids), Ok(trimmer)) = (tokenizer.encode(text), builder.trimmer()) {
        let _ = trimmer.complete(&ids);
    }
}
