//! A file beside the key with a code that only this daemon can make.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::keys::Keys;

/// The file and the key of its code.
pub struct SealedFile {
    file: PathBuf,
    key: Zeroizing<[u8; 32]>,
}

impl SealedFile {
    /// A file in the state folder. `purpose`: what the key is derived for.
    pub(super) fn at(folder: &Path, name: &str, keys: &Keys, purpose: &str) -> SealedFile {
        SealedFile { file: folder.join(name), key: keys.derived(purpose) }
    }

    fn code(&self, text: &str) -> Option<Hmac<Sha256>> {
        let mut code = Hmac::<Sha256>::new_from_slice(self.key.as_slice()).ok()?;
        code.update(text.as_bytes());
        Some(code)
    }

    /// The text, if the code is right.
    pub(super) fn read(&self) -> Option<String> {
        let whole = fs::read_to_string(&self.file).ok()?;
        let (code, text) = whole.split_once('\n')?;
        let expected = countersign_json::base64::decode(code).ok()?;
        self.code(text)?.verify_slice(&expected).ok()?;
        Some(text.to_owned())
    }

    /// Replaces the text.
    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        let code = self.code(text).ok_or(io::ErrorKind::InvalidInput)?;
        let code = countersign_json::base64::encode(&code.finalize().into_bytes());
        // Two files that differ only in their ending must not share this one.
        let mut next = self.file.clone().into_os_string();
        next.push(".new");
        let mut written = fs::File::create(&next)?;
        written.write_all(format!("{code}\n{text}").as_bytes())?;
        written.sync_all()?;
        fs::rename(&next, &self.file)
    }
}
