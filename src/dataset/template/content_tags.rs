//! Text and media in one string, separated by tags: the column `content` of AISBench's multimodal rows.

use crate::conversation::MediaKind;
use crate::dataset::rows::Value;
use crate::error::{At, Error, ErrorKind, Result, Setting, way_out};
use crate::wording::shortened;

/// Ends every fragment.
const END: &str = "<AIS_CONTENT_TAG>";
/// So much of a value is shown in an error.
const LONGEST: usize = 64;

/// The kind of a fragment. The order is that in which AISBench looks for the tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FragmentKind {
    /// Text.
    Text,
    /// The source of an image, audio or video.
    Media(MediaKind),
}

impl FragmentKind {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Text, Self::Media(MediaKind::Image), Self::Media(MediaKind::Video), Self::Media(MediaKind::Audio)];

    /// `text`, `image`, `video` or `audio`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Media(kind) => kind.name(),
        }
    }

    /// With its article, for messages.
    pub(crate) fn indefinite(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Media(kind) => kind.indefinite(),
        }
    }

    fn tag(self) -> &'static str {
        match self {
            Self::Text => "<AIS_TEXT_START>",
            Self::Media(MediaKind::Image) => "<AIS_IMAGE_START>",
            Self::Media(MediaKind::Video) => "<AIS_VIDEO_START>",
            Self::Media(MediaKind::Audio) => "<AIS_AUDIO_START>",
        }
    }
}

/// A piece of a multimodal content, before a template turns it into a part.
///
/// ```
/// use metatok::conversation::MediaKind;
/// use metatok::dataset::template::{Fragment, FragmentKind};
///
/// let content = "<AIS_IMAGE_START>a.png<AIS_CONTENT_TAG><AIS_TEXT_START>What is it?<AIS_CONTENT_TAG>";
/// let fragments = Fragment::split(content)?;
/// assert_eq!(fragments[0], Fragment { kind: FragmentKind::Media(MediaKind::Image), payload: "a.png".into() });
/// assert_eq!(fragments[1].payload, "What is it?");
/// assert_eq!(Fragment::join(&fragments)?, content);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// Its kind.
    pub kind: FragmentKind,
    /// The text, or the source of the medium.
    pub payload: String,
}

impl Fragment {
    /// The fragments of a tagged string, in order. White space after the last one is ignored. A payload cannot contain a
    /// tag: in one of its own kind the opening tag is left out, as in AISBench.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] for text outside the tags, and for white space before one: AISBench loses either fragment.
    pub fn split(content: &str) -> Result<Vec<Self>> {
        let mut fragments = Vec::new();
        for piece in content.split(END) {
            match Self::of(piece) {
                Some(fragment) => fragments.push(fragment),
                None if piece.trim().is_empty() => {}
                None => {
                    if let Some(Self { kind, .. }) = Self::of(piece.trim_start()) {
                        let what = format!("white space before {} would lose this fragment", kind.tag());
                        return Err(ErrorKind::Row(what).with_way_out(way_out![
                            "remove it, such as line breaks between fragments (",
                            Setting::COMPAT,
                            " loses the fragment, as AISBench does)"
                        ]));
                    }
                    let what = format!(
                        "the text {:?} is outside the tags and would be lost",
                        shortened(piece.to_owned(), LONGEST)
                    );
                    return Err(ErrorKind::Row(what).with_way_out(way_out![
                        format!("put <AIS_TEXT_START> before it and {END} after it ("),
                        Setting::COMPAT,
                        " drops it, as AISBench does)"
                    ]));
                }
            }
        }
        Ok(fragments)
    }

    /// Splits a tagged string as AISBench does, which loses the text outside the tags.
    pub fn split_lossy(content: &str) -> Vec<Self> {
        content.split(END).filter_map(Self::of).collect()
    }

    /// The tagged string of fragments, which [`Self::split`] splits again.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] if a payload contains the end tag, or its own opening tag.
    pub fn join(fragments: &[Self]) -> Result<String> {
        let mut joined = String::new();
        for (i, Self { kind, payload }) in fragments.iter().enumerate() {
            if let Some(tag) = [END, kind.tag()].into_iter().find(|tag| payload.contains(tag)) {
                let what = format!("the {} contains the tag {tag}, which would split it", kind.name());
                return Err(Error::from(ErrorKind::Row(what)).at(format_args!("fragment {i}")));
            }
            joined.extend([kind.tag(), payload, END]);
        }
        Ok(joined)
    }

