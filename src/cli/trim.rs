//! `metatok trim`: what an engine gave in, cut to where it should have ended out.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::builder::PromptBuilder;
use crate::cli::args::TrimArgs;
use crate::cli::output::{Output, count};
use crate::cli::outputs::Outputs;
use crate::cli::say::{InFlags, say};
use crate::cli::source::Source;
use crate::cli::trimmed::{Problem, Stop, Trimmed};
use crate::cli::{REJECTED, setup};
use crate::error::{At, ErrorKind, Result};
use crate::stop::{CompletionEnd, FinishReason, StopCriteria, StopMatcher, Trimmer};
use crate::tokenizer::{TokenId, Tokenizer};

/// A line of what an engine gave. Other keys are left alone.
#[derive(Deserialize)]
struct Given<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    repeat: Option<&'a RawValue>,
    #[serde(borrow)]
    turn: Option<&'a RawValue>,
    #[serde(borrow)]
    columns: Option<&'a RawValue>,
    token_ids: Option<Vec<TokenId>>,
    text: Option<String>,
    /// The prompt's, which some engines give again before the answer.
    input_ids: Option<Vec<TokenId>>,
    finish_reason: Option<String>,
    /// Which stop it was, where the engine says so.
    stop_reason: Option<serde::de::IgnoredAny>,
}

/// Trims lines of one model.
struct Trim<'b> {
    tokenizer: &'b Tokenizer,
    trimmer: Trimmer,
    /// Finds stop strings in texts, and behind them in the list the strings of the stop ids.
    texts: StopMatcher,
    texts_criteria: StopCriteria,
    include_stop: bool,
    explain: bool,
    validate: bool,
}

