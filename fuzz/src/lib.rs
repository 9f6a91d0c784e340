//! What the fuzz targets share: inputs of several parts, and what must hold for every prompt.

use std::sync::{Arc, LazyLock};

use metatok::dataset::prompter::TurnPlan;
use metatok::dataset::RowPrompter;
use metatok::truncate::Truncation;
use metatok::{BuilderOptions, ContextBudget, Conversation, Dataset, Mode, Model, PromptBuilder, Row, TokenizedPrompt, Tokenizer};

/// The demo's tokenizer.
pub static DEMO: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| Tokenizer::demo().expect("the demo loads").into());

/// The parts of an input: a byte that is in no text stands between them, and those that are missing are empty.
pub fn parts<const N: usize>(input: &[u8]) -> Option<[&str; N]> {
    let mut parts = [""; N];
    for (part, bytes) in parts.iter_mut().zip(input.splitn(N, |byte| *byte == 0xff)) {
        *part = std::str::from_utf8(bytes).ok()?;
    }
    Some(parts)
}

/// Options with all that can be known of a prompt.
pub fn options(mode: Mode) -> BuilderOptions {
    BuilderOptions { mode, spans: true, offsets: true, text: true, ..BuilderOptions::default() }
}

/// A builder of the demo.
pub fn demo(mode: Mode) -> PromptBuilder {
    let model = Model::load("demo").expect("the demo loads");
    PromptBuilder::new(&model, Arc::clone(&DEMO), &options(mode)).expect("the demo fits")
}

/// Builds a prompt with [`options`], and checks what must hold for each.
pub fn build(builder: &PromptBuilder, conversation: &Conversation) {
    let Ok(prompt) = builder.build(conversation) else { return };
    check(builder, &prompt);
    let _ = builder.tokenizer().decode(&prompt.input_ids, false);
    fit(builder, conversation, prompt.input_ids.len() / 2);
}

fn check(builder: &PromptBuilder, prompt: &TokenizedPrompt) {
    let TokenizedPrompt { input_ids, spans, offsets, text, .. } = prompt;
    let (spans, offsets) = (spans.as_ref().expect("asked for"), offsets.as_ref().expect("asked for"));
    let text = text.as_ref().expect("asked for");
    let mut end = 0;
    for span in spans {
        assert_eq!(span.start, end, "spans are adjacent");
        assert!(span.start < span.end, "no span is empty");
        end = span.end;
        let ids = &input_ids[span.start..span.end];
        let forged = ids.iter().find(|id| span.part.is_content() && builder.is_reserved(**id));
        assert_eq!(forged, None, "content gives no reserved token: {text:?}");
    }
    assert_eq!(end, input_ids.len(), "spans cover the prompt");
    assert_eq!(offsets.len(), input_ids.len(), "each token has its bytes");
    for bytes in offsets {
        assert!(bytes.start <= bytes.end && bytes.end <= text.len(), "bytes are of the text");
    }
}

/// Cuts to this many tokens, in every way.
fn fit(builder: &PromptBuilder, conversation: &Conversation, max_seq_len: usize) {
    use Truncation::{FirstExamples, LastExamples, Left, Middle, OldestTurns, Right};
    for truncation in [Left, Right, Middle, FirstExamples, LastExamples, OldestTurns] {
        let budget = ContextBudget { max_seq_len, max_out_len: 0, truncation };
        if let Ok(fitted) = builder.build_within(conversation, &budget) {
            assert!(fitted.prompt.input_ids.len() <= max_seq_len, "{truncation:?} fits");
        }
    }
}

/// The rows of JSON lines, up to the first that is none.
pub fn rows(lines: &str) -> Vec<Row> {
    lines.lines().map_while(|line| Row::from_json(line).ok()).collect()
}

/// The prompts of a dataset's rows.
pub fn prompts(dataset: &Dataset, train: &[Row], rows: &[Row], answers: &str) -> metatok::Result<Vec<Conversation>> {
    let mut retriever = dataset.task.retriever.open(train, &dataset.task.input_columns)?;
    let mut inference = RowPrompter::new(dataset, train)?;
    let mut all = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let examples = retriever.retrieve(i)?.of(row, train)?;
        if dataset.inferencer.kind.has_turns() && !answers.is_empty() {
            turns(inference.plan(row, examples, |_| Ok(0))?, answers, &mut all);
        } else {
            let prompts = inference.prompts(row, examples, |_| Ok(0))?;
            all.extend(prompts.into_iter().map(|prompt| prompt.conversation));
        }
    }
    Ok(all)
}

/// The prompts of a dialogue, with these answers in it.
fn turns(mut plan: TurnPlan, answers: &str, all: &mut Vec<Conversation>) {
    let mut answers = answers.lines();
    while let (Some(prompt), Some(answer)) = (plan.prompt(), answers.next()) {
        all.push(prompt);
        plan.answer(answer);
    }
}
