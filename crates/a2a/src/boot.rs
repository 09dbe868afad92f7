//! Which start of the machine this is. What a killed process had stored is all there; after a power
//! failure the last changes of a file may be missing.

use std::sync::OnceLock;

/// The id of this start of the machine, if the system tells it.
pub(crate) fn current_boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    BOOT.get_or_init(read).as_deref()
}

#[cfg(target_os = "linux")]
fn read() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(not(target_os = "linux"))]
fn read() -> Option<String> {
    None
}
