//! An error as an object for programs, for example in the response of a service.

use serde::{Serialize, Serializer};

use crate::error::{Error, Fault, Setting, WayOut};

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename = "Error")]
        struct Fields<'a> {
            code: &'static str,
            fault: Fault,
            message: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            way_out: Option<&'a WayOut>,
            #[serde(skip_serializing_if = "Option::is_none")]
            file: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            line: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            key: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            column: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            conversation: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message_index: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            request: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            setting: Option<&'a str>,
        }
        let fields = Fields {
            code: self.kind().code(),
            fault: self.fault(),
            message: self.to_string(),
            way_out: self.way_out(),
            file: self.file(),
            line: self.line(),
            key: self.key(),
            column: self.column(),
            conversation: self.conversation(),
            message_index: self.message_index(),
            request: self.request(),
            setting: self.setting().map(Setting::name),
        };
        fields.serialize(serializer)
    }
}