pub(crate) fn run(args: &TrimArgs) -> Result<ExitCode> {
    let source = Source::find(&args.inputs)?;
    if !source.is_some() {
        let what = "there is nothing to trim: name a file of answers, or pipe one in";
        return Err(ErrorKind::Usage(what.into()).into());
    }
    let outputs = Outputs::to("--output", args.output.as_deref());
    outputs.check_source(&args.inputs, &source)?;
    outputs.check_model(&args.model, true)?;
    let (model, tokenizer) = setup::load(&args.model, true)?;
    let builder = PromptBuilder::new(&model, tokenizer, &setup::stop_options(&args.stop))?;
    let trim = Trim::new(&builder, args)?;
    let mut output = Output::open(args.output.as_deref())?;
    let (mut lines, mut stopped, mut problems) = (0_u64, 0_u64, BTreeMap::<&str, u64>::new());
    let mut failed = None;
    setup::each_line(source.open(None)?, args.read.max_line_bytes, |place, line| {
        let trimmed = line.and_then(|line| {
            let trimmed = trim.line(setup::from_json(line)?)?;
            let mut json = serde_json::to_vec(&trimmed).map_err(|error| ErrorKind::Parse(error.to_string()))?;
            json.push(b'\n');
            for problem in &trimmed.problems {
                *problems.entry(problem.code).or_default() += 1;
            }
            stopped += u64::from(trimmed.stop.is_some());
            Ok(json)
        });
        match trimmed {
            Ok(json) => {
                lines += 1;
                output.stream(&json)
            }
            Err(error) => {
                failed = Some(error.at(place));
                Ok(ControlFlow::Break(()))
            }
        }
    })?;
    if let Some(error) = failed {
        say!("{}", error.in_flags());
        say!("stopped there, after {}", count(lines, "good one"));
        return Ok(ExitCode::from(REJECTED));
    }
    output.finish()?;
    if !args.quiet {
        let completions = count(lines, "completion");
        let found: Vec<String> = problems.iter().map(|(code, count)| format!("{code} {count}")).collect();
        let found = match (args.validate, found.is_empty()) {
            (false, _) => String::new(),
            (true, true) => ", no problems".into(),
            (true, false) => format!(", problems: {}", found.join(", ")),
        };
        say!("{completions}, {stopped} of them stopped{found}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) })
}

impl<'b> Trim<'b> {
    fn new(builder: &'b PromptBuilder, args: &TrimArgs) -> Result<Self> {
        let tokenizer = builder.tokenizer();
        let mut texts_criteria = StopCriteria::default();
        builder.stop().strings().iter().for_each(|string| texts_criteria.add_string(string));
        // In text an engine should have left them out of.
        for id in builder.stop().stop_token_ids() {
            if let Some(token) = tokenizer.added_token(id) {
                texts_criteria.add_string(&token.content);
            }
        }
        Ok(Self {
            tokenizer,
            trimmer: builder.trimmer()?.include_stop(args.include_stop),
            texts: texts_criteria.matcher()?,
            texts_criteria,
            include_stop: args.include_stop,
            explain: args.explain,
            validate: args.validate,
        })
    }

    fn line<'a>(&self, given: Given<'a>) -> Result<Trimmed<'a>> {
        let trimmed = match (&given.token_ids, &given.text) {
            (Some(ids), _) => {
                let ids = self.trimmer.without_echo(given.input_ids.as_deref().unwrap_or_default(), ids);
                self.ids(&given, ids)?
            }
            (None, Some(text)) => self.text(&given, text),
            (None, None) => {
                return Err(ErrorKind::Parse("there is neither \"token_ids\" nor \"text\"".into()).into());
            }
        };
        let Given { id, repeat, turn, columns, .. } = given;
        Ok(Trimmed { id, repeat, turn, columns, ..trimmed })
    }

    fn ids(&self, given: &Given<'_>, ids: &[TokenId]) -> Result<Trimmed<'static>> {
        let end = self.trimmer.end(ids).at("token_ids")?;
        let completion = self.trimmer.complete_at(ids, end).at("token_ids")?;
        let read = end.read;
        let trimmed = Trimmed::new(completion, &self.trimmer, self.tokenizer);
        let stop = &trimmed.stop;
        let explain = self.explain.then(|| match stop {
            None => "nothing stops it".to_owned(),
            Some(Stop::Token { token_id, sources, .. }) => {
                let token = self.name(*token_id);
                let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
                let after = count((ids.len() - read) as u64, "token");
                format!("token {} is {token}: {}; {after} after it", read - 1, sources.join(", "))
            }
            Some(Stop::String { string }) => {
                let (first, last) = (end.tokens, read - 1);
                let over =
                    if first == last { format!("in token {last}") } else { format!("over tokens {first} to {last}") };
                format!("the stop string {string:?} {over}; {} after it", count((ids.len() - read) as u64, "token"))
            }
        });
        let problems = if self.validate { self.problems(given, Some((ids, end)), stop.as_ref()) } else { Vec::new() };
        Ok(Trimmed { explain, problems, ..trimmed })
    }

    fn text(&self, given: &Given<'_>, text: &str) -> Trimmed<'static> {
        let (before, reason) = self.texts.trim(text);
        let stop = self.stop_in_text(reason);
        let kept = match reason {
            FinishReason::StopString(string) if self.include_stop => {
                &text[..before.len() + self.texts_criteria.strings()[string].len()]
            }
            _ => before,
        };
        let explain = self.explain.then(|| match &stop {
            None => "nothing stops it".to_owned(),
            Some(Stop::Token { token_id, .. }) => {
                let token = self.tokenizer.quoted_token(*token_id);
                format!("the text has the stop token {token} at byte {}", before.len())
            }
            Some(Stop::String { string }) => format!("the stop string {string:?} at byte {}", before.len()),
        });
        let problems = if self.validate { self.problems(given, None, stop.as_ref()) } else { Vec::new() };
        Trimmed { explain, problems, ..Trimmed::of_text(kept.to_owned(), stop) }
    }

    /// Which stop a text came to: a string, or the string of a stop id.
    fn stop_in_text(&self, reason: FinishReason) -> Option<Stop> {
        let FinishReason::StopString(string) = reason else { return None };
        let string = self.texts_criteria.strings()[string].clone();
        if self.trimmer.criteria().strings().contains(&string) {
            return Some(Stop::String { string });
        }
        let stops = self.trimmer.criteria().ids().iter();
        let stop = stops.into_iter().find(|stop| self.tokenizer.id_to_token(stop.id).as_deref() == Some(&string));
        stop.map(|stop| Stop::Token { token_id: stop.id, token: Some(string), sources: stop.sources.clone() })
    }

    /// A token with its id, which the tokenizer may not have.
    fn name(&self, id: TokenId) -> String {
        match self.tokenizer.id_to_token(id) {
            Some(_) => format!("{} (id {id})", self.tokenizer.quoted_token(id)),
            None => format!("id {id}, which the tokenizer does not have"),
        }
    }

    /// What the engine said, beside what should have been.
    fn problems(
        &self,
        given: &Given<'_>,
        ids: Option<(&[TokenId], CompletionEnd)>,
        stop: Option<&Stop>,
    ) -> Vec<Problem> {
        // The stop string lies over several tokens if more than one is read behind those that stay.
        let is_split = ids.is_some_and(|(_, end)| end.tokens + 1 < end.read);
        let (ids, read) = ids.map_or((&[][..], 0), |(ids, end)| (ids, end.read));
        let mut problems = Vec::new();
        let mut add = |code, message| problems.push(Problem { code, message });
        let leaked = given.text.as_deref().and_then(|text| self.stop_in_text(self.texts.trim(text).1));
        match (&leaked, stop) {
            (Some(Stop::Token { token_id, .. }), _) => {
                add(
                    "eos-in-text",
                    format!("the text has the stop token {}, where it should end before it", self.name(*token_id)),
                );
            }
            (Some(Stop::String { string }), Some(Stop::String { .. })) if is_split => {
                add(
                    "split-stop",
                    format!(
                        "the text has the stop string {string:?}, which lies over several tokens: comparing token by token misses it"
                    ),
                );
            }
            (Some(Stop::String { string }), _) => {
                add("stop-in-text", format!("the text has the stop string {string:?}, where it should end before it"));
            }
            (None, _) => {}
        }
        let pad = |id: &&TokenId| self.trimmer.pad() == Some(**id);
        let behind = ids.len() - read - ids[read..].iter().rev().take_while(pad).count();
        if stop.is_some() && behind > 0 {
            let tokens = if behind == 1 { "token comes" } else { "tokens come" };
            add("ran-past-stop", format!("{behind} {tokens} after the stop"));
        } else if stop.is_some() && given.finish_reason.as_deref() == Some("length") {
            add("ran-past-stop", "the engine says \"length\", and there is a stop".into());
        }
        let last = ids.iter().rev().find(|id| !pad(id));
        match last.filter(|id| stop.is_none() && self.trimmer.is_special(**id)) {
            Some(&eos) => add(
                "unknown-eos",
                format!(
                    "the output ends with {}, which is no stop id; name it with --stop-id, or as eos_token_id in the model file",
                    self.name(eos)
                ),
            ),
            None if stop.is_none()
                && !ids.is_empty()
                && given.stop_reason.is_none()
                && given.finish_reason.as_deref() == Some("stop") =>
            {
                add("no-stop", "the engine says \"stop\", and nothing here is one".into());
            }
            None => {}
        }
        problems
    }
}
