//! `metatok bench`: the user's own model and data, compared with joining strings and encoding them by the library.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::args::{BenchArgs, Shape};
use crate::bench_data::Data;
use crate::bench_shares::{Shares, shares};
use crate::bench_speed::{Bench, Speed};
use crate::figures::Table;
use crate::outputs::Outputs;
use crate::say::say;
use crate::source::{Source, names, nothing_in};
use crate::{output, setup};
use metatok::builder::{BuilderOptions, ContentTrust, PromptBuilder};
use metatok::conversation::Conversation;
use metatok::dialect::Model;
use metatok::error::{ErrorKind, Result, counted};
use metatok::import::{WORTH_ACCELERATING, accelerate};
use metatok::input::{Holds, each_record};
use metatok::tokenizer::{AddSpecialTokens, Tokenizer};

/// With less text, caches are still being filled when it is over.
const LITTLE: u64 = 1_000_000;

/// Rows take turns, so that a machine that grows slower does so for all, and the median is shown.
const ROUNDS: u32 = 5;

/// All that is measured.
#[derive(Serialize)]
struct Report {
    prompts: usize,
    /// The bytes of the joined strings.
    bytes: u64,
    tokens: u64,
    encoder: String,
    library: String,
    equal_ids: usize,
    /// Whose content contains control tokens as text.
    protected: usize,
    speeds: Vec<Speed>,
    one_core: Shares,
}

pub(crate) fn run(args: &BenchArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    Outputs::stdout().check_source(&args.inputs, &source)?;
    let (model, tokenizer) = setup::load(&args.model, source.has_input())?;
    // A joined string has no special tokens but those that the template writes.
    let special_tokens = Some(AddSpecialTokens::Never);
    let options = BuilderOptions { special_tokens, ..setup::template_options(&args.template) };
    let reference = reference(&model, &tokenizer, &options)?;
    let builder = || PromptBuilder::new(&model, Arc::clone(&tokenizer), &options);
    let (first, data) = (builder()?, read(args, source, &reference)?);

    let mut report = compare(&first, &reference, &data)?;
    if !args.json {
        output::to_stdout(report.head().into_bytes())?;
    }
    report.check()?;
    if report.bytes < LITTLE {
        say!(
            "note: this text is too short to fill the caches; with a megabyte or more, figures are those of long runs"
        );
    }
    // `metatok build` does the same after this many prompts, and so does the row of files.
    let accelerated = || {
        let builder = builder()?;
        if data.conversations.len() >= WORTH_ACCELERATING {
            accelerate(&builder);
        }
        Ok(builder)
    };
    let time = Duration::from_secs_f64(args.seconds);
    let mut cores = vec![1, most_cores(args.threads)];
    cores.dedup();
    for cores in cores {
        let bench = Bench { cores, time: time / ROUNDS, bytes: report.bytes, data: &data };
        let mut rounds = [(); 3].map(|()| Vec::new());
        for _ in 0..ROUNDS {
            rounds[0].push(bench.built(&accelerated)?);
            rounds[1].push(bench.joined(&reference)?);
            rounds[2].push(bench.files(&builder)?);
        }
        report.speeds.extend(rounds.into_iter().filter_map(Speed::median));
    }
    report.one_core = shares(time, &data, &accelerated)?;
    let mut out = Vec::new();
    match args.json {
        true => output::push_json(&report, &mut out),
        false => report.write(&mut out),
    }
    output::to_stdout(out)
}

/// What joins strings, and encodes them by the library.
fn reference(model: &Model, tokenizer: &Arc<Tokenizer>, options: &BuilderOptions) -> Result<PromptBuilder> {
    let library = match tokenizer.backend().0 {
        "metatok" => Arc::new(Tokenizer::library(&Tokenizer::files(tokenizer.name())?)?),
        _ => Arc::clone(tokenizer),
    };
    // Only then is it the same work: a joined string does not separate content from template.
    let trusted = BuilderOptions { content: ContentTrust::Trusted, text: true, ..options.clone() };
    PromptBuilder::new(model, library, &trusted)
}

