//! How each separator style lays out a conversation, as data.

use crate::dialect::fastchat::style::SeparatorStyle;
use crate::dialect::fastchat::template::{ConversationTemplate, SystemPrompt};

/// A text of the template, or the separator that the template would need but does not have.
pub(super) type Piece<P> = Result<P, &'static str>;

/// How a conversation is laid out. Of two texts, the first is for messages at even positions of the list, the second
/// for odd ones.
#[derive(Debug)]
pub(super) struct Layout<P> {
    /// Before everything.
    pub(super) opening: P,
    pub(super) system: When,
    pub(super) after_system: Piece<P>,
    /// The system text if there is no system message.
    pub(super) without_system: P,
    /// Before the label.
    pub(super) before: [Piece<P>; 2],
    /// The number of the first round, if rounds are numbered before the label.
    pub(super) first_round: Option<usize>,
    pub(super) label: Labels,
    /// Between label and content.
    pub(super) colon: [Piece<P>; 2],
    /// After the content.
    pub(super) end: [Piece<P>; 2],
    /// After the label if there is no content.
    pub(super) open: [Piece<P>; 2],
    pub(super) first: First<P>,
    pub(super) filter: Filter,
    /// How many of the last messages are written.
    pub(super) window: Option<usize>,
    /// What comes at the very end, after the preceding text loses its last `<`, `n` and `>`.
    pub(super) finish: Option<Piece<P>>,
    /// The placeholder of an image.
    pub(super) image: Option<P>,
}

/// When the system text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// If there is any text.
    IfText,
    /// If there is a message, whatever text is around it.
    IfMessage,
    Never,
}

impl When {
    /// Whether it is written, if there is a message, and any text.
    pub(super) fn is_written(self, has_message: bool, has_text: bool) -> bool {
        match self {
            Self::Always => true,
            Self::IfText => has_text,
            Self::IfMessage => has_message,
            Self::Never => false,
        }
    }
}

/// Which label a message has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    /// Its own.
    Own,
    /// That of its position.
    OfPlace,
    None,
}

/// How a first message with content differs from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First<P> {
    Ordinary,
    /// The system text and the content, and nothing else.
    AfterSystem,
    /// The content and this.
    Bare(P),
}

/// How contents are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    None,
    /// Every two line ends become one.
    HalveLineEnds,
    /// White space around the content is left out.
    Strip,
}

/// The separators of a template.
struct Separators<'t>(&'t ConversationTemplate);

impl Separators<'_> {
    fn sep(&self) -> Piece<String> {
        self.0.sep.clone().ok_or("sep")
    }

    fn sep2(&self) -> Piece<String> {
        self.0.sep2.clone().ok_or("sep2")
    }

    fn sep_and(&self, more: &str) -> Piece<String> {
        Ok(self.sep()? + more)
    }
}

fn text(text: &str) -> Piece<String> {
    Ok(text.to_owned())
}

/// For messages at even and odd positions alike.
fn both(piece: Piece<String>) -> [Piece<String>; 2] {
    [piece.clone(), piece]
}

/// A fixed text for messages at even and odd positions alike.
fn twice(fixed: &str) -> [Piece<String>; 2] {
    both(text(fixed))
}

