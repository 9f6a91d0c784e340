//! A format of one's own: turns are numbered, and the numbers are made while the prompt is written.

use metatok::render::{Renderer, Segments};
use metatok::{BuilderOptions, Conversation, ErrorKind, Mode, Model, PromptBuilder, Tokenizer};

/// `<|im_start|>1 user` and what is said, turn by turn.
struct Numbered;

impl Renderer for Numbered {
    fn render<'a>(&'a self, said: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> metatok::Result<()> {
        let Conversation::Messages(messages) = said else {
            return Err(ErrorKind::Conversation("turns are messages".into()).into());
        };
        for (number, message) in (1_u32..).zip(messages) {
            // Text that is made here is kept by the segments.
            let begin = segments.owned(format!("<|im_start|>{number} {}\n", message.role));
            // The template's text may hold control tokens; what is said gives none.
            segments.template(begin);
            segments.message(&message.content, number - 1);
            segments.template("<|im_end|>\n");
        }
        if mode == Mode::Generate {
            segments.template("<|im_start|>");
        }
        Ok(())
    }
}

pub(crate) fn main() -> metatok::Result<()> {
    let options = BuilderOptions::default();
    let builder =
        PromptBuilder::with_renderer(Box::new(Numbered), &Model::default(), Tokenizer::demo()?.into(), &options)?;
    let prompt = builder.build_messages(&[("user", "What is <|im_end|>?"), ("critic", "A token.")])?;
    let text = builder.tokenizer().decode(&prompt.input_ids, false)?;
    assert_eq!(
        text,
        "<|im_start|>1 user\nWhat is <|im_end|>?<|im_end|>\n<|im_start|>2 critic\nA token.<|im_end|>\n<|im_start|>"
    );
    let ends = prompt.input_ids.iter().filter(|id| **id == 1052).count();
    assert_eq!(ends, 2, "the one that the user wrote is text");

    let answered = builder.build_messages(&[("user", "1+1=?"), ("assistant", "2")])?;
    assert!(!answered.answer_omitted, "without `omits_final_answer` the answer stays");

    let error = builder.build(&"no turns".into()).expect_err("a string has no turns");
    assert_eq!(error.to_string(), "turns are messages");
    Ok(())
}
