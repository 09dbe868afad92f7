//! Parts of an artifact that an executor wrote itself: texts, data and files.

use serde_json::{Value, json};

use crate::dialect::ProtocolDialect;
use crate::object::set;

/// The members of a part, of which it has exactly one.
const CONTENTS: [&str; 4] = ["text", "raw", "url", "data"];

/// The parts of an artifact, if it has any and each of them is valid.
pub fn parts_of(artifact: &Value, dialect: ProtocolDialect) -> Option<Vec<Value>> {
    let parts = artifact.get("parts")?.as_array()?;
    if parts.is_empty() {
        return None;
    }
    parts.iter().map(|part| one_part(part, dialect)).collect()
}

fn one_part(part: &Value, dialect: ProtocolDialect) -> Option<Value> {
    let mut found = CONTENTS.iter().filter_map(|name| Some((*name, part.get(*name)?)));
    let (name, content) = found.next()?;
    let word = |name: &str| part.get(name).and_then(Value::as_str);
    if found.next().is_some() || (name != "data" && !content.is_string()) {
        return None;
    }
    let (filename, kind) = (word("filename"), word("mediaType"));
    if dialect == ProtocolDialect::V1 {
        let mut out = json!({ name: content });
        for (name, value) in [("filename", filename), ("mediaType", kind)] {
            if let Some(value) = value {
                set(&mut out, name, json!(value));
            }
        }
        return Some(out);
    }
    Some(match name {
        "text" => json!({ "kind": "text", "text": content }),
        "data" => json!({ "kind": "data", "data": content }),
        file => {
            let mut inner = json!({ if file == "raw" { "bytes" } else { "uri" }: content });
            for (name, value) in [("name", filename), ("mimeType", kind)] {
                if let Some(value) = value {
                    set(&mut inner, name, json!(value));
                }
            }
            json!({ "kind": "file", "file": inner })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_parts_are_written_for_each_version_and_others_are_not() {
        let file = json!({ "url": "https://x/a", "filename": "a", "mediaType": "text/plain" });
        let artifact = json!({ "parts": [{ "text": "t" }, file, { "data": [1] }] });
        let new = parts_of(&artifact, ProtocolDialect::V1).unwrap();
        assert_eq!(json!(new), artifact["parts"]);
        let old = parts_of(&artifact, ProtocolDialect::V03).unwrap();
        let wanted = json!({ "uri": "https://x/a", "name": "a", "mimeType": "text/plain" });
        assert_eq!((&old[1]["kind"], &old[1]["file"]), (&json!("file"), &wanted));
        for bad in [
            json!({ "parts": [] }),
            json!({ "parts": [{}] }),
            json!({ "parts": [{ "text": "a", "data": 1 }] }),
            json!({ "parts": [{ "raw": 1 }] }),
            json!({ "parts": "x" }),
            json!({ "text": "x" }),
        ] {
            assert_eq!(parts_of(&bad, ProtocolDialect::V1), None, "{bad}");
        }
    }
}
