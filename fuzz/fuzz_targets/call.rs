//! A call as it arrives: never a panic, and the digest of its canonical form does not depend on how
//! the JSON was written.
#![no_main]

use countersign_json as json;
use countersign_risk::call::Call;
use countersign_risk::call_digest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = json::parse_bytes(bytes) else { return };
    match Call::from_json(&value) {
        Err(error) => assert!(!error.to_string().contains('\n'), "an error of two lines"),
        Ok(call) => {
            let digest = call_digest::digest(&call, bytes);
            let written = value.to_json();
            let again = json::parse(&written).expect("what we write is JSON");
            let same = Call::from_json(&again).expect("the same call");
            let other = call_digest::digest(&same, written.as_bytes());
            assert_eq!(digest.canonical, other.canonical);
            assert_eq!(digest.both_bind, other.both_bind);
        }
    }
});
