//! From what a chat template writes around contents to meta templates that write the same.

use crate::conversation::Mode;
use crate::error::{ErrorKind, Result};
use crate::import::ContentKind;
use crate::import::probe::Probe;
use crate::import::probe::Speaker::{Assistant, System, User};
use crate::template::{Affix, MetaTemplate, RoleTemplate, RoundItem, Trim};

/// The meta templates that may write what the chat template writes, the likeliest first.
///
/// # Errors
/// [`ErrorKind::Template`] if the chat template does not write each content once, in order.
pub(super) fn candidates(probe: &Probe<'_>) -> Result<Vec<MetaTemplate>> {
    let Some(chat) = Chat::of(probe) else {
        let what = "the chat template does not write each message once, in order, so it has no meta template";
        return Err(ErrorKind::Template(what.into()).into());
    };
    Ok(systems(probe, &chat).into_iter().map(|(begin, system)| chat.template(&begin, system)).collect())
}

/// The same template with one thing more that chat templates do to contents of this kind.
pub(super) fn variants(template: &MetaTemplate, kind: ContentKind) -> Vec<MetaTemplate> {
    let mut variants = Vec::new();
    for role in 0..template.roles().count() {
        let mut with = |change: &dyn Fn(RoleTemplate) -> RoleTemplate| variants.push(with_role(template, role, change));
        match kind {
            ContentKind::OuterBlanks => {
                [Trim::Both, Trim::Start, Trim::End, Trim::Turn].iter().for_each(|trim| with(&|role| role.trim(*trim)));
            }
            ContentKind::Empty => with(&RoleTemplate::silent_if_empty),
            ContentKind::Thoughts if role == MODEL => with(&|role| role.thoughts(THOUGHTS_END)),
            ContentKind::Thoughts | ContentKind::Ordinary | ContentKind::Markup | ContentKind::Literals => {}
        }
    }
    variants
}

/// The place of the model's role, which is written after the user's.
const MODEL: usize = 1;

/// What ends the thoughts of an answer in nearly all chat templates that know any.
const THOUGHTS_END: &str = "</think>";

/// The template with the role at this place of [`MetaTemplate::roles`] changed.
fn with_role(template: &MetaTemplate, place: usize, change: &dyn Fn(RoleTemplate) -> RoleTemplate) -> MetaTemplate {
    let mut template = template.clone();
    let in_round = template.round.iter_mut().filter_map(|item| match item {
        RoundItem::Role(role) => Some(&mut **role),
        RoundItem::Text(_) => None,
    });
    if let Some(role) = in_round.chain(&mut template.reserved_roles).nth(place) {
        *role = change(std::mem::take(role));
    }
    template
}

/// What is written around the messages of user and assistant.
#[derive(Debug)]
struct Chat {
    /// Before the first question.
    opening: String,
    user: Around,
    assistant: Around,
    /// The `begin` of an answer that is the last message, if it has one of its own.
    last_begin: Option<String>,
    between: String,
    generation_prompt: String,
    end: String,
}

/// What is written before and after a content.
#[derive(Debug, Default)]
struct Around {
    begin: String,
    end: String,
}

impl Chat {
    fn of(probe: &Probe<'_>) -> Option<Self> {
        let open = probe.gaps(&[User], Mode::Generate)?;
        let answered = probe.gaps(&[User, Assistant], Mode::Score)?;
        let asked_again = probe.gaps(&[User, Assistant, User], Mode::Generate)?;
        let (to_answer, to_last_answer, to_question) = (&asked_again[1], &answered[1], &asked_again[2]);
        let after_answer = &answered[2];
        // What the template writes after a last question if it is not asked to continue; some refuse that.
        let asked = probe.gaps(&[User], Mode::Score).map(|gaps| gaps[1].clone());
        // What follows an answer both at the end and before a question belongs to the answer.
        let assistant_end = common_prefix(after_answer, to_question);
        let end = &after_answer[assistant_end.len()..];
        let user_end = match asked.as_deref().and_then(|asked| asked.strip_suffix(end)) {
            Some(asked) if to_answer.starts_with(asked) && open[1].starts_with(asked) => asked,
            _ => common_prefix(to_answer, &open[1]),
        };
        let user_begin = common_suffix(&to_question[assistant_end.len()..], &open[0]);
        Some(Self {
            opening: open[0][..open[0].len() - user_begin.len()].to_owned(),
            user: Around { begin: user_begin.to_owned(), end: user_end.to_owned() },
            assistant: Around { begin: to_answer.strip_prefix(user_end)?.to_owned(), end: assistant_end.to_owned() },
            last_begin: (to_answer != to_last_answer)
                .then(|| to_last_answer.strip_prefix(user_end).map(str::to_owned))
                .flatten(),
            between: to_question[assistant_end.len()..to_question.len() - user_begin.len()].to_owned(),
            generation_prompt: open[1][user_end.len()..].to_owned(),
            end: end.to_owned(),
        })
    }

