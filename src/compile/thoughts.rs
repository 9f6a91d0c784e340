//! How a model's answers think: the tags around thoughts, and how the last answer begins.

use memchr::memmem::Finder;

use crate::compile::atom::Atom;
use crate::tokenizer::Tokenizer;

/// The tags around an answer's thoughts.
#[derive(Debug)]
pub(crate) struct Thoughts {
    end: Box<str>,
    finder: Finder<'static>,
    /// The tag that `end` closes; none if it closes no tag.
    begin: Option<Box<str>>,
    /// The beginning of an answer that is the last message, if that is special.
    pub(crate) last_begin: Option<LastBegin>,
}

/// The beginning of an answer that is the last message.
#[derive(Debug)]
pub(crate) struct LastBegin {
    /// All of it, or up to where it has thoughts.
    pub(crate) open: Box<[Atom]>,
    /// After the thoughts; none if it has no tags for them.
    pub(crate) close: Option<Box<[Atom]>>,
}

impl Thoughts {
    pub(super) fn new(end: &str, last_begin: Option<Box<[Atom]>>, tokenizer: &Tokenizer) -> Self {
        let begin = end.contains('/').then(|| end.replacen('/', "", 1).into());
        let finder = Finder::new(end).into_owned();
        let mut thoughts = Self { end: end.into(), finder, begin, last_begin: None };
        thoughts.last_begin =
            last_begin.map(|open| thoughts.cut(&open, tokenizer).unwrap_or(LastBegin { open, close: None }));
        thoughts
    }

    /// Whether an answer has thoughts.
    pub(crate) fn are_in(&self, answer: &str) -> bool {
        self.finder.find(answer.as_bytes()).is_some()
    }

    /// What an answer says after its thoughts; all of it if it has none.
    pub(crate) fn without<'a>(&self, answer: &'a str) -> &'a str {
        // That there is none is found much faster from the front.
        if !self.are_in(answer) {
            return answer;
        }
        answer.rsplit_once(&*self.end).map_or(answer, |(_, after)| after.trim_start_matches('\n'))
    }

    /// The thoughts of an answer without their tags; empty if it has none.
    pub(crate) fn of<'a>(&self, answer: &'a str) -> &'a str {
        let Some((before, _)) = answer.split_once(&*self.end) else { return "" };
        let after_begin = self.begin.as_deref().and_then(|begin| before.rsplit_once(begin));
        after_begin.map_or(before, |(_, thoughts)| thoughts).trim_matches('\n')
    }

    /// Cuts an affix where thoughts belong: between its tags, in the middle of the line ends before the closing one.
    fn cut(&self, atoms: &[Atom], tokenizer: &Tokenizer) -> Option<LastBegin> {
        let begin = self.begin.as_deref()?;
        let text = |atom: &Atom| match atom {
            Atom::Text(text) => text.to_string(),
            Atom::Token(id) => tokenizer.id_to_token(*id).map(|token| token.to_string()).unwrap_or_default(),
        };
        let closing = atoms.iter().rposition(|atom| text(atom).contains(&*self.end))?;
        let (mut at, mut offset) = (closing, text(&atoms[closing]).rfind(&*self.end)?);
        let is_token = matches!(atoms[at], Atom::Token(_));
        if (is_token || offset == 0) && at > 0 && matches!(atoms[at - 1], Atom::Text(_)) {
            at -= 1;
            offset = text(&atoms[at]).len();
        }
        let (mut open, mut close) = (atoms[..at].to_vec(), Vec::new());
        match &atoms[at] {
            Atom::Token(_) => close.push(atoms[at].clone()),
            Atom::Text(text) => {
                let line_ends = text[..offset].len() - text[..offset].trim_end_matches('\n').len();
                let (before, after) = text.split_at(offset - line_ends / 2);
                open.extend((!before.is_empty()).then(|| Atom::Text(before.into())));
                close.extend((!after.is_empty()).then(|| Atom::Text(after.into())));
            }
        }
        close.extend_from_slice(&atoms[at + 1..]);
        let is_open = open.iter().any(|atom| text(atom).contains(begin));
        is_open.then(|| LastBegin { open: open.into(), close: Some(close.into()) })
    }
}
