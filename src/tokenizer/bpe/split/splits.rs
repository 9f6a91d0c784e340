//! The steps of any other pre-tokenizer of byte-level vocabularies, each of which cuts the pieces of the one before.

use regex_automata::hybrid::regex::Cache;
use serde_json::Value;
use tokenizers_classic::PreTokenizerWrapper;

use crate::tokenizer::bpe::split::automaton::Automaton;
use crate::tokenizer::bpe::split::by_library::ends_by;
use crate::tokenizer::bpe::split::pattern::{GPT2, isolated, steps_before_bytes};
use crate::tokenizer::bpe::split::runs::Runs;

/// Steps that only cut.
pub(crate) struct Splits {
    steps: Vec<Step>,
}

enum Step {
    Automaton(Box<Automaton>),
    /// Each number by itself, or all that follow one another together.
    Digits {
        individual: bool,
    },
    /// A pattern that is read in another way.
    Runs(Runs),
    /// What an automaton cannot do.
    Library(PreTokenizerWrapper),
}

/// Buffers for cutting text.
#[derive(Default)]
pub(crate) struct SplitBuffers {
    /// By step.
    caches: Vec<Option<Cache>>,
    ends: Vec<usize>,
    before: Vec<usize>,
}

impl Splits {
    /// Those of a pre-tokenizer; none if it does more than cut.
    pub(crate) fn of_bytes(pre_tokenizer: &Value) -> Option<Self> {
        let (steps, is_cut_by_gpt2) = steps_before_bytes(pre_tokenizer)?;
        let mut steps = steps.iter().map(Step::of).collect::<Option<Vec<_>>>()?;
        if is_cut_by_gpt2 {
            steps.push(Step::Automaton(Box::new(Automaton::of(GPT2)?)));
        }
        Some(Self { steps })
    }

    /// The ends of the pieces of a text.
    pub(crate) fn cut<'b>(&self, text: &str, buffers: &'b mut SplitBuffers) -> &'b [usize] {
        let SplitBuffers { caches, ends, before } = buffers;
        caches.resize_with(self.steps.len(), || None);
        ends.clear();
        ends.extend(Some(text.len()).filter(|len| *len > 0));
        for (step, cache) in self.steps.iter().zip(caches) {
            std::mem::swap(ends, before);
            ends.clear();
            let mut start = 0;
            for end in before.iter() {
                step.cut(cache, &text[start..*end], |piece| ends.push(start + piece));
                start = *end;
            }
        }
        ends
    }
}

impl Step {
    fn of(json: &Value) -> Option<Self> {
        match json["type"].as_str()? {
            "Digits" => Some(Self::Digits { individual: json["individual_digits"] == true }),
            "Split" | "Punctuation" if keeps_text(&json["behavior"]) => {
                let library = || serde_json::from_value(json.clone()).ok().map(Self::Library);
                let automaton = || isolated(json).and_then(Automaton::of).map(Box::new).map(Self::Automaton);
                Runs::of(json).map(Self::Runs).or_else(automaton).or_else(library)
            }
            // Also `UnicodeScripts`, which loses the white space that a text begins with.
            _ => None,
        }
    }

    /// Gives the ends of the pieces of a text.
    fn cut(&self, cache: &mut Option<Cache>, text: &str, mut take: impl FnMut(usize)) {
        match self {
            Self::Automaton(automaton) => {
                automaton.cut(cache.get_or_insert_with(|| automaton.cache()), text, take);
            }
            Self::Digits { individual } => {
                let mut was_digit = false;
                for (at, c) in text.char_indices() {
                    let is_digit = c.is_numeric();
                    if at > 0 && (is_digit != was_digit || is_digit && *individual) {
                        take(at);
                    }
                    was_digit = is_digit;
                }
                take(text.len());
            }
            Self::Runs(runs) => runs.cut(cache, text, take),
            Self::Library(library) => ends_by(library, text).into_iter().for_each(take),
        }
    }
}

/// Whether a step with this behavior only cuts.
fn keeps_text(behavior: &Value) -> bool {
    const CUTS: [&str; 4] = ["Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"];
    behavior.is_null() || behavior.as_str().is_some_and(|behavior| CUTS.contains(&behavior))
}