impl Layout<String> {
    /// The layout of a template.
    pub(super) fn new(template: &ConversationTemplate) -> Self {
        use SeparatorStyle as Style;

        let own = Separators(template);
        let plain = Self::plain(own.sep());
        let image = Some("$$<image>$$".to_owned());
        let is_ultrafeedback = matches!(template.system, SystemPrompt::Whole { .. });
        match template.sep_style {
            Style::AddColonSingle => Self { after_system: own.sep(), image, ..plain },
            Style::AddColonTwo => Self { after_system: own.sep(), end: [own.sep(), own.sep2()], image, ..plain },
            Style::AddColonSpaceSingle => Self { after_system: own.sep(), open: twice(": "), ..plain },
            Style::AddNewLineSingle => {
                Self { system: When::IfText, after_system: own.sep(), colon: twice("\n"), open: twice("\n"), ..plain }
            }
            Style::NoColonSingle => Self { colon: twice(""), open: twice(""), ..plain },
            Style::NoColonTwo => Self { colon: twice(""), end: [own.sep(), own.sep2()], open: twice(""), ..plain },
            Style::Rwkv => Self { end: twice("\n\n"), filter: Filter::HalveLineEnds, ..plain },
            Style::Llama2 if is_ultrafeedback => Self {
                system: When::Never,
                colon: twice(" "),
                end: [own.sep(), own.sep2()],
                open: twice(""),
                first: First::AfterSystem,
                ..plain
            },
            Style::Llama2 => Self {
                system: When::IfMessage,
                without_system: "[INST] ".to_owned(),
                label: Labels::OfPlace,
                colon: twice(" "),
                end: [own.sep(), own.sep2()],
                open: twice(""),
                first: First::Bare(" ".to_owned()),
                ..plain
            },
            Style::Llama3 => Self {
                opening: "<|begin_of_text|>".to_owned(),
                system: When::IfMessage,
                before: twice("<|start_header_id|>"),
                colon: twice("<|end_header_id|>\n\n"),
                end: twice("<|eot_id|>"),
                open: twice("<|end_header_id|>\n\n"),
                filter: Filter::Strip,
                ..plain
            },
            Style::Chatglm => Self {
                system: When::IfText,
                after_system: own.sep(),
                before: [own.sep().map(|sep| "]".to_owned() + &sep), text("")],
                // Only the name distinguishes them.
                first_round: Some(usize::from(template.name == "chatglm2")),
                colon: twice("："),
                open: twice("："),
                ..plain
            },
            Style::Chatglm3 => {
                Self { system: When::IfMessage, colon: twice("\n"), end: twice(""), open: twice(""), ..plain }
            }
            Style::Chatml => Self {
                system: When::IfText,
                after_system: own.sep_and("\n"),
                colon: twice("\n"),
                end: both(own.sep_and("\n")),
                open: twice("\n"),
                image,
                ..plain
            },
            Style::Chatintern => Self {
                before: [text("<s>"), text("")],
                colon: twice(":"),
                end: [own.sep_and("\n"), own.sep2().map(|sep2| sep2 + "\n")],
                ..plain
            },
            Style::Dolly => Self {
                colon: twice(":\n"),
                end: [own.sep(), own.sep2().map(|sep2| sep2 + "\n\n")],
                open: twice(":\n"),
                ..plain
            },
            Style::Phoenix => Self { colon: twice(": <s>"), end: twice("</s>"), open: twice(": <s>"), ..plain },
            Style::Robin => Self { after_system: own.sep(), colon: twice(":\n"), open: twice(":\n"), ..plain },
            Style::FalconChat => Self { system: When::IfMessage, after_system: own.sep(), ..plain },
            Style::Metamath => {
                let odd = own.sep2().map(|sep2| ": ".to_owned() + &sep2);
                Self {
                    system: When::IfText,
                    after_system: own.sep(),
                    colon: [text(":\n"), odd.clone()],
                    end: [own.sep(), text("")],
                    open: [text(":\n"), odd],
                    ..plain
                }
            }
            Style::DeepseekChat => Self { end: [own.sep(), own.sep2()], ..plain },
            Style::Yuan2 => Self {
                system: When::IfMessage,
                after_system: own.sep2(),
                label: Labels::None,
                colon: twice(""),
                end: twice("<n>"),
                open: twice(""),
                finish: Some(own.sep()),
                ..plain
            },
            Style::Gemma => Self {
                opening: "<bos>".to_owned(),
                system: When::Never,
                before: twice("<start_of_turn>"),
                colon: twice("\n"),
                open: twice("\n"),
                ..plain
            },
            Style::Cllm => {
                Self { after_system: own.sep(), end: [own.sep(), own.sep2()], window: Some(2), image, ..plain }
            }
            Style::Default => Self { after_system: text("\n"), end: twice("\n"), ..plain },
        }
    }

    /// `role: content` with this after each message.
    fn plain(end: Piece<String>) -> Self {
        Self {
            opening: String::new(),
            system: When::Always,
            after_system: text(""),
            without_system: String::new(),
            before: twice(""),
            first_round: None,
            label: Labels::Own,
            colon: twice(": "),
            end: both(end),
            open: twice(":"),
            first: First::Ordinary,
            filter: Filter::None,
            window: None,
            finish: None,
            image: None,
        }
    }

    /// This layout with every text transformed.
    pub(super) fn try_map<P, E>(self, mut map: impl FnMut(String) -> Result<P, E>) -> Result<Layout<P>, E> {
        let mut piece = |piece: Piece<String>| match piece {
            Ok(text) => map(text).map(Ok),
            Err(missing) => Ok(Err(missing)),
        };
        let after_system = piece(self.after_system)?;
        let finish = self.finish.map(&mut piece).transpose()?;
        let mut pair = |[even, odd]: [Piece<String>; 2]| Ok([piece(even)?, piece(odd)?]);
        let (before, colon) = (pair(self.before)?, pair(self.colon)?);
        let (end, open) = (pair(self.end)?, pair(self.open)?);
        Ok(Layout {
            opening: map(self.opening)?,
            system: self.system,
            after_system,
            without_system: map(self.without_system)?,
            before,
            first_round: self.first_round,
            label: self.label,
            colon,
            end,
            open,
            first: match self.first {
                First::Ordinary => First::Ordinary,
                First::AfterSystem => First::AfterSystem,
                First::Bare(end) => First::Bare(map(end)?),
            },
            filter: self.filter,
            window: self.window,
            finish,
            image: self.image.map(map).transpose()?,
        })
    }
}
