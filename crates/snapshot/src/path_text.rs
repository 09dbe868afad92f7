//! Paths as text: bytes that are not UTF-8, control characters and `%` are written as `%XX`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use countersign_text::decode::percent;

/// A path as text from which [`decode_path`] makes exactly the same path again.
pub fn encode_path(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' || c.is_control() {
                let mut buffer = [0; 4];
                c.encode_utf8(&mut buffer).bytes().for_each(|byte| push_hex(&mut text, byte));
            } else {
                text.push(c);
            }
        }
        chunk.invalid().iter().for_each(|byte| push_hex(&mut text, *byte));
    }
    text
}

fn push_hex(text: &mut String, byte: u8) {
    let _ = write!(text, "%{byte:02X}");
}

/// The path that [`encode_path`] wrote. None if the text has another form.
pub fn decode_path(text: &str) -> Option<PathBuf> {
    percent(text).map(|bytes| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_survives() {
        for bytes in [&b"/a b"[..], b"/a\nb", b"/100%", b"/\xff\xfe%41", "/ä\u{85}".as_bytes()] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            let text = encode_path(&path);
            assert!(!text.contains('\n'));
            assert_eq!(decode_path(&text), Some(path));
        }
        assert_eq!(decode_path("/a%4"), None);
        assert_eq!(decode_path("/a%zz"), None);
    }
}