    /// The fragments of a column: a tagged string, or a list whose items are strings, or declare their kind: `{"image":
    /// "a.png"}`.
    pub(crate) fn of_column(value: &Value, lossy: bool) -> Result<Vec<Self>> {
        match value {
            Value::Text(content) if lossy => Ok(Self::split_lossy(content)),
            Value::Text(content) => Self::split(content),
            Value::List(items) => {
                items.iter().enumerate().map(|(i, item)| Self::of_item(item).at(format_args!("[{i}]"))).collect()
            }
            other => {
                let what = format!(
                    "expected a string with tags or a list of fragments, not {}",
                    shortened(other.repr(), LONGEST)
                );
                Err(ErrorKind::Row(what).into())
            }
        }
    }

    fn of(piece: &str) -> Option<Self> {
        let kind = FragmentKind::ALL.into_iter().find(|kind| piece.starts_with(kind.tag()))?;
        Some(Self { kind, payload: piece.replace(kind.tag(), "") })
    }

    fn of_item(item: &Value) -> Result<Self> {
        if let Value::Text(text) = item {
            return Ok(Self { kind: FragmentKind::Text, payload: text.clone() });
        }
        let of_kinds = FragmentKind::ALL.into_iter().filter_map(|kind| Some((kind, item.get(kind.name())?)));
        let given: Vec<(FragmentKind, &Value)> = of_kinds.filter(|(_, value)| **value != Value::Null).collect();
        // Tables have all keys in each row, with an empty string where one is absent.
        let mut said = given.iter().filter(|(_, value)| value.as_text() != Some(""));
        let (one, other) = (said.next().or(given.first()), said.next());
        if let (Some((one, _)), Some((other, _))) = (one, other) {
            let what = format!("a fragment has both {:?} and {:?}, and one would be lost", one.name(), other.name());
            return Err(ErrorKind::Row(what).with_way_out("make two fragments of it"));
        }
        let text = one.and_then(|(kind, value)| Some(Self { kind: *kind, payload: value.as_text()?.to_owned() }));
        text.ok_or_else(|| {
            let what = format!(
                "a fragment must be a string, or {{\"text\": \"…\"}} with text, image, video or audio, not {}",
                shortened(item.repr(), LONGEST)
            );
            ErrorKind::Row(what).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(items: &str) -> Result<Vec<Fragment>> {
        Fragment::of_column(&Value::from_json(items).expect("it is JSON"), false)
    }

    #[test]
    fn an_item_of_a_table_has_one_kind() {
        let fragments =
            r#"[{"image": "/a.png", "text": ""}, {"image": "", "text": "What?"}, {"image": null, "text": ""}]"#;
        let fragments = of(fragments).unwrap_or_else(|error| panic!("{error}"));
        let written: Vec<_> = fragments.iter().map(|one| (one.kind.name(), one.payload.as_str())).collect();
        assert_eq!(written, [("image", "/a.png"), ("text", "What?"), ("text", "")]);
        for (items, what) in [
            (r#"[{"image": "/a.png", "text": "What?"}]"#, "has both \"text\" and \"image\""),
            (r#"[{"image": {"bytes": "x"}, "text": "What?"}]"#, "has both"),
            (r#"[{"image": {"bytes": "x"}, "text": ""}]"#, "must be a string"),
            (r#"[{"picture": "/a.png"}]"#, "must be a string"),
        ] {
            let error = of(items).expect_err("something would be lost").to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn white_space_between_fragments_is_named() {
        let lines = "<AIS_IMAGE_START>a.png<AIS_CONTENT_TAG>\n<AIS_TEXT_START>What?<AIS_CONTENT_TAG>\n";
        let error = Fragment::split(lines).expect_err("AISBench loses the text").to_string();
        assert!(error.contains("white space before <AIS_TEXT_START>"), "{error}");
        assert_eq!(Fragment::split_lossy(lines).len(), 1);
    }
}
