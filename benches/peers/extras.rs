//! What more than ids costs: spans, offsets, labels and truncation, each beside ids alone.

use std::hint::black_box;
use std::sync::Arc;

use cpu_time::ThreadTime;
use metatok::dataset::prompter::ScoredText;
use metatok::truncate::Truncation;
use metatok::{
    AddSpecialTokens, BuilderOptions, ContextBudget, Conversation, Model, PromptBuilder, Session, TokenizedPrompt,
    Tokenizer,
};

use crate::chat_format;
use crate::setting::{Setting, name};
use crate::subjects;
use crate::table::{Table, number};
use crate::text::Text;
use crate::workloads::{Made, Prompt, W1, W2};

/// What is asked for in addition to ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    Ids,
    Spans,
    Offsets,
    /// Only the last message is scored.
    Labels,
    /// A budget that leaves this share of a usual prompt, in percent.
    Within(Truncation, usize),
}

const EXTRAS: [(&str, Extra); 9] = [
    ("ids", Extra::Ids),
    ("spans", Extra::Spans),
    ("offsets", Extra::Offsets),
    ("labels", Extra::Labels),
    ("all fit", Extra::Within(Truncation::Left, 200)),
    ("left", Extra::Within(Truncation::Left, 75)),
    ("right", Extra::Within(Truncation::Right, 75)),
    ("middle", Extra::Within(Truncation::Middle, 75)),
    ("oldest turns", Extra::Within(Truncation::OldestTurns, 75)),
];

/// Turns of long chats, and how many of them a budget leaves.
const TURNS: [usize; 4] = [500, 1000, 2000, 4000];
const KEPT: usize = 10;
const TIMES: usize = 5;

pub(crate) fn table(setting: &Setting) -> Result<(), String> {
    let Some(text) = setting.text(false) else { return Ok(()) };
    speeds(setting, &text)?;
    long_chats(setting, &text)
}

fn speeds(setting: &Setting, text: &Text) -> Result<(), String> {
    let mut columns = vec!["tokenizer", "workload"];
    columns.extend(EXTRAS.iter().map(|(name, _)| *name));
    let title = "Prompts a second on one core, in thread processor time, and the share of ids alone";
    let mut table = Table::new(title, &columns, 2);
    for folder in &setting.folders {
        let wanted = [W1, W2].into_iter().filter(|workload| setting.wants(&name(folder), workload.name));
        for workload in wanted {
            let tokenizer = subjects::metatok(folder)?;
            let Some(made) = workload.make(text, &tokenizer, setting.prompts) else { continue };
            let rates = rates(&made, &tokenizer)?;
            let cell = |rate: &f64| format!("{} ({:.2})", number(*rate), rate / rates[0]);
            let mut cells = vec![name(folder), workload.name.to_owned(), number(rates[0])];
            cells.extend(rates[1..].iter().map(cell));
            table.row(&cells);
        }
    }
    Ok(())
}

