use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are usually text: in JSON a string if they are UTF-8, else `{"base64": "…"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum TextForm<'a> {
    Utf8(Cow<'a, str>),
    Binary { base64: Cow<'a, str> },
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                use base64::Engine as _;
                let base64 = base64::engine::general_purpose::STANDARD.encode(&self.0).into();
                TextForm::Binary { base64 }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        use base64::Engine as _;
        match TextForm::deserialize(deserializer)? {
            TextForm::Utf8(text) => Ok(Text(text.into_owned().into_bytes())),
            TextForm::Binary { base64 } => base64::engine::general_purpose::STANDARD
                .decode(base64.as_bytes())
                .map(Text)
                .map_err(serde::de::Error::custom),
        }
    }
}

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        TextForm::json_schema(generator)
    }
}
