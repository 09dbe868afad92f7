//! `${name…}` with an operation whose words are known: slices and edits of a value.

use countersign_shell::UNKNOWN;

/// `${v:offset:length}` with plain numbers.
pub(super) fn slice(value: &str, range: &str) -> Option<String> {
    let (offset, length) = match range.split_once(':') {
        Some((o, l)) => (o.trim(), Some(l.trim().parse::<usize>().ok()?)),
        None => (range.trim(), None),
    };
    let count = value.chars().count();
    let offset = if let Some(back) = offset.strip_prefix('-') {
        count.checked_sub(back.parse::<usize>().ok()?)?
    } else {
        offset.parse::<usize>().ok()?
    };
    Some(value.chars().skip(offset).take(length.unwrap_or(usize::MAX)).collect())
}

/// `${list[@]:offset:length}` with plain numbers; positional words count from one.
pub(super) fn slice_list(elements: &[String], range: &str, positional: bool) -> Option<String> {
    let (offset, length) = match range.split_once(':') {
        Some((o, l)) => (o, l.trim().parse::<usize>().ok()?),
        None => (range, usize::MAX),
    };
    let offset = offset.trim();
    let offset = match offset.strip_prefix('-') {
        Some(back) => elements.len().checked_sub(back.parse().ok()?)?,
        None => offset.parse::<usize>().ok()?.saturating_sub(usize::from(positional)),
    };
    let kept: Vec<&str> = elements.iter().skip(offset).take(length).map(String::as_str).collect();
    Some(kept.join(" "))
}

/// `#`, `##`, `%`, `%%` with plain text, `/a/b`, `//a/b`, `,,`, `^^`.
pub(super) fn edit(value: &str, pattern: &str) -> Option<String> {
    if pattern.contains(UNKNOWN) {
        return None;
    }
    let plain = |p: &str| !p.contains(['*', '?', '[']);
    if let Some(p) = pattern.strip_prefix("//") {
        let (a, b) = p.split_once('/').unwrap_or((p, ""));
        return (plain(a) && !a.is_empty()).then(|| value.replace(a, b));
    }
    if let Some(p) = pattern.strip_prefix('/') {
        let (a, b) = p.split_once('/').unwrap_or((p, ""));
        return (plain(a) && !a.is_empty()).then(|| value.replacen(a, b, 1));
    }
    match pattern {
        ",," => return Some(value.to_lowercase()),
        "^^" => return Some(value.to_uppercase()),
        _ => {}
    }
    if let Some(p) = pattern.strip_prefix("##*").filter(|p| plain(p) && !p.is_empty()) {
        return Some(value.rsplit_once(p).map_or(value, |(_, rest)| rest).to_owned());
    }
    if let Some(p) = pattern.strip_prefix("#*").filter(|p| plain(p) && !p.is_empty()) {
        return Some(value.split_once(p).map_or(value, |(_, rest)| rest).to_owned());
    }
    if let Some(p) =
        pattern.strip_prefix("%%").and_then(|p| p.strip_suffix('*')).filter(|p| plain(p))
    {
        return Some(value.split_once(p).map_or(value, |(rest, _)| rest).to_owned());
    }
    if let Some(p) =
        pattern.strip_prefix('%').and_then(|p| p.strip_suffix('*')).filter(|p| plain(p))
    {
        return Some(value.rsplit_once(p).map_or(value, |(rest, _)| rest).to_owned());
    }
    if let Some(p) = pattern.strip_prefix("##").or(pattern.strip_prefix('#')) {
        return plain(p).then(|| value.strip_prefix(p).unwrap_or(value).to_owned());
    }
    if let Some(p) = pattern.strip_prefix("%%").or(pattern.strip_prefix('%')) {
        return plain(p).then(|| value.strip_suffix(p).unwrap_or(value).to_owned());
    }
    None
}