/// The number of cores of the second measurement, as in a build with so many threads.
fn most_cores(threads: Option<NonZeroUsize>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    threads.map_or(cores, |threads| threads.get().min(cores))
}

fn read(args: &BenchArgs, source: Source, builder: &PromptBuilder) -> Result<Data> {
    let inputs = source.open_or_demo(Shape { format: args.input_format, ..Shape::default() })?;
    let names = names(&inputs);
    let longest = args.read.max_line_bytes;
    let mut data = Data::new(args.input_format, longest);
    let reader = builder.record_reader(args.input_format);
    each_record(inputs, Holds::Conversations, longest, |place, record| {
        let added = record.and_then(|record| data.add(&record.json()?, &reader, builder.mode()));
        added.map_err(|error| place.of_error(error))?;
        let is_full = data.conversations.len() >= args.limit;
        Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if data.conversations.is_empty() {
        return Err(nothing_in(&names, false));
    }
    Ok(data)
}

/// How many prompts equal their joined string, and how many differ intentionally.
fn compare(builder: &PromptBuilder, reference: &PromptBuilder, data: &Data) -> Result<Report> {
    let (mut session, mut trusted) = (builder.session(), reference.session());
    let library = reference.tokenizer();
    let mut report = Report {
        prompts: data.conversations.len(),
        bytes: 0,
        tokens: 0,
        encoder: builder.tokenizer().backend().0.to_owned(),
        library: library.backend().0.to_owned(),
        equal_ids: 0,
        protected: 0,
        speeds: Vec::new(),
        one_core: Shares::default(),
    };
    let text = |conversation: &Conversation| trusted.build(conversation).map(|prompt| prompt.text.unwrap_or_default());
    let texts = data.conversations.iter().map(text).collect::<Result<Vec<String>>>()?;
    let mut trusted = reference.session();
    for (conversation, text) in data.conversations.iter().zip(texts) {
        let (ids, expected) = (session.build(conversation)?.input_ids, library.encode(&text)?);
        report.bytes += text.len() as u64;
        report.tokens += ids.len() as u64;
        if ids == expected {
            report.equal_ids += 1;
        } else if trusted.build(conversation)?.input_ids == expected {
            report.protected += 1;
        }
    }
    Ok(report)
}

impl Report {
    fn head(&self) -> String {
        let Self { prompts, bytes, tokens, encoder, library, equal_ids, protected, .. } = self;
        let encoder = match encoder.as_str() {
            "metatok" => format!("metatok's own encoder; the library is the {library} one"),
            _ => format!("the {library} library"),
        };
        let counts = [(*prompts as u64, "prompt"), (*tokens, "token"), (*bytes, "byte")];
        let counts = counts.map(|(number, what)| counted(number, what)).join(", ");
        let mut head = format!("{counts}, encoded by {encoder}\n");
        head += &format!("ids equal to the joined string's: {equal_ids} of {prompts}\n");
        if *protected > 0 {
            head += &format!(
                "(intentionally different: {protected}, whose content says control tokens, or whose template's own are text in the joined string)\n"
            );
        }
        head
    }

    /// Speed means nothing if the ids are wrong.
    fn check(&self) -> Result<()> {
        let wrong = self.prompts - self.equal_ids - self.protected;
        if wrong == 0 {
            return Ok(());
        }
        Err(ErrorKind::Encode(format!(
            "the ids of {} differ from those of the joined string, so nothing is measured; this is a bug in metatok",
            counted(wrong, "prompt")
        ))
        .into())
    }

    fn write(&self, out: &mut Vec<u8>) {
        let heads = ["", "cores", "prompts/s", "tokens/s", "MB/s", "ratio"];
        let mut table = Table::new(heads.map(str::to_owned).into());
        let mut cores = 0;
        for speed in &self.speeds {
            if cores != 0 && speed.cores != cores {
                table.push(Vec::new());
            }
            cores = speed.cores;
            let joined = self.speeds.iter().find(|other| other.cores == cores && other.is_joined());
            table.push(speed.cells(joined));
        }
        out.push(b'\n');
        table.write(out);
        out.extend_from_slice(self.one_core.sentences().as_bytes());
    }
}
