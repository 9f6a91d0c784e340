//! A template that is written in code, for a tokenizer that is there already.

use std::sync::Arc;

use metatok::template::{MetaTemplate, RoleTemplate};
use metatok::{BuilderOptions, Model, PromptBuilder, Tokenizer};

pub(crate) fn main() -> metatok::Result<()> {
    let tokenizer = Arc::new(Tokenizer::demo()?);
    let template = MetaTemplate::new([
        RoleTemplate::new("HUMAN").begin((1051, "user\n")).end("<|im_end|>\n"),
        RoleTemplate::new("BOT").begin((1051, "assistant\n")).end("<|im_end|>\n").generate(),
    ]);
    let template = template
        .reserved_role(RoleTemplate::new("SYSTEM").begin("<|im_start|>system\n").end("<|im_end|>\n"))
        .eos_token_id(1052);

    let builder = PromptBuilder::new(&template.clone().into(), Arc::clone(&tokenizer), &BuilderOptions::default())?;
    let prompt = builder.build_messages(&[("system", "Be brief."), ("user", "Hi!")])?;
    assert_eq!(prompt, PromptBuilder::demo()?.build_messages(&[("system", "Be brief."), ("user", "Hi!")])?);

    // What is wrong with a template is said with its place.
    let wrong = Model::from(template.eos_token_id([1052, 99_999]));
    let error = PromptBuilder::new(&wrong, tokenizer, &BuilderOptions::default()).expect_err("there is no such token");
    assert_eq!(
        error.to_string(),
        "template: meta_template.eos_token_id[1]: token id 99999 is outside the vocabulary (1054 tokens)"
    );
    Ok(())
}
