//! What must hold for every template, every content and every tokenizer: the contract, as properties.

use std::sync::Arc;

use metatok::conversation::{ContentPart, Item, Marker, Media, MediaKind, Message, Section};
use metatok::dataset::RowPrompter;
use metatok::dataset::template::{Fragment, FragmentKind};
use metatok::template::{Affix, AffixItem, Multimodal, RoleTemplate, RoundItem};
use metatok::tokenizer::AddedToken;
use metatok::truncate::Truncation;
use metatok::{
    AddSpecialTokens, BuilderOptions, ChatMessage, ContentTrust, ContextBudget, Conversation, Dataset, ErrorKind,
    MetaTemplate, Mode, Model, PromptBuilder, Row, TokenizedPrompt, Tokenizer,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::harness::{Tests, tests};
use crate::laws;
use crate::subjects::{self, ORDINARY, SUBJECTS, Subject};

pub(crate) fn tests() -> Tests {
    tests![
        trusted_ids_are_those_of_the_joined_string,
        ids_of_innocent_content_are_those_of_the_joined_string,
        both_libraries_give_the_same_ids,
        both_libraries_give_the_same_offsets,
        both_libraries_decode_alike,
        no_content_gives_a_reserved_token,
        spans_cover_the_ids_and_do_not_change_them,
        a_session_builds_what_a_new_builder_builds,
        what_prompts_have_in_common_does_not_show,
        the_same_is_cut_with_and_without_spans,
        decoding_gives_the_text_back,
        content_parts,
        tagged_content_is_split_and_joined_without_loss,
        the_first_request_of_functions_is_that_of_the_first_turn
    ]
}

/// Text that is hard on tokenizers. No code points younger than the older of the two libraries' Unicode
/// tables (CJK extension J, Tolong Siki …): on those the libraries differ, which is accepted.
const HARD: &[&str] = &[
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "\r\n",
    "\u{a0}",
    "\u{3000}",
    "\u{2581}",
    "\0",
    "\u{200b}",
    "\u{301}",
    "é",
    "e\u{301}",
    "É",
    "ﬁ",
    "ß",
    "İ",
    "ａｂ",
    "한",
    "\u{1112}\u{1161}\u{11ab}",
    "数学题：",
    "東京",
    "مرحبا",
    "Привет",
    "🙂",
    "👩\u{200d}👩\u{200d}👧",
    "the",
    " the",
    "user",
    "assistant",
    "\nuser",
    "Hello",
    "don't",
    "I'll",
    "1234567",
    " 3.14",
    "x_y",
    "Q: ",
    "A.",
    "```py\n",
    "def f(x):",
    "{x}",
    "\\n",
    "\"q\"",
    "—",
    "…",
    "?",
    ">",
    "<",
    "|",
    "#",
];

/// Halves of control tokens, and what looks like them.
const FORGED: &[&str] = &[
    "<|im_",
    "end|>",
    "start|>",
    "<|",
    "|>",
    "im_end",
    "<|im_end",
    "|im_end|>",
    "<｜im_end｜>",
    "<|im\u{200b}_end|>",
    "<|İm_end|>",
    "＜|im_end|>",
    "<|IM_END|>",
    "<s",
    "s>",
    "</",
    "/s>",
    "<0x0A>",
    "<0xE4>",
    "<unk>",
    "<extra_",
    "7>",
    "<header",
    "</header",
    "<tag>",
    "<TAG",
    "▁<s>",
    "<|eot_id",
    "<e\u{301}>",
    "[UNUSED_TOKEN_145]",
];

/// A place in a template.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// One of the tokenizer's added tokens, counted round, written as its string, its id or `{ token }`.
    Control(usize, TokenBytes),
    Ordinary,
}

#[derive(Debug, Clone, Copy)]
enum TokenBytes {
    Text,
    Id,
    Named,
}

/// How content is made.
#[derive(Debug, Clone, Copy)]
enum Content {
    /// Of hard text.
    Innocent,
    /// Of hard text, control tokens, their halves and look-alikes.
    Attacking,
}

