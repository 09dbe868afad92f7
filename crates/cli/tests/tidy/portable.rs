//! No call that only Linux has without a `cfg`: the product must build and run on macOS too.

use crate::files::{product, read, shown};
use crate::source::without_tests;

/// What only Linux has, by the names that Rust and rustix use.
const LINUX_ONLY: [&str; 14] = [
    "memfd_create",
    "set_dumpable_behavior",
    "ClockId::Boottime",
    "/proc/",
    "SO_PEERCRED",
    "std::os::linux",
    "pidfd",
    "inotify",
    "epoll",
    "eventfd",
    "timerfd",
    "O_TMPFILE",
    "OFlags::TMPFILE",
    "prctl",
];

/// Whether a piece of product source names something of Linux without saying that it is for Linux.
fn unguarded(text: &str) -> Option<&'static str> {
    let text = without_tests(text);
    let found = LINUX_ONLY.into_iter().find(|name| {
        text.lines().any(|line| line.contains(name) && !line.trim_start().starts_with("//"))
    });
    found.filter(|_| !text.contains("target_os = \"linux\""))
}

#[test]
fn what_only_linux_has_is_behind_a_cfg() {
    for path in product() {
        let file = shown(&path);
        // Core knows such names as targets of hostile commands and calls none of them.
        if file.starts_with("crates/risk/") {
            continue;
        }
        if let Some(name) = unguarded(&read(&path)) {
            panic!(
                "{file}: `{name}` exists on Linux only: cfg(target_os = \"linux\") and a fallback"
            );
        }
    }
}

#[test]
fn an_unguarded_call_is_found() {
    assert_eq!(unguarded("fn f() {\n    memfd_create();\n}\n"), Some("memfd_create"));
    assert_eq!(unguarded("// memfd_create\nfn f() {}\n"), None);
    assert_eq!(unguarded("#[cfg(target_os = \"linux\")]\nfn f() { memfd_create(); }\n"), None);
}
