//! JSON: what is written reads back equal, the canonical form is a fixed point, and serde_json
//! accepts whatever we accept.
#![no_main]

use countersign_json as json;
use countersign_json::canonical::canonical;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = json::parse_bytes(bytes) else { return };
    let written = value.to_json();
    assert_eq!(json::parse(&written).as_ref(), Ok(&value), "reads back otherwise");

    let first = canonical(&value);
    let again = json::parse(&first.text).expect("the canonical form is JSON");
    let second = canonical(&again);
    assert_eq!(first, second, "the canonical form has a canonical form of its own");

    // Ours is the stricter reader. Numbers beyond a double are the one thing serde_json refuses.
    if let Err(error) = serde_json::from_slice::<serde_json::Value>(bytes) {
        assert!(error.to_string().contains("number out of range"), "serde_json: {error}");
    }
});
