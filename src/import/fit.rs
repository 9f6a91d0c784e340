//! From what a chat template writes around contents to meta templates that write the same.

use crate::common_prefix::common_prefix;
use crate::conversation::{END_OF_THOUGHTS, Mode};
use crate::error::Result;
use crate::import::ContentKind;
use crate::import::probe::ChatRole::{Assistant, System, User};
use crate::import::probe::{Pieces, Probe, not_once_in_order};
use crate::template::{Affix, MetaTemplate, RoleTemplate, RoundItem, Trim};

/// The meta templates that may write what the chat template writes, the likeliest first.
///
/// # Errors
/// [`ErrorKind::Template`](crate::error::ErrorKind::Template) if the chat template does not write each content once, in
/// order; its own error if it fails.
pub(super) fn candidates(probe: &Probe<'_>) -> Result<Vec<MetaTemplate>> {
    let chat = Chat::of(probe)?;
    Ok(systems(probe, &chat).into_iter().map(|(begin, system)| chat.template(&begin, system)).collect())
}

/// The variants of a template, each with one more thing that chat templates do to contents of this kind.
pub(super) fn variants(template: &MetaTemplate, kind: ContentKind) -> Vec<MetaTemplate> {
    let mut variants = Vec::new();
    for role in 0..template.roles().count() {
        let mut with = |change: &dyn Fn(RoleTemplate) -> RoleTemplate| variants.push(with_role(template, role, change));
        match kind {
            ContentKind::OuterBlanks => {
                [Trim::Both, Trim::Start, Trim::End, Trim::Turn].iter().for_each(|trim| with(&|role| role.trim(*trim)));
            }
            ContentKind::Empty => with(&RoleTemplate::silent_if_empty),
            ContentKind::Thoughts if role == MODEL => with(&|role| role.thoughts(END_OF_THOUGHTS)),
            _ => {}
        }
    }
    variants
}

/// The place of the model's role, which is written after the user's.
const MODEL: usize = 1;

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
    opening: Pieces,
    user: Around,
    assistant: Around,
    /// The `begin` of an answer that is the last message, if it has one of its own.
    last_begin: Option<Pieces>,
    between: Pieces,
    generation_prompt: Pieces,
    end: Pieces,
}

/// What is written before and after a content.
#[derive(Debug, Default)]
struct Around {
    begin: Pieces,
    end: Pieces,
}

impl Chat {
    fn of(probe: &Probe<'_>) -> Result<Self> {
        let open = probe.gaps(&[User], Mode::Generate)?;
        let answered = probe.gaps(&[User, Assistant], Mode::Score)?;
        let asked_again = probe.gaps(&[User, Assistant, User], Mode::Generate)?;
        let (to_answer, to_last_answer, to_question) = (&asked_again[1], &answered[1], &asked_again[2]);
        let after_answer = &answered[2];
        // What the template writes after a last question if it is not asked to continue; some refuse that.
        let asked = probe.gaps(&[User], Mode::Score).ok().map(|gaps| gaps[1].clone());
        // What follows an answer both at the end and before a question belongs to the answer.
        let assistant_end = shared_begin(after_answer, to_question);
        let end = &after_answer[assistant_end.len()..];
        let user_end = match asked.as_deref().and_then(|asked| asked.strip_suffix(end)) {
            Some(asked) if to_answer.starts_with(asked) && open[1].starts_with(asked) => asked,
            _ => shared_begin(to_answer, &open[1]),
        };
        let user_begin = shared_end(&to_question[assistant_end.len()..], &open[0]);
        let assistant_begin = to_answer.strip_prefix(user_end).ok_or_else(not_once_in_order)?;
        Ok(Self {
            opening: open[0][..open[0].len() - user_begin.len()].to_owned(),
            user: Around { begin: user_begin.to_owned(), end: user_end.to_owned() },
            assistant: Around { begin: assistant_begin.to_owned(), end: assistant_end.to_owned() },
            last_begin: (to_answer != to_last_answer)
                .then(|| to_last_answer.strip_prefix(user_end).map(<[_]>::to_owned))
                .flatten(),
            between: to_question[assistant_end.len()..to_question.len() - user_begin.len()].to_owned(),
            generation_prompt: open[1][user_end.len()..].to_owned(),
            end: end.to_owned(),
        })
    }

