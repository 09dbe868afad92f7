-- Further ways in for people: accounts elsewhere, passkeys, and browsers that can be called.

-- Which account of which channel is whose. One account is one person's; a person may have several.
CREATE TABLE account (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES person (name),
    called TEXT NOT NULL,
    linked INTEGER NOT NULL,
    ended INTEGER,
    PRIMARY KEY (channel, account)
) STRICT, WITHOUT ROWID;

-- What a passkey is known by: never its private key, which stays in the device.
CREATE TABLE passkey (
    credential BLOB PRIMARY KEY CHECK (length(credential) BETWEEN 1 AND 1023),
    person TEXT NOT NULL REFERENCES person (name),
    name TEXT NOT NULL,
    -- SubjectPublicKeyInfo or the raw point: as the daemon writes it.
    public_key BLOB NOT NULL,
    algorithm INTEGER NOT NULL,
    -- The authenticator's own count of signatures; nought where it keeps none.
    uses INTEGER NOT NULL CHECK (uses >= 0),
    added INTEGER NOT NULL,
    used INTEGER,
    ended INTEGER
) STRICT, WITHOUT ROWID;

-- Browsers that asked to be called (Web Push). The endpoint is a capability: not shown to others.
CREATE TABLE subscription (
    endpoint TEXT PRIMARY KEY,
    person TEXT NOT NULL REFERENCES person (name),
    public_key BLOB NOT NULL CHECK (length(public_key) = 65),
    secret BLOB NOT NULL CHECK (length(secret) = 16),
    called TEXT NOT NULL,
    added INTEGER NOT NULL,
    ended INTEGER
) STRICT, WITHOUT ROWID;
