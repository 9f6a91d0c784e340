//! `metatok bench`: the user's own model and data, compared with joining strings and encoding them.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::args::BenchArgs;
use crate::outputs::Outputs;
use crate::source::{Source, names, nothing_in};
use crate::{output, setup};
use metatok::builder::{BuilderOptions, ContentTrust, PromptBuilder};
use metatok::conversation::Conversation;
use metatok::error::{ErrorKind, Result};
use metatok::input::each_conversation;
use metatok::tokenizer::AddSpecialTokens;

/// The time of one way of building prompts.
struct Measured {
    prompts: u64,
    tokens: u64,
    bytes: u64,
    time: Duration,
}

pub(crate) fn run(args: &BenchArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    Outputs::to("", None).check_source(&args.inputs, &source)?;
    let (model, tokenizer) = setup::load(&args.model, source.is_some())?;
    let options = setup::template_options(&args.template);
    // Only then is it the same work: a joined string does not separate content from template.
    let trusted = BuilderOptions {
        content: ContentTrust::Trusted,
        special_tokens: Some(AddSpecialTokens::Never),
        text: true,
        ..options.clone()
    };
    let reference = PromptBuilder::new(&model, Arc::clone(&tokenizer), &trusted)?;
    let conversations = read(args, source, &reference)?;
    let options = BuilderOptions { special_tokens: trusted.special_tokens, ..options };
    let builder = PromptBuilder::new(&model, tokenizer, &options)?;

    let texts = joined(&reference, &conversations)?;
    let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
    let (equal, protected) = compare(&builder, &reference, &conversations, &texts)?;
    let library = builder.tokenizer().backend().0;
    let mut head = format!(
        "{}, {}, tokenizer library: {library}\n",
        output::count(texts.len() as u64, "prompt"),
        output::count(bytes, "byte")
    );
    head += &format!("ids equal to the joined string's: {equal} of {}\n", texts.len());
    if protected > 0 {
        head += &format!("(intentionally different: {protected}, whose content contains control tokens as text)\n");
    }
    output::to_stdout(head.into_bytes())?;
    if equal + protected < texts.len() {
        return Err(ErrorKind::Encode(format!(
            "the ids of {} differ from those of the joined string; this is a bug in metatok",
            output::count((texts.len() - equal - protected) as u64, "prompt")
        ))
        .into());
    }

    let threads = setup::threads(args.threads);
    let time = Duration::from_secs_f64(args.seconds);
    let build = measure(threads, time, bytes, &conversations, || {
        let mut session = builder.session();
        move |conversation: &Conversation| session.build(conversation).map(|prompt| prompt.input_ids.len())
    })?;
    let join = measure(threads, time, bytes, &conversations, || {
        let mut join = reference.join_session();
        move |conversation: &Conversation| join.encode(conversation)
    })?;
    let rate = |measured: &Measured| measured.prompts as f64 / measured.time.as_secs_f64();
    let table = [
        format!(
            "\n{:<18}{:>12}{:>10}{:>14}   {}",
            "",
            "prompts/s",
            "MB/s",
            "tokens/s",
            output::count(threads as u64, "thread")
        ),
        row("build", &build),
        row("join, then encode", &join),
        format!("{:<18}{:>11.2}x\n", "ratio", rate(&build) / rate(&join)),
    ];
    output::to_stdout(table.join("\n").into_bytes())
}

fn row(name: &str, measured: &Measured) -> String {
    let seconds = measured.time.as_secs_f64();
    format!(
        "{name:<18}{:>12.0}{:>10.1}{:>14.0}",
        measured.prompts as f64 / seconds,
        measured.bytes as f64 / seconds / 1e6,
        measured.tokens as f64 / seconds,
    )
}

fn read(args: &BenchArgs, source: Source, builder: &PromptBuilder) -> Result<Vec<Conversation>> {
    let mut conversations = Vec::new();
    let inputs = source.open_or_demo(None)?;
    let names = names(&inputs);
    let (reader, longest) = (builder.record_reader(args.input_format), args.read.max_line_bytes);
    each_conversation(inputs, reader, longest, builder.mode(), |_, conversation| {
        conversations.push(conversation?);
        Ok(if conversations.len() < args.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    if conversations.is_empty() {
        return Err(nothing_in(&names, false));
    }
    Ok(conversations)
}

fn joined(reference: &PromptBuilder, conversations: &[Conversation]) -> Result<Vec<String>> {
    let mut session = reference.session();
    let text = |conversation| session.build(conversation).map(|prompt| prompt.text.unwrap_or_default());
    conversations.iter().map(text).collect()
}

/// How many prompts equal their joined string, and how many differ intentionally.
fn compare(
    builder: &PromptBuilder,
    reference: &PromptBuilder,
    conversations: &[Conversation],
    texts: &[String],
) -> Result<(usize, usize)> {
    let (mut session, mut trusted) = (builder.session(), reference.session());
    let (mut equal, mut protected) = (0, 0);
    for (conversation, text) in conversations.iter().zip(texts) {
        let expected = reference.tokenizer().encode(text)?;
        if session.build(conversation)?.input_ids == expected {
            equal += 1;
        } else if trusted.build(conversation)?.input_ids == expected {
            protected += 1;
        }
    }
    Ok((equal, protected))
}

/// Repeats a step over all conversations on every thread until the time is over.
fn measure<S: FnMut(&Conversation) -> Result<usize>>(
    threads: usize,
    time: Duration,
    bytes: u64,
    conversations: &[Conversation],
    step: impl Fn() -> S + Sync,
) -> Result<Measured> {
    let started = Instant::now();
    let totals = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> Result<(u64, u64)> {
                    let mut step = step();
                    let (mut passes, mut tokens) = (0, 0);
                    while started.elapsed() < time || passes == 0 {
                        for conversation in conversations {
                            tokens += step(conversation)? as u64;
                        }
                        passes += 1;
                    }
                    Ok((passes, tokens))
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("measuring does not panic")).collect::<Result<Vec<_>>>()
    })?;
    let passes: u64 = totals.iter().map(|(passes, _)| passes).sum();
    Ok(Measured {
        prompts: passes * conversations.len() as u64,
        tokens: totals.iter().map(|(_, tokens)| tokens).sum(),
        bytes: passes * bytes,
        time: started.elapsed(),
    })
}
