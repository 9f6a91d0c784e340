//! The messages that wait for the turn that they are merged into.

use std::collections::BTreeMap;

use crate::compile::CompiledRole;
use crate::render::Part;
use crate::render::spoken::Spoken;

/// The content of a role without a turn of its own.
pub(super) struct Waiting<'a> {
    pub(super) role: usize,
    pub(super) spoken: Option<Spoken<'a>>,
    pub(super) part: Part,
    /// How many came before it.
    number: usize,
}

/// All of them, by what they wait for: a turn that comes looks at none of the others.
#[derive(Default)]
pub(super) struct WaitingList<'a> {
    by_turn: BTreeMap<Turn, Vec<Waiting<'a>>>,
    count: usize,
}

/// A turn of a role: the next one, or its last one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    role: usize,
    is_last: bool,
}

impl<'a> WaitingList<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.by_turn.is_empty()
    }

    /// Adds the content of a role, which waits if the role is merged into another.
    pub(super) fn add(&mut self, roles: &[CompiledRole], role: usize, spoken: Option<Spoken<'a>>, part: Part) -> bool {
        let CompiledRole { merge_into: Some(into), merges_into_last, .. } = &roles[role] else { return false };
        let turn = Turn { role: *into, is_last: *merges_into_last };
        self.by_turn.entry(turn).or_default().push(Waiting { role, spoken, part, number: self.count });
        self.count += 1;
        true
    }

    /// Whether any waits for this turn of a role.
    pub(super) fn waits_for(&self, role: usize, is_last: bool) -> bool {
        turns(role, is_last).any(|turn| self.by_turn.contains_key(&turn))
    }

    /// Removes those that wait for this turn of a role, in the order in which they came.
    pub(super) fn take(&mut self, role: usize, is_last: bool) -> Vec<Waiting<'a>> {
        let mut all: Vec<_> = turns(role, is_last).filter_map(|turn| self.by_turn.remove(&turn)).flatten().collect();
        all.sort_by_key(|waiting| waiting.number);
        all
    }

    /// The first message, with its role. The template's own text is none.
    pub(super) fn first_message(&self) -> Option<(usize, Spoken<'a>)> {
        let messages = |all: &Vec<Waiting<'a>>| all.iter().find_map(|one| Some((one.number, one.role, one.spoken?)));
        let first = self.by_turn.values().filter_map(messages).min_by_key(|(number, ..)| *number);
        first.map(|(_, role, spoken)| (role, spoken))
    }
}

/// What a turn is to those that wait: the next one of its role, and maybe the last one.
fn turns(role: usize, is_last: bool) -> impl Iterator<Item = Turn> {
    [false, true].into_iter().filter(move |last| is_last || !last).map(move |is_last| Turn { role, is_last })
}
