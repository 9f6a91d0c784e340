//! Dataset templates: how a row becomes a prompt or an in-context example.
//!
//! ```
//! use metatok::dataset::template::PromptTemplate;
//! use metatok::{Conversation, Row};
//!
//! let template = PromptTemplate::new(&"Q: {question}\nA: {answer}".into(), None, None)?;
//! let row = Row::from_json(r#"{"question": "1+1=?", "answer": "2"}"#)?;
//! let prompt = template.prompt(&row, Some(("answer", "")), &Conversation::Text(String::new()))?;
//! assert_eq!(prompt, Conversation::Text("Q: 1+1=?\nA: ".into()));
//! # Ok::<(), metatok::Error>(())
//! ```

mod content_tags;
mod dialogue_template;
mod fields;
mod fill;
mod label_templates;
mod layout;
mod media_patterns;
mod message_template;
mod multimodal_template;
mod prompt_list;
mod prompt_row_template;
mod prompt_template;
mod qa_template;
mod qa_turn;
mod row_media;
mod row_template;
mod stray_braces;
mod template_file;
mod template_kind;
mod turn_template;

pub use content_tags::{Fragment, FragmentKind};
pub(crate) use dialogue_template::{DialogueTemplate, SECTIONS};
pub use fields::{MissingColumns, TemplateField, TemplateText};
pub(crate) use fields::{misspelt, of_texts as fields_of_texts};
pub use fill::Substitution;
pub(crate) use fill::{Filler, MAX_ROW_BYTES, Room};
pub use layout::Layout;
pub use message_template::MessageTemplate;
pub(crate) use message_template::message;
pub use multimodal_template::MultimodalTemplate;
pub(crate) use prompt_list::{fill_items, has_room, insert, insert_text, occurrences, replace};
pub use prompt_template::PromptTemplate;
pub use qa_template::QaTemplate;
pub(crate) use row_media::give_sources;
pub(crate) use row_template::no_ice_template;
pub use row_template::{BoxedTemplate, ExampleSupport, RowTemplate, TemplateInput};
pub(crate) use stray_braces::stray_braces;
pub(crate) use template_file::TemplateFile;
pub use turn_template::TurnTemplate;