#[derive(Debug, Clone)]
struct Trial {
    begin: Vec<Piece>,
    roles: Vec<(Vec<Piece>, Vec<Piece>)>,
    end: Vec<Piece>,
    /// Texts, and numbers of added tokens to be forged.
    contents: Vec<Vec<Result<String, usize>>>,
    mode: Mode,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(HARD).prop_map(str::to_owned),
        1 => "[a-zA-Zà-ÿА-я0-9 .,\n]{0,12}",
        1 => "[\u{4e00}-\u{4eff}\u{3040}-\u{30ff}\u{0620}-\u{064a}\u{1f600}-\u{1f64f}]{0,4}",
    ]
}

fn affix() -> impl Strategy<Value = Vec<Piece>> {
    let spelling = prop_oneof![Just(TokenBytes::Text), Just(TokenBytes::Id), Just(TokenBytes::Named)];
    let piece = prop_oneof![
        4 => text().prop_map(Piece::Text),
        1 => prop::sample::select(FORGED).prop_filter("see `controls`", |text| *text != "<unk>").prop_map(|text| Piece::Text(text.to_owned())),
        5 => (any::<prop::sample::Index>(), spelling).prop_map(|(index, spelling)| Piece::Control(index.index(5000), spelling)),
        1 => Just(Piece::Ordinary),
    ];
    prop::collection::vec(piece, 0..4)
}

fn trial(content: Content) -> impl Strategy<Value = Trial> {
    let part = match content {
        Content::Innocent => prop_oneof![1 => text().prop_map(Ok)].boxed(),
        Content::Attacking => prop_oneof![
            3 => text().prop_map(Ok),
            3 => prop::sample::select(FORGED).prop_map(|text| Ok(text.to_owned())),
            3 => (0..5000_usize).prop_map(Err),
        ]
        .boxed(),
    };
    let contents = prop::collection::vec(prop::collection::vec(part, 0..5), 1..6);
    let mode = prop_oneof![Just(Mode::Generate), Just(Mode::Score)];
    (affix(), prop::collection::vec((affix(), affix()), 1..4), affix(), contents, mode)
        .prop_map(|(begin, roles, end, contents, mode)| Trial { begin, roles, end, contents, mode })
}

impl Trial {
    fn affix(&self, pieces: &[Piece], subject: &Subject) -> Affix {
        let added = controls(subject);
        let item = |piece: &Piece| match piece {
            Piece::Text(text) => AffixItem::Text(text.clone()),
            Piece::Ordinary => AffixItem::Id(subject.ordinary.into()),
            Piece::Control(index, spelling) => {
                let token = added[index % added.len()];
                match spelling {
                    TokenBytes::Text => AffixItem::Text(token.content.clone()),
                    TokenBytes::Id => AffixItem::Id(token.id.into()),
                    TokenBytes::Named => AffixItem::Token(token.content.clone()),
                }
            }
        };
        Affix(pieces.iter().map(item).collect())
    }

    fn model(&self, subject: &Subject) -> Model {
        let role = |(i, (begin, end)): (usize, &(Vec<Piece>, Vec<Piece>))| {
            RoundItem::Role(Box::new(RoleTemplate {
                role: format!("R{i}"),
                begin: self.affix(begin, subject),
                end: self.affix(end, subject),
                generate: i + 1 == self.roles.len(),
                ..RoleTemplate::default()
            }))
        };
        let template = MetaTemplate {
            begin: self.affix(&self.begin, subject),
            round: self.roles.iter().enumerate().map(role).collect(),
            end: self.affix(&self.end, subject),
            ..MetaTemplate::default()
        };
        Model { meta_template: Some(template), ..Model::default() }
    }

    fn content(&self, subject: &Subject, i: usize) -> String {
        let added: Vec<_> = subject.fast.added_tokens().collect();
        self.contents[i]
            .iter()
            .map(|part| part.clone().unwrap_or_else(|index| added[index % added.len()].content.clone()))
            .collect()
    }

