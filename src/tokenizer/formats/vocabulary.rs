//! The tokens of a vocabulary, and the merges that follow from them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldhash::{HashMap, HashSet};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::bytes::char_of;

/// The tokens by id.
#[derive(Debug)]
pub(super) struct Vocabulary(Vec<Token>);

#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) kind: TokenType,
    /// Whether it also takes the white space after it.
    pub(super) rstrip: bool,
}

/// The types that SentencePiece and GGUF number alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenType {
    /// Ordinary text.
    Normal,
    /// Stands for text that has no token.
    Unknown,
    Control,
    /// Found in text before merging.
    UserDefined,
    /// Never the result of encoding.
    Unused,
    /// One byte of a character that has no token.
    Byte,
}

/// Two entries that merge.
pub(super) type Merge<'a> = [&'a str; 2];

/// A token with its id.
pub(super) type TokenWithId<'a> = (usize, &'a str);

/// A longer token is never made by merges: to look for its parts takes a time that grows with the square.
const LONGEST: usize = 1 << 12;

impl TokenType {
    pub(super) fn of_number(number: Option<i64>) -> Self {
        match number {
            Some(2) => Self::Unknown,
            Some(3) => Self::Control,
            Some(4) => Self::UserDefined,
            Some(5) => Self::Unused,
            Some(6) => Self::Byte,
            _ => Self::Normal,
        }
    }
}

impl Token {
    pub(super) fn new(text: impl Into<String>, kind: TokenType) -> Self {
        Self { text: text.into(), kind, rstrip: false }
    }

    /// A token of a vocabulary of bytes, written as base64.
    pub(super) fn of_base64(base64: &[u8]) -> Result<Self> {
        let bytes = STANDARD.decode(base64).map_err(|error| {
            let error = error.to_string();
            let what = format!("{:?} is not base64: {}", String::from_utf8_lossy(base64), error.trim_end_matches('.'));
            ErrorKind::Invalid(what).with_way_out("download the file again")
        });
        Ok(Self::new(bytes?.into_iter().map(char_of).collect::<String>(), TokenType::Normal))
    }

    /// Whether it is not ordinary text.
    pub(super) fn is_added(&self) -> bool {
        matches!(self.kind, TokenType::Unknown | TokenType::Control | TokenType::UserDefined)
    }

    fn is_merged(&self) -> bool {
        matches!(self.kind, TokenType::Normal | TokenType::UserDefined) && self.text.len() <= LONGEST
    }
}

impl Vocabulary {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        Self(tokens)
    }

    /// Rejects a vocabulary of bytes that lacks one: text with it would be lost, and the formats' own libraries reject it.
    pub(super) fn check_bytes(&self) -> Result<()> {
        let tokens: HashSet<&str> =
            self.0.iter().filter(|token| !token.is_added()).map(|token| token.text.as_str()).collect();
        let mut missing =
            (0..=u8::MAX).filter(|byte| !tokens.contains(char_of(*byte).encode_utf8(&mut [0; 4]) as &str));
        let Some(first) = missing.next() else { return Ok(()) };
        let what = format!(
            "{} of the 256 bytes have no token, the first one is 0x{first:02X}, so text with them would be lost",
            1 + missing.count()
        );
        Err(ErrorKind::Invalid(what).with_way_out("download the file again"))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn text(&self, id: usize) -> Option<&str> {
        self.0.get(id).map(|token| token.text.as_str())
    }

    pub(super) fn with_id(&self, id: Option<usize>) -> Option<TokenWithId<'_>> {
        id.and_then(|id| Some((id, self.text(id)?)))
    }

    /// All tokens with their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Token)> {
        self.0.iter().enumerate()
    }

    /// The tokens that are not ordinary text, with their ids.
    pub(super) fn added(&self) -> impl Iterator<Item = (usize, &Token)> {
        self.iter().filter(|(_, token)| token.is_added())
    }

    /// The one of them with this text.
    pub(super) fn added_token(&self, text: &str) -> Option<TokenWithId<'_>> {
        self.added().find(|(_, token)| token.text == text).map(|(id, token)| (id, token.text.as_str()))
    }

    /// The entries of a Unigram model with their scores. The names of control tokens get a space, so that no text matches
    /// them: the normalizer has replaced all spaces.
    pub(super) fn scored(&self, scores: &[f64]) -> Vec<(String, f64)> {
        let is_text = |kind| matches!(kind, TokenType::Normal | TokenType::UserDefined | TokenType::Byte);
        let name = |token: &Token| if is_text(token.kind) { token.text.clone() } else { format!(" {}", token.text) };
        self.0.iter().zip(scores).map(|(token, score)| (name(token), *score)).collect()
    }

    /// All merges, by the id of the token that they make.
    pub(super) fn merges_by_id(&self) -> Vec<Merge<'_>> {
        self.pairs().into_iter().map(|(_, pair)| pair).collect()
    }

    /// All merges, highest score first; of equal scores, longest parts first, as in transformers.
    pub(super) fn merges_by_score(&self, scores: &[f64]) -> Vec<Merge<'_>> {
        let score = |id: usize| scores.get(id).copied().unwrap_or_default();
        let length = |text: &str| text.chars().count();
        let lengths = |[left, right]: Merge<'_>| (length(left), length(right));
        let mut pairs = self.pairs();
        pairs.sort_by(|(a, a_pair), (b, b_pair)| {
            score(*b).total_cmp(&score(*a)).then_with(|| lengths(*b_pair).cmp(&lengths(*a_pair)))
        });
        pairs.into_iter().map(|(_, pair)| pair).collect()
    }

    /// All pairs of entries that make an entry, with its id; sorted by that id, then by the ids of the pair.
    fn pairs(&self) -> Vec<(usize, Merge<'_>)> {
        let merged = || self.iter().filter(|(_, token)| token.is_merged());
        let ids: HashMap<&str, usize> = merged().map(|(id, token)| (token.text.as_str(), id)).collect();
        let mut all = Vec::new();
        let mut pairs = Vec::new();
        for (id, token) in merged() {
            let cuts = token.text.char_indices().skip(1);
            pairs.extend(cuts.filter_map(|(at, _)| {
                let (left, right) = token.text.split_at(at);
                Some((*ids.get(left)?, *ids.get(right)?, [left, right]))
            }));
            pairs.sort_unstable_by_key(|(left, right, _)| (*left, *right));
            all.extend(pairs.drain(..).map(|(.., pair)| (id, pair)));
        }
        all
    }
}
