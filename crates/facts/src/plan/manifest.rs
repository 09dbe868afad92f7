//! The objects in a Kubernetes manifest. Of YAML only the plain form is read in which the first
//! keys of an object stand at the beginning of their lines, each once: in any other form a reader
//! could be shown another object than the one that the cluster receives.

use countersign_json::{self as json, Value};

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestObject {
    pub kind: String,
    pub name: String,
    pub namespace: Option<String>,
}

/// The objects of a file. `None` if it is not in the plain form.
pub fn objects(text: &str) -> Option<Vec<ManifestObject>> {
    if text.trim_start().starts_with('{') {
        let value = json::parse_within(text, text.len()).ok()?;
        return Some(vec![of_json(&value)?]);
    }
    let text = text.replace("\r\n", "\n");
    // Some readers of YAML end a line at these as well.
    if text.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}', '\0']) {
        return None;
    }
    let mut found = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().chain(["---"]) {
        if line.trim_end() == "---" {
            found.extend(document(&lines)?);
            lines.clear();
        } else if line.starts_with("---") || line.starts_with("...") {
            return None;
        } else {
            lines.push(line);
        }
    }
    Some(found)
}

fn of_json(value: &Value<'_>) -> Option<ManifestObject> {
    let text = |value: Option<&Value<'_>>| value.and_then(Value::as_str).and_then(plain);
    let metadata = value.get("metadata")?;
    let namespace = metadata.get("namespace");
    let object = ManifestObject {
        kind: text(value.get("kind"))?,
        name: text(metadata.get("name"))?,
        namespace: namespace.map(|found| text(Some(found))).map_or(Some(None), |n| n.map(Some))?,
    };
    (!object.kind.ends_with("List")).then_some(object)
}

/// What is known of a document while its lines are read.
#[derive(Default)]
struct Document<'t> {
    keys: Vec<&'t str>,
    kind: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    /// How far the members of `metadata` are indented.
    depth: Option<usize>,
}

/// The object of one document; an empty document has none.
fn document(lines: &[&str]) -> Option<Vec<ManifestObject>> {
    let is_content = |line: &&&str| {
        let text = line.trim();
        !text.is_empty() && !text.starts_with('#')
    };
    let mut read = Document::default();
    for line in lines.iter().filter(is_content) {
        let text = line.trim_start_matches(' ');
        if text.starts_with('\t') {
            return None;
        }
        match (line.len() - text.len(), read.keys.last()) {
            (0, _) => read.first_key(text)?,
            (_, None) => return None,
            (indent, Some(&"metadata")) => read.metadata(text, indent)?,
            _ => {}
        }
    }
    if read.keys.is_empty() {
        return Some(Vec::new());
    }
    let Document { kind, name, namespace, .. } = read;
    let object = ManifestObject { kind: kind?, name: name?, namespace };
    (!object.kind.ends_with("List")).then(|| vec![object])
}

impl<'t> Document<'t> {
    /// A key at the beginning of its line.
    fn first_key(&mut self, text: &'t str) -> Option<()> {
        let (key, value) = entry(text)?;
        if self.keys.contains(&key) {
            return None;
        }
        self.keys.push(key);
        match key {
            "kind" => self.kind = Some(plain(value)?),
            "metadata" if !value.is_empty() => return None,
            _ if opens_quote(value) => return None,
            _ => {}
        }
        Some(())
    }

    /// A line below `metadata`.
    fn metadata(&mut self, text: &str, indent: usize) -> Option<()> {
        let first = *self.depth.get_or_insert(indent);
        if indent > first {
            return Some(());
        }
        if indent < first {
            return None;
        }
        let (key, value) = entry(text)?;
        let place = match key {
            "name" => &mut self.name,
            "namespace" => &mut self.namespace,
            "generateName" => return None,
            _ if opens_quote(value) => return None,
            _ => return Some(()),
        };
        place.replace(plain(value)?).is_none().then_some(())
    }
}

/// `key: value` with a plain key.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_plain = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(is_key);
    let is_entry = rest.is_empty() || rest.starts_with([' ', '\t']);
    (is_plain && is_entry).then_some((key, rest.trim()))
}

/// Whether a value is a text in quotes that does not end on its line.
fn opens_quote(value: &str) -> bool {
    let quote = value.chars().next().filter(|c| ['"', '\''].contains(c));
    quote.is_some_and(|quote| value.chars().filter(|c| *c == quote).count() != 2)
}

/// A value without quotes and comment, if it is a name.
fn plain(value: &str) -> Option<String> {
    let value = value.split(" #").next().unwrap_or_default().trim();
    let quoted = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote).and_then(|value| value.strip_suffix(*quote)));
    let value = quoted.unwrap_or(value);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let fits = !value.is_empty() && value.len() <= 253 && value.chars().all(is_name);
    fits.then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<Vec<String>> {
        let object = |one: ManifestObject| {
            let namespace = one.namespace.unwrap_or_default();
            format!("{} {namespace}/{}", one.kind, one.name)
        };
        objects(text).map(|found| found.into_iter().map(object).collect())
    }

    #[test]
    fn plain_manifests_are_read() {
        let text = "# shop\napiVersion: v1\nkind: Service # x\nmetadata:\n  name: \"web\"\n  \
                    namespace: shop\n  labels:\n    name: other\nspec:\n  kind: No\n---\n\n---\n\
                    kind: Pod\nmetadata:\n    labels: {a: b}\n    name: p\ndata: |\n  kind: x\n";
        assert_eq!(shown(text).unwrap(), ["Service shop/web", "Pod /p"]);
        let json = r#"{"kind":"Pod","metadata":{"name":"p","namespace":"n"}}"#;
        assert_eq!(shown(json).unwrap(), ["Pod n/p"]);
    }

    #[test]
    fn manifests_that_could_be_read_in_two_ways_are_not_read() {
        for text in [
            "kind: Pod\nkind: Secret\nmetadata:\n  name: x\n",
            "kind: Pod\nmetadata: {name: x}\n",
            "kind: List\nmetadata:\n  name: x\n",
            "\"kind\": Pod\nmetadata:\n  name: x\n",
            "kind : Pod\nmetadata:\n  name: x\n",
            "? kind\n: Pod\nmetadata:\n  name: x\n",
            "<<: *a\nkind: Pod\nmetadata:\n  name: x\n",
            "kind: *a\nmetadata:\n  name: x\n",
            " a: \"\nkind: Pod\nmetadata:\n  name: x\"\n kind: Secret\n",
            "a: \"\nkind: Pod\nmetadata:\n  name: x\"\n",
            "kind: Pod\nmetadata:\n  name: x\n name: y\n",
            "kind: Pod\nmetadata:\n  name: x\n  name: y\n",
            "kind: Pod\nmetadata:\n\tname: x\n",
            "--- {kind: Pod}\n",
            "%YAML 1.2\n---\nkind: Pod\nmetadata:\n  name: x\n",
            "- kind: Pod\n",
            "kind: Pod\u{2028}kind: Secret\nmetadata:\n  name: x\n",
            "kind: {{ .Values.kind }}\nmetadata:\n  name: x\n",
            "kind: Pod\nmetadata:\n  generateName: x\n",
            "{\"kind\":\"Pod\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"}}",
            "{\"kind\":\"List\",\"metadata\":{\"name\":\"x\"}}",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
