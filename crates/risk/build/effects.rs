//! The effects by the names the rule files use.

/// As the rule files write them, and as the code does.
pub const NAMES: [(&str, &str); 17] = [
    ("read", "Read"),
    ("write", "Write"),
    ("delete", "Delete"),
    ("exec", "Exec"),
    ("net_out", "NetOut"),
    ("net_in", "NetIn"),
    ("privilege", "Privilege"),
    ("persist", "Persist"),
    ("publish", "Publish"),
    ("service", "Service"),
    ("send", "Send"),
    ("money", "Money"),
    ("secret", "Secret"),
    ("self_change", "SelfChange"),
    ("delegate", "Delegate"),
    ("remote", "Remote"),
    ("crisis", "Crisis"),
];

/// Rust source for a list of effects.
pub fn effects(names: &[String]) -> Result<String, String> {
    Ok(format!("&[{}]", variants(names)?.join(", ")))
}

/// Rust source for each of some effects.
pub fn variants(names: &[String]) -> Result<Vec<String>, String> {
    let mut parts = Vec::new();
    for name in names {
        let (_, variant) =
            NAMES.iter().find(|(n, _)| n == name).ok_or_else(|| format!("no effect `{name}`"))?;
        parts.push(format!("Effect::{variant}"));
    }
    Ok(parts)
}
