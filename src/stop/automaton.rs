//! The automaton that searches for stop strings: a table if they are few, something smaller if a table would take gigabytes.

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, BuildError, MatchError, MatchKind};

/// For this many bytes of strings a table takes up to 16 MiB.
const FEW_BYTES: usize = 1 << 14;

/// An automaton over bytes.
#[derive(Debug)]
pub(super) enum Automaton {
    Table(DFA),
    Compact(NFA),
}

impl Automaton {
    pub(super) fn new(strings: &[String]) -> Result<Self, BuildError> {
        let bytes: usize = strings.iter().map(String::len).sum();
        Ok(match bytes {
            ..=FEW_BYTES => Self::Table(DFA::builder().match_kind(MatchKind::Standard).build(strings)?),
            _ => Self::Compact(NFA::builder().match_kind(MatchKind::Standard).build(strings)?),
        })
    }

    pub(super) fn start(&self) -> Result<StateID, MatchError> {
        match self {
            Self::Table(automaton) => automaton.start_state(Anchored::No),
            Self::Compact(automaton) => automaton.start_state(Anchored::No),
        }
    }

    pub(super) fn next(&self, state: StateID, byte: u8) -> StateID {
        match self {
            Self::Table(automaton) => automaton.next_state(Anchored::No, state, byte),
            Self::Compact(automaton) => automaton.next_state(Anchored::No, state, byte),
        }
    }

    /// How many strings end here.
    pub(super) fn matches(&self, state: StateID) -> usize {
        match self {
            Self::Table(automaton) if automaton.is_match(state) => automaton.match_len(state),
            Self::Compact(automaton) if automaton.is_match(state) => automaton.match_len(state),
            _ => 0,
        }
    }

    /// One of the strings that end here, by its index.
    pub(super) fn matched(&self, state: StateID, at: usize) -> usize {
        match self {
            Self::Table(automaton) => automaton.match_pattern(state, at).as_usize(),
            Self::Compact(automaton) => automaton.match_pattern(state, at).as_usize(),
        }
    }
}