    fn template(&self, begin: &[String], system: Option<RoleTemplate>) -> MetaTemplate {
        let role = |name: &str, around: &Around| {
            RoleTemplate::new(name).api_role(name).begin(affix(&around.begin)).end(affix(&around.end))
        };
        let mut assistant = role("BOT", &self.assistant).generate();
        if self.generation_prompt != self.assistant.begin {
            assistant = assistant.generation_prompt(affix(&self.generation_prompt));
        }
        if let Some(begin) = &self.last_begin {
            assistant = assistant.thoughts(END_OF_THOUGHTS).last_begin(affix(begin));
        }
        let template = MetaTemplate::new([role("HUMAN", &self.user), assistant]).begin(affix(begin));
        let mut template = template.end(affix(&self.end)).between(affix(&self.between));
        template.reserved_roles.extend(system);
        template
    }
}

fn affix(pieces: &[String]) -> Affix {
    pieces.concat().as_str().into()
}

/// A system message that no template has.
const SYSTEM: &str = "Be brief, Qx.";

/// How a system message may be written: what comes before everything, and the role.
fn systems(probe: &Probe<'_>, chat: &Chat) -> Vec<(Pieces, Option<RoleTemplate>)> {
    let system = || RoleTemplate::new("SYSTEM").api_role("SYSTEM");
    let around = |begin: &[String], end: &[String]| system().begin(affix(begin)).end(affix(end));
    let mut ways = Vec::new();
    if let Ok(gaps) = probe.gaps(&[System, User], Mode::Generate) {
        let (before, between) = (&gaps[0], &gaps[1]);
        // A message of its own, before the first question.
        if let Some(end) = between.strip_suffix(&*chat.user.begin) {
            if let Some(begin) = before.strip_prefix(&*chat.opening) {
                ways.push((chat.opening.clone(), Some(around(begin, end))));
            }
            // The template has a system message of its own.
            let default = chat.opening.strip_prefix(&**before).and_then(|rest| rest.strip_suffix(end));
            if let Some(default) = default {
                let role = around(before, end).prompt(default.concat()).default_prompt();
                ways.push((Pieces::new(), Some(role)));
            }
            // Something is only written where there is no system message, or the other way round.
            let begin = shared_begin(before, &chat.opening);
            ways.push((begin.to_owned(), Some(around(&before[begin.len()..], end))));
        }
        // Within the first question.
        let opening = [&*chat.opening, &*chat.user.begin].concat();
        if let Some(begin) = before.strip_prefix(&*opening) {
            let merged = || around(begin, between);
            ways.push((chat.opening.clone(), Some(merged().merge_into("HUMAN"))));
            ways.push((chat.opening.clone(), Some(merged().merge_into_last("HUMAN"))));
        }
    }
    match probe.text(&[(System, SYSTEM), (User, "Hi")], Mode::Generate) {
        Err(_) => ways.push((chat.opening.clone(), Some(system().refuse("the chat template refuses system messages")))),
        Ok(text) if !text.contains(SYSTEM) => ways.push((chat.opening.clone(), Some(system().silent()))),
        Ok(_) => ways.push((chat.opening.clone(), None)),
    }
    ways
}

fn shared_begin<'a>(a: &'a [String], b: &[String]) -> &'a [String] {
    &a[..common_prefix(a, b)]
}

fn shared_end<'a>(a: &'a [String], b: &[String]) -> &'a [String] {
    &a[a.len() - a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_texts_share() {
        let pieces = |text: &str| text.split('|').map(str::to_owned).collect::<Pieces>();
        assert_eq!(shared_begin(&pieces("ä|b|c"), &pieces("ä|b|d")), pieces("ä|b"));
        assert_eq!(shared_begin(&pieces("<ab>|c"), &pieces("<ac>|c")), Pieces::new());
        assert_eq!(shared_end(&pieces("x|ä|b"), &pieces("y|ä|b")), pieces("ä|b"));
        assert_eq!(shared_end(&pieces("b"), &pieces("a|b")), pieces("b"));
    }
}
