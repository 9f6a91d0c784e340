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
        let builder = || builder(Extra::Ids, &chat_format::of(&tokenizer).1, &tokenizer);
        let (builder, other) = (builder()?, builder()?);
        for turns in TURNS {
            let (mut text, all) = (text.clone(), turns * setting.prompts / 1000 + KEPT);
            let chats: Vec<Chat> = (0..=TIMES).map(|_| chat(&mut text, all)).collect();
            let row = long_chat(&builder, &other, &chats).map_err(|error| error.to_string())?;
            table.row(&[vec![name(folder), turns.to_string()], row].concat());
        }
    }
    Ok(())
}

type Chat = Vec<(&'static str, String)>;

/// Questions and answers, and a last question.
fn chat(text: &mut Text, turns: usize) -> Chat {
    let turn = |i: usize| if i.is_multiple_of(2) { ("user", 60) } else { ("assistant", 200) };
    (0..=2 * turns).map(turn).map(|(role, length)| (role, text.take(length))).collect()
}

/// The first chat warms. Each is new, so that no cache knows it, and ids are built of it by a builder of its own.
fn long_chat(builder: &PromptBuilder, other: &PromptBuilder, chats: &[Chat]) -> metatok::Result<Vec<String>> {
    let of = |messages: &[(&'static str, String)]| -> Conversation {
        messages.iter().map(|(role, content)| (*role, content.as_str())).collect()
    };
    let (mut tokens, mut ids, mut oldest) = (0, Vec::new(), Vec::new());
    for chat in chats {
        let gone = chat.len() - 2 * KEPT - 1;
        let whole = of(chat);
        let limit = builder.build(&of(&chat[gone..]))?.input_ids.len();
        let budget = ContextBudget::new(limit, 0).truncation(Truncation::OldestTurns);
        let started = ThreadTime::now();
        let fitted = builder.build_within(&whole, &budget)?;
        oldest.push(started.elapsed().as_secs_f64() * 1000.0);
        let dropped = fitted.truncated.map_or(0, |truncated| truncated.messages.len());
        if dropped != gone {
            return Err(metatok::Error::other(format!("{dropped} messages went instead of {gone}")));
        }
        let started = ThreadTime::now();
        tokens = black_box(other.build(&whole)?).input_ids.len();
        ids.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    let (ids, oldest) = (median(ids.split_off(1)), median(oldest.split_off(1)));
    Ok(vec![number(tokens as f64), format!("{ids:.1}"), format!("{oldest:.1}"), format!("{:.1}", oldest / ids)])
}
