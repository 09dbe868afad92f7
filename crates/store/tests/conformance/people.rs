//! People, and what proves who they are.

use countersign_store::{LinkedAccount, Passkey, Role, StoredPerson};
use countersign_types::time::Timestamp;

use crate::setup::START;

pub fn person(name: &str) -> StoredPerson {
    StoredPerson {
        name: name.to_owned(),
        role: Role::Approver,
        passphrase: format!("$argon2id${name}"),
        added: Timestamp(START),
        role_since: Timestamp(START),
        active_from: Timestamp(START + 60),
        revoked: None,
    }
}

pub fn account(person: &str, account: &str) -> LinkedAccount {
    LinkedAccount {
        channel: "telegram".to_owned(),
        account: account.to_owned(),
        person: person.to_owned(),
        called: "Ana".to_owned(),
        linked: Timestamp(START),
        active_from: Timestamp(START + 60),
        ended: None,
    }
}

pub fn passkey(person: &str) -> Passkey {
    Passkey {
        credential: person.as_bytes().to_vec(),
        person: person.to_owned(),
        name: "phone".to_owned(),
        public_key: vec![4; 65],
        algorithm: -7,
        uses: 3,
        added: Timestamp(START),
        active_from: Timestamp(START + 60),
        used: None,
        ended: None,
    }
}