    fn conversation(&self, subject: &Subject) -> Conversation {
        let marker = |opens| Item::Marker(Marker { section: Section::Round, opens, has_extra_keys: false });
        let messages = (0..self.contents.len())
            .map(|i| Message::new(format!("R{}", i % self.roles.len()), self.content(subject, i)).into());
        Conversation::List([marker(true)].into_iter().chain(messages).chain([marker(false)]).collect())
    }

    fn builder(
        &self,
        subject: &Subject,
        tokenizer: &Arc<Tokenizer>,
        content: ContentTrust,
        spans: bool,
    ) -> metatok::Result<PromptBuilder> {
        let options = BuilderOptions {
            mode: self.mode,
            content,
            special_tokens: Some(AddSpecialTokens::Never),
            spans,
            offsets: spans,
            ..BuilderOptions::default()
        };
        PromptBuilder::new(&self.model(subject), Arc::clone(tokenizer), &options)
    }

    fn build(
        &self,
        subject: &Subject,
        tokenizer: &Arc<Tokenizer>,
        content: ContentTrust,
        spans: bool,
    ) -> metatok::Result<TokenizedPrompt> {
        self.builder(subject, tokenizer, content, spans)?.build(&self.conversation(subject))
    }

    /// The prompt as one string, with a stand-in for the token that no text could give. Written anew
    /// here, so that it is no mirror of what it is compared with.
    fn joined(&self, subject: &Subject) -> String {
        let added = controls(subject);
        let write = |pieces: &[Piece]| -> String {
            let piece = |piece: &Piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Control(index, _) => added[index % added.len()].content.clone(),
                Piece::Ordinary => ORDINARY.to_owned(),
            };
            pieces.iter().map(piece).collect()
        };
        let mut text = write(&self.begin);
        let rounds = self.contents.len().div_ceil(self.roles.len());
        for round in 0..rounds {
            for (i, (begin, end)) in self.roles.iter().enumerate() {
                text += &write(begin);
                if i + 1 == self.roles.len() && round + 1 == rounds && self.mode == Mode::Generate {
                    return text;
                }
                let said = round * self.roles.len() + i;
                if said < self.contents.len() {
                    text += &self.content(subject, said);
                }
                text += &write(end);
            }
        }
        text + &write(&self.end)
    }
}

/// The added tokens that templates write. Not the one for unknown characters: if a template writes
/// that, every such character in content is an error.
fn controls(subject: &Subject) -> Vec<&AddedToken> {
    subject.fast.added_tokens().filter(|token| Some(token.id) != subject.fast.unk_token_id()).collect()
}

/// Tries a law on every tokenizer.
fn law(content: Content, law: impl Fn(&Subject, &Trial) -> Result<(), TestCaseError>) {
    law_beside(content, Just(()), |subject, trial, ()| law(subject, trial));
}

