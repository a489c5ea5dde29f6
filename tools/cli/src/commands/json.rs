//! What the commands that show things share: `--json`, and the report of a call without an answer.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::DAYBOOK_VERSION;
use crate::client::CallError;
use crate::say;

/// Prints objects under the keys that Slurm uses for them, behind `meta` and `errors`. Gives the exit status.
pub fn print<T: Serialize>(key: &str, objects: &T) -> u8 {
    print_all(&[(key, serde_json::to_value(objects))])
}

/// The same with several keys.
pub fn print_all(parts: &[(&str, Result<Value, serde_json::Error>)]) -> u8 {
    match document(parts) {
        Ok(text) => {
            say::print(&text);
            0
        }
        Err(error) => {
            say::error("daybook", format!("the answer cannot be written as JSON: {error}"));
            1
        }
    }
}

fn document(parts: &[(&str, Result<Value, serde_json::Error>)]) -> Result<String, String> {
    let mut document = Map::new();
    document.insert(
        "meta".to_string(),
        json!({ "program": DAYBOOK_VERSION, "layout": "daybook", "layout_version": 1 }),
    );
    document.insert("errors".to_string(), json!([]));
    for (key, value) in parts {
        document.insert((*key).to_string(), value.as_ref().map_err(ToString::to_string)?.clone());
    }
    let mut text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

/// Prints why a call has no answer, as `PREFIX: MESSAGE`, and gives the exit status.
pub fn report(prefix: &str, error: &CallError) -> u8 {
    say::line(format!("{prefix}: {error}"));
    if let Some(hint) = error.hint() {
        say::line(hint);
    }
    1
}