/// Of each extra. They take turns, round by round.
fn rates(made: &Made, tokenizer: &Arc<Tokenizer>) -> Result<Vec<f64>, String> {
    let (first, others) = made.rounds.split_first().ok_or("there is no round to warm")?;
    let usual = usual_tokens(&made.model, tokenizer, first)?;
    let subjects = EXTRAS.iter().map(|(_, extra)| Subject::new(*extra, &made.model, tokenizer, usual));
    let mut subjects = subjects.collect::<Result<Vec<_>, _>>()?;
    for subject in &mut subjects {
        subject.run(first)?;
    }
    let mut seconds = vec![Vec::new(); subjects.len()];
    for round in others {
        for (subject, seconds) in subjects.iter_mut().zip(&mut seconds) {
            subject.run(&first[..first.len().div_ceil(4)])?;
            let started = ThreadTime::now();
            subject.run(round)?;
            seconds.push(started.elapsed().as_secs_f64());
        }
    }
    Ok(seconds.into_iter().map(|seconds| first.len() as f64 / median(seconds)).collect())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn usual_tokens(model: &Model, tokenizer: &Arc<Tokenizer>, prompts: &[Prompt]) -> Result<usize, String> {
    let mut session = builder(Extra::Ids, model, tokenizer)?.session();
    let length = |prompt: &Prompt| session.build(&prompt.conversation).map(|built| built.input_ids.len());
    let lengths = prompts.iter().map(length).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    Ok(lengths.iter().sum::<usize>() / lengths.len().max(1))
}

fn builder(extra: Extra, model: &Model, tokenizer: &Arc<Tokenizer>) -> Result<PromptBuilder, String> {
    let options = BuilderOptions {
        special_tokens: Some(AddSpecialTokens::Never),
        spans: extra == Extra::Spans,
        offsets: matches!(extra, Extra::Offsets | Extra::Labels),
        text: extra == Extra::Labels,
        ..BuilderOptions::default()
    };
    PromptBuilder::new(model, Arc::clone(tokenizer), &options).map_err(|error| error.to_string())
}

struct Subject {
    builder: PromptBuilder,
    session: Session,
    prompt: TokenizedPrompt,
    extra: Extra,
    usual: usize,
}

impl Subject {
    fn new(extra: Extra, model: &Model, tokenizer: &Arc<Tokenizer>, usual: usize) -> Result<Self, String> {
        let builder = builder(extra, model, tokenizer)?;
        Ok(Self { session: builder.session(), builder, prompt: TokenizedPrompt::default(), extra, usual })
    }

    fn run(&mut self, prompts: &[Prompt]) -> Result<(), String> {
        prompts.iter().try_for_each(|prompt| self.step(&prompt.conversation)).map_err(|error| error.to_string())
    }

    fn step(&mut self, conversation: &Conversation) -> metatok::Result<()> {
        if let Extra::Within(truncation, percent) = self.extra {
            let budget = ContextBudget::new(self.usual * percent / 100, 0).truncation(truncation);
            black_box(self.builder.build_within(conversation, &budget)?);
            return Ok(());
        }
        self.session.build_into(conversation, &mut self.prompt)?;
        if self.extra == Extra::Labels {
            let last = conversation.messages().and_then(<[_]>::last);
            let last = last.and_then(|message| message.content.as_text()).unwrap_or_default();
            let scored = ScoredText::Last(last.to_owned()).bytes(self.prompt.text.as_deref().unwrap_or_default())?;
            black_box(self.prompt.labels(scored));
        }
        black_box(&self.prompt.input_ids);
        Ok(())
    }
}

fn long_chats(setting: &Setting, text: &Text) -> Result<(), String> {
    let title = format!("A long chat of which {KEPT} turns are left: milliseconds");
    let columns = ["tokenizer", "turns", "tokens", "ids", "oldest turns", "times ids"];
    let mut table = Table::new(&title, &columns, 1);
    for folder in setting.folders.iter().filter(|folder| setting.wants(&name(folder), "long chats")) {
        let tokenizer = subjects::metatok(folder)?;
        let builder = builder(Extra::Ids, &chat_format::of(&tokenizer).1, &tokenizer)?;
        for turns in TURNS {
            let chat = chat(&mut text.clone(), turns * setting.prompts / 1000 + KEPT);
            let row = long_chat(&builder, &chat, turns)?;
            table.row(&[vec![name(folder), turns.to_string()], row].concat());
        }
    }
    Ok(())
}

/// Questions and answers, and a last question.
fn chat(text: &mut Text, turns: usize) -> Vec<(&'static str, String)> {
    let turn = |i: usize| if i.is_multiple_of(2) { ("user", 60) } else { ("assistant", 200) };
    (0..=2 * turns).map(turn).map(|(role, length)| (role, text.take(length))).collect()
}

fn long_chat(builder: &PromptBuilder, chat: &[(&'static str, String)], turns: usize) -> Result<Vec<String>, String> {
    let of = |messages: &[(&'static str, String)]| -> Conversation {
        messages.iter().map(|(role, content)| (*role, content.as_str())).collect()
    };
    let words = |error: metatok::Error| error.to_string();
    let (whole, last) = (of(chat), of(&chat[chat.len() - 2 * KEPT - 1..]));
    let limit = builder.build(&last).map_err(words)?.input_ids.len();
    let tokens = builder.build(&whole).map_err(words)?.input_ids.len();
    let budget = ContextBudget::new(limit, 0).truncation(Truncation::OldestTurns);
    let within = || builder.build_within(&whole, &budget);
    let ids = milliseconds(|| builder.build(&whole)).map_err(words)?;
    let oldest = milliseconds(within).map_err(words)?;
    let gone = within().map_err(words)?.truncated.map_or(0, |truncated| truncated.messages.len());
    if gone != chat.len() - 2 * KEPT - 1 {
        return Err(format!("of {turns} turns not {KEPT} are left"));
    }
    let cells = [ids, oldest].map(|time| format!("{time:.1}"));
    Ok([vec![number(tokens as f64)], cells.to_vec(), vec![format!("{:.1}", oldest / ids)]].concat())
}

/// The median of a few times, after one to warm.
fn milliseconds<T>(mut step: impl FnMut() -> metatok::Result<T>) -> metatok::Result<f64> {
    black_box(step()?);
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let started = ThreadTime::now();
        black_box(step()?);
        times.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(median(times))
}