/// Tries a law on every tokenizer, with something else that varies.
fn law_beside<S: Strategy<Value: Clone> + Clone>(
    content: Content,
    beside: S,
    law: impl Fn(&Subject, &Trial, S::Value) -> Result<(), TestCaseError>,
) {
    for subject in SUBJECTS.iter() {
        let config = laws::cases(150);
        let mut runner = TestRunner::new_with_rng(
            config,
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        if let Err(error) =
            runner.run(&(trial(content), beside.clone()), |(trial, beside)| law(subject, &trial, beside))
        {
            panic!("{}: {error}", subject.name);
        }
    }
}

/// A prompt; a conversation that has no tokens is no case.
fn built(prompt: metatok::Result<TokenizedPrompt>) -> Result<TokenizedPrompt, TestCaseError> {
    prompt.map_err(|error| match error.kind() {
        ErrorKind::EmptyPrompt { .. } => TestCaseError::reject("no tokens"),
        _ => TestCaseError::fail(error.to_string()),
    })
}

fn trusted_ids_are_those_of_the_joined_string() {
    law(Content::Attacking, |subject, trial| {
        let prompt = built(trial.build(subject, &subject.fast, ContentTrust::Trusted, false))?;
        let joined = trial.joined(subject);
        prop_assert_eq!(&prompt.input_ids, &subject.reference(&joined), "{:?}", joined);
        Ok(())
    });
}

fn ids_of_innocent_content_are_those_of_the_joined_string() {
    law(Content::Innocent, |subject, trial| {
        let joined = trial.joined(subject);
        let trusted = built(trial.build(subject, &subject.fast, ContentTrust::Trusted, false))?;
        let prompt = built_or_refused(trial.build(subject, &subject.fast, ContentTrust::Data, false))?;
        let Some(prompt) = prompt else { return Ok(()) };
        // A template's half of a control token may meet its other half in content, even innocent content.
        if trusted
            .input_ids
            .iter()
            .filter(|id| is_added(subject, **id))
            .eq(prompt.input_ids.iter().filter(|id| is_added(subject, **id)))
        {
            prop_assert_eq!(&prompt.input_ids, &subject.reference(&joined), "{:?}", joined);
        }
        Ok(())
    });
}

/// A prompt, or none where content was refused because ordinary merges reach a control token's string and no other
/// tokens write it: that is the contract's answer, and no wrong ids.
fn built_or_refused(prompt: metatok::Result<TokenizedPrompt>) -> Result<Option<TokenizedPrompt>, TestCaseError> {
    match prompt {
        Err(error) if matches!(error.kind(), ErrorKind::ReservedInContent { .. }) => Ok(None),
        prompt => built(prompt).map(Some),
    }
}

fn is_added(subject: &Subject, id: metatok::TokenId) -> bool {
    subject.fast.added_tokens().any(|token| token.id == id)
}

fn both_libraries_give_the_same_ids() {
    for trust in [ContentTrust::Data, ContentTrust::Trusted] {
        law(Content::Attacking, |subject, trial| {
            let fast = trial.build(subject, &subject.fast, trust, false);
            let classic = trial.build(subject, &subject.classic, trust, false);
            match (fast, classic) {
                (Ok(fast), Ok(classic)) => prop_assert_eq!(fast, classic),
                (fast, classic) => {
                    prop_assert_eq!(fast.map_err(|error| error.to_string()), classic.map_err(|error| error.to_string()))
                }
            }
            Ok(())
        });
    }
}

fn both_libraries_give_the_same_offsets() {
    for trust in [ContentTrust::Data, ContentTrust::Trusted] {
        law(Content::Attacking, |subject, trial| {
            let fast = trial.build(subject, &subject.fast, trust, true);
            let classic = trial.build(subject, &subject.classic, trust, true);
            let (Ok(fast), Ok(classic)) = (fast, classic) else { return Ok(()) };
            prop_assert_eq!(fast, classic, "{:?}", trial.joined(subject));
            Ok(())
        });
    }
}

fn both_libraries_decode_alike() {
    law(Content::Attacking, |subject, trial| {
        let prompt = built(trial.build(subject, &subject.fast, ContentTrust::Trusted, false))?;
        for skip in [false, true] {
            let decode =
                |tokenizer: &Tokenizer| tokenizer.decode(&prompt.input_ids, skip).map_err(|error| error.to_string());
            prop_assert_eq!(decode(&subject.fast), decode(&subject.classic));
        }
        Ok(())
    });
}

fn no_content_gives_a_reserved_token() {
    law(Content::Attacking, |subject, trial| {
        let builder = trial
            .builder(subject, &subject.fast, ContentTrust::Data, true)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let Some(prompt) = built_or_refused(builder.build(&trial.conversation(subject)))? else { return Ok(()) };
        let spans = prompt.spans.as_ref().expect("they were asked for");
        for span in spans.iter().filter(|span| span.part.is_content()) {
            for &id in &prompt.input_ids[span.start..span.end] {
                prop_assert!(!builder.is_reserved(id), "{id} in {:?}", trial.joined(subject));
            }
        }
        Ok(())
    });
}

fn spans_cover_the_ids_and_do_not_change_them() {
    law(Content::Attacking, |subject, trial| {
        let plain = built_or_refused(trial.build(subject, &subject.fast, ContentTrust::Data, false))?;
        let Some(plain) = plain else { return Ok(()) };
        let spanned = built(trial.build(subject, &subject.fast, ContentTrust::Data, true))?;
        prop_assert_eq!(&plain.input_ids, &spanned.input_ids);
        let mut end = 0;
        for span in spanned.spans.iter().flatten() {
            prop_assert_eq!(span.start, end);
            prop_assert!(span.end > span.start);
            end = span.end;
        }
        prop_assert_eq!(end, spanned.input_ids.len());
        Ok(())
    });
}

fn a_session_builds_what_a_new_builder_builds() {
    // The cache of runs must not show: the same conversation, three times with the same buffers.
    for spans in [false, true] {
        law(Content::Attacking, |subject, trial| {
            let builder = trial
                .builder(subject, &subject.fast, ContentTrust::Data, spans)
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            let conversation = trial.conversation(subject);
            let mut session = builder.session();
            let Some(first) = built_or_refused(session.build(&conversation))? else { return Ok(()) };
            for _ in 0..2 {
                prop_assert_eq!(&built(session.build(&conversation))?, &first);
            }
            Ok(())
        });
    }
}

fn what_prompts_have_in_common_does_not_show() {
    // One message is longer than in the first conversation, or the last one; or others follow it.
    law_beside(Content::Attacking, any::<(bool, bool)>(), |subject, trial, (spans, offsets)| {
        let common = 0..trial.contents.len();
        let longer = common.clone().map(|i| {
            let mut other = trial.clone();
            other.contents[i].push(Ok(" and\nmore".into()));
            other
        });
        let shorter = common.map(|i| Trial { contents: trial.contents[..=i].to_vec(), ..trial.clone() });
        let special_tokens = Some(AddSpecialTokens::Never);
        let options = BuilderOptions { mode: trial.mode, special_tokens, spans, offsets, ..BuilderOptions::default() };
        let builder = || PromptBuilder::new(&trial.model(subject), Arc::clone(&subject.fast), &options);
        let said = |prompt: metatok::Result<TokenizedPrompt>| prompt.map_err(|error| error.to_string());
        let alone = |conversation: &Conversation| said(builder().and_then(|builder| builder.build(conversation)));
        let mut session = builder().map_err(|error| TestCaseError::fail(error.to_string()))?.session();
        let conversation = trial.conversation(subject);
        let first = alone(&conversation);
        for other in longer.chain(shorter) {
            // What comes for the second time is kept, and found the third time.
            for _ in 0..3 {
                prop_assert_eq!(&said(session.build(&conversation)), &first);
            }
            let other = other.conversation(subject);
            prop_assert_eq!(said(session.build(&other)), alone(&other));
        }
        Ok(())
    });
}

fn the_same_is_cut_with_and_without_spans() {
    law(Content::Attacking, |subject, trial| {
        let conversation = trial.conversation(subject);
        let builder = |spans| trial.builder(subject, &subject.fast, ContentTrust::Data, spans);
        let (Ok(plain), Ok(spanned)) = (builder(false), builder(true)) else { return Ok(()) };
        let Ok(whole) = plain.build(&conversation) else { return Ok(()) };
        if trial.mode == Mode::Score {
            return Ok(());
        }
        let limit = whole.input_ids.len() * 2 / 3;
        let truncations = [Truncation::Left, Truncation::Right, Truncation::Middle, Truncation::OldestTurns];
        // After some long prompts, spans are recorded at once.
        for truncation in truncations.repeat(2) {
            let budget = ContextBudget::new(limit, 0).truncation(truncation);
            let cut = |builder: &PromptBuilder| {
                let fitted = builder.build_within(&conversation, &budget).map_err(|error| error.to_string());
                fitted.map(|fitted| (fitted.prompt.input_ids, fitted.truncated, fitted.conversation))
            };
            let fitted = cut(&plain);
            prop_assert_eq!(&fitted, &cut(&spanned), "{:?}", trial.joined(subject));
            // What is left has the ids that it has when nothing is known of the whole.
            if let Ok((ids, _, Some(left))) = fitted {
                let alone = builder(false).and_then(|builder| builder.build(&left));
                prop_assert_eq!(alone.map(|prompt| prompt.input_ids).ok(), Some(ids), "{:?}", left);
            }
        }
        Ok(())
    });
}

fn decoding_gives_the_text_back() {
    for name in ["demo", "a thousand added tokens", "declared in the config, with gaps"] {
        let subject = subjects::subject(name);
        let mut runner = TestRunner::new(laws::cases(150));
        let outcome = runner.run(&prop::collection::vec(text(), 0..8), |parts| {
            use std::iter::once;
            // The demo's normalizer composes characters; what it composed stays as it is.
            let ids = subject.fast.encode(&parts.concat()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let decoded = subject.fast.decode(&ids, false).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let again = subject.fast.encode(&decoded).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&again, &ids);
            let added = subject.fast.added_tokens().last().expect("there are some");
            let with_token: Vec<_> = ids.iter().copied().chain(once(added.id)).chain(ids.iter().copied()).collect();
            let text =
                subject.fast.decode(&with_token, false).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(text, [decoded.as_str(), &added.content, &decoded].concat());
            let bytes: Vec<u8> = ids.iter().filter_map(|&id| subject.fast.token_bytes(id)).flatten().collect();
            prop_assert_eq!(String::from_utf8_lossy(&bytes), decoded);
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{name}: {error}");
        }
    }
}

/// A message of texts and images, in which an added token stands for every image.
fn shown(subject: &Subject, parts: &[Option<String>]) -> (Model, Conversation, String) {
    let control = controls(subject).first().expect("every tokenizer has one").content.clone();
    let placeholder =
        Affix(vec![AffixItem::Text("[".into()), AffixItem::Token(control.clone()), AffixItem::Text("]".into())]);
    let multimodal = Multimodal { image: Some(placeholder.into()), ..Multimodal::default() };
    let content: Vec<ContentPart> = parts
        .iter()
        .map(|part| part.clone().map_or_else(|| Media::new(MediaKind::Image, "a.png").into(), ContentPart::text))
        .collect();
    let joined = parts.iter().map(|part| part.clone().unwrap_or_else(|| format!("[{control}]"))).collect();
    let conversation = Conversation::Messages(vec![ChatMessage::new("user", content)]);
    (Model { multimodal, ..Model::default() }, conversation, joined)
}

fn content_parts() {
    let attack = prop_oneof![3 => text(), 2 => prop::sample::select(FORGED).prop_map(str::to_owned)];
    let parts = prop::collection::vec(prop::option::weighted(0.7, attack), 0..8);
    for subject in SUBJECTS.iter() {
        let config = laws::cases(150);
        let mut runner = TestRunner::new(config);
        let outcome = runner.run(&(parts.clone(), any::<prop::sample::Index>()), |(mut parts, forged)| {
            // The placeholder's own token, as a user might write it.
            let control = controls(subject)[forged.index(1)].content.clone();
            parts.push(Some(control));
            let (model, conversation, joined) = shown(subject, &parts);
            let images = parts.iter().filter(|part| part.is_none()).count();
            let build = |content| {
                let special_tokens = Some(AddSpecialTokens::Never);
                let options = BuilderOptions { content, special_tokens, spans: true, ..BuilderOptions::default() };
                let builder = PromptBuilder::new(&model, Arc::clone(&subject.fast), &options)?;
                let prompt = builder.build(&conversation)?;
                let reserved = prompt.input_ids.iter().filter(|&&id| builder.is_reserved(id)).count();
                Ok((prompt, reserved))
            };
            let (trusted, _) =
                build(ContentTrust::Trusted).map_err(|error: metatok::Error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&trusted.input_ids, &subject.reference(&joined), "{:?}", joined);
            let (prompt, reserved) = match build(ContentTrust::Data) {
                Err(error) if matches!(error.kind(), ErrorKind::ReservedInContent { .. }) => return Ok(()),
                built => built.map_err(|error| TestCaseError::fail(error.to_string()))?,
            };
            // As many as there are images: none is the text's.
            prop_assert_eq!(reserved, images, "{:?} {:?}", joined, prompt);
            prop_assert_eq!(prompt.media.len(), images, "{:?} {:?}", joined, prompt);
            let spans =
                prompt.spans.iter().flatten().filter(|span| span.part.element == metatok::render::Element::Media);
            let spans: Vec<_> = spans.map(|span| (span.start, span.end)).collect();
            prop_assert_eq!(spans, prompt.media.iter().map(|media| (media.start, media.end)).collect::<Vec<_>>());
            let places = conversation.media().map(|(message, part, _)| (message, part));
            prop_assert!(places.eq(prompt.media.iter().map(|media| (media.message, media.content_part))));
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{}: {error}", subject.name);
        }
    }
}

fn tagged_content_is_split_and_joined_without_loss() {
    let payload = prop_oneof![4 => text(), 1 => Just("<AIS_VIDEO_START".to_owned()), 1 => Just("<AIS_TEXT_START> <AIS_CONTENT_TAG".to_owned())];
    let fragment = (prop::sample::select(&FragmentKind::ALL[..]), payload);
    let fragments = prop::collection::vec(fragment.prop_map(|(kind, payload)| Fragment { kind, payload }), 0..6);
    let mut runner = TestRunner::new(laws::cases(2000));
    let outcome = runner.run(&fragments, |fragments| {
        let own_tag =
            |fragment: &Fragment| fragment.kind == FragmentKind::Text && fragment.payload.contains("<AIS_TEXT_START>");
        match Fragment::join(&fragments) {
            Err(_) => prop_assert!(fragments.iter().any(own_tag)),
            Ok(content) => {
                prop_assert!(!fragments.iter().any(own_tag));
                let split = Fragment::split(&content).map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert_eq!(&split, &fragments);
                prop_assert_eq!(Fragment::split_lossy(&content), fragments);
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn the_first_request_of_functions_is_that_of_the_first_turn() {
    let dataset = r#"{"infer_cfg": {"inferencer": {"type": "BFCLV3FunctionCallInferencer"}}}"#;
    let dataset = Dataset::parse("d.json", dataset.as_bytes()).expect("it is a dataset");
    let prompts = |row: serde_json::Value| {
        let row = Row::from_json(&row.to_string())?;
        RowPrompter::new(&dataset, [])?.for_server(true).prompts(&row, Vec::new(), |_| Ok(0))
    };
    let turns = prop::collection::vec(prop::collection::vec(text(), 1..4), 1..4);
    let mut runner = TestRunner::new(laws::cases(500));
    let outcome = runner.run(&turns, |turns| {
        let messages = |turn: &Vec<String>| turn.iter().map(|said| ChatMessage::new("user", said.as_str())).collect();
        let turns: Vec<Vec<ChatMessage>> = turns.iter().map(messages).collect();
        let tools = json!([{ "name": turns[0][0].content }]);
        let of_lists = prompts(json!({ "question": turns, "tools": tools }));
        let of_texts = prompts(json!({ "question": json!(turns).to_string(), "tools": tools.to_string() }));
        let of_one = prompts(json!({ "question": turns[..1], "tools": tools }));
        let fail = |error: metatok::Error| TestCaseError::fail(error.to_string());
        let (of_lists, of_texts, of_one) = (of_lists.map_err(fail)?, of_texts.map_err(fail)?, of_one.map_err(fail)?);
        prop_assert_eq!(&of_lists[0].conversation, &Conversation::Messages(turns[0].clone()));
        prop_assert_eq!(of_lists[0].tools.as_deref(), Some(&*tools.to_string()));
        prop_assert_eq!(&of_lists, &of_texts);
        prop_assert_eq!(of_lists, of_one);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
