//! Bytes as text.

/// Bytes as text in the encoding that an object stands for.
pub fn decode(encoding: &str, bytes: &[u8]) -> Option<String> {
    let text = if encoding.ends_with("unicode") {
        utf16(bytes)?
    } else {
        String::from_utf8(bytes.to_vec()).ok()?
    };
    (!text.contains('\0')).then_some(text)
}

/// UTF-16 as Windows writes it.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .filter_map(|pair| Some(u16::from_le_bytes([*pair.first()?, *pair.get(1)?])))
        .collect();
    let text = String::from_utf16(&units).ok()?;
    Some(text.trim_start_matches('\u{feff}').to_owned())
}
