//! The people's side from outside: a real daemon, real messages, real answers, forged ones too.

#[cfg(test)]
mod callback;
#[cfg(test)]
mod email;
#[cfg(test)]
mod ntfy;
#[cfg(test)]
mod postbox;
#[cfg(test)]
#[path = "../gate/setting.rs"]
#[expect(dead_code, reason = "each program of proofs uses its part")]
mod setting;
#[cfg(test)]
mod sms;
