//! Members of JSON objects.

use serde_json::Value;

/// Sets a member. Only objects have members; any other value stays as it is.
pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}