    fn template(&self, begin: &str, system: Option<RoleTemplate>) -> MetaTemplate {
        let user = RoleTemplate::new("HUMAN").api_role("HUMAN").begin(&*self.user.begin).end(&*self.user.end);
        let assistant =
            RoleTemplate::new("BOT").api_role("BOT").begin(&*self.assistant.begin).end(&*self.assistant.end);
        let mut assistant = assistant.generate();
        if self.generation_prompt != self.assistant.begin {
            assistant = assistant.generation_prompt(&*self.generation_prompt);
        }
        if let Some(begin) = &self.last_begin {
            assistant = assistant.thoughts(THOUGHTS_END).last_begin(&**begin);
        }
        let template = MetaTemplate::new([user, assistant]).begin(affix(begin)).end(affix(&self.end));
        let mut template = template.between(affix(&self.between));
        template.reserved_roles.extend(system);
        template
    }
}

fn affix(text: &str) -> Affix {
    if text.is_empty() { Affix::default() } else { text.into() }
}

/// A system message that no template has.
const SYSTEM: &str = "Be brief, Qx.";

/// How a system message may be written: what comes before everything, and the role.
fn systems(probe: &Probe<'_>, chat: &Chat) -> Vec<(String, Option<RoleTemplate>)> {
    let system = || RoleTemplate::new("SYSTEM").api_role("SYSTEM");
    let mut ways = Vec::new();
    if let Some(gaps) = probe.gaps(&[System, User], Mode::Generate) {
        let (before, between) = (&gaps[0], &gaps[1]);
        // A message of its own, before the first question.
        if let Some(end) = between.strip_suffix(chat.user.begin.as_str()) {
            if let Some(begin) = before.strip_prefix(chat.opening.as_str()) {
                ways.push((chat.opening.clone(), Some(system().begin(begin).end(end))));
            }
            // The template has a system message of its own.
            let default = chat.opening.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(end));
            if let Some(default) = default {
                let role = system().begin(&**before).end(end).prompt(default).default_prompt();
                ways.push((String::new(), Some(role)));
            }
            // Something is only written where there is no system message, or the other way round.
            let begin = common_prefix(before, &chat.opening);
            ways.push((begin.to_owned(), Some(system().begin(&before[begin.len()..]).end(end))));
        }
        // Within the first question.
        let opening = chat.opening.clone() + &chat.user.begin;
        if let Some(begin) = before.strip_prefix(opening.as_str()) {
            let merged = || system().begin(begin).end(&**between);
            ways.push((chat.opening.clone(), Some(merged().merge_into("HUMAN"))));
            ways.push((chat.opening.clone(), Some(merged().merge_into_last("HUMAN"))));
        }
    }
    match probe.text(&[(System, SYSTEM), (User, "Hi")], Mode::Generate) {
        None => ways.push((chat.opening.clone(), Some(system().refuse("the chat template refuses system messages")))),
        Some(text) if !text.contains(SYSTEM) => ways.push((chat.opening.clone(), Some(system().silent()))),
        Some(_) => ways.push((chat.opening.clone(), None)),
    }
    ways
}

fn common_prefix<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    &a[..same.unwrap_or_else(|| a.len().min(b.len()))]
}

fn common_suffix<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8());
    &a[a.len() - same.sum::<usize>()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_texts_share() {
        assert_eq!(common_prefix("äbc", "äbd"), "äb");
        assert_eq!(common_prefix("ab", "abc"), "ab");
        assert_eq!(common_suffix("xäb", "yäb"), "äb");
        assert_eq!(common_suffix("b", "ab"), "b");
    }
}
