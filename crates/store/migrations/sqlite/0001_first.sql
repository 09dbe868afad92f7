-- The first form of the store. Times are milliseconds since 1970, ids 16 bytes, digests 32 bytes.

-- One row, always there: what the ledger and the passes have reached.
CREATE TABLE mark (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- Passes that rode a commit and are in the ledger.
    recorded INTEGER NOT NULL,
    -- Passes that may have been answered by now: more than recorded only while a daemon runs, or
    -- after it died.
    reserved INTEGER NOT NULL CHECK (reserved >= recorded)
) STRICT;
INSERT INTO mark VALUES (1, 0, 0);

-- Filled and emptied to see whether the disk takes anything.
CREATE TABLE probe (bytes BLOB NOT NULL) STRICT;

-- What the state machine reads and changes; small, because every change rewrites the row.
CREATE TABLE request (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    requester_kind TEXT NOT NULL CHECK (requester_kind IN ('agent', 'person')),
    requester TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    raw BLOB NOT NULL CHECK (length(raw) = 32),
    both_bind INTEGER NOT NULL CHECK (both_bind IN (0, 1)),
    tier TEXT NOT NULL CHECK (tier IN ('SAFE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL')),
    crisis INTEGER NOT NULL CHECK (crisis IN (0, 1)),
    quorum_approve INTEGER NOT NULL,
    quorum_deny INTEGER NOT NULL,
    created INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    climb INTEGER NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'cancelled')),
    rung INTEGER NOT NULL CHECK (rung BETWEEN 0 AND 3),
    session TEXT NOT NULL,
    batch BLOB CHECK (batch IS NULL OR length(batch) = 16),
    idempotency TEXT,
    policy BLOB NOT NULL CHECK (length(policy) = 32),
    permit_for INTEGER NOT NULL,
    permit_until INTEGER CHECK (permit_until IS NULL OR state = 'approved'),
    redeemed INTEGER CHECK (redeemed IS NULL OR (state = 'approved' AND redeemed < permit_until)),
    edited TEXT,
    outcome TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX request_pending ON request (id) WHERE state = 'pending';
CREATE UNIQUE INDEX request_idempotency ON request (requester_kind, requester, idempotency)
    WHERE idempotency IS NOT NULL;
CREATE INDEX request_batch ON request (batch, id) WHERE batch IS NOT NULL;

-- What was asked for never changes, and an end is an end: kept by the schema, whatever the code says.
CREATE TRIGGER request_ends_once BEFORE UPDATE OF state ON request
WHEN OLD.state <> 'pending' AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'a request that has ended stays as it is'); END;
CREATE TRIGGER request_is_bound
BEFORE UPDATE OF requester_kind, requester, digest, raw, both_bind, deadline ON request
BEGIN SELECT RAISE(ABORT, 'what was asked for stays as it is'); END;
CREATE TRIGGER request_redeemed_once BEFORE UPDATE OF redeemed ON request
WHEN OLD.redeemed IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a permit is used once'); END;

-- What is shown: written once, and large. `card_after` takes the card's place at the end, where
-- less may be kept than a person must see.
CREATE TABLE request_text (
    request BLOB PRIMARY KEY REFERENCES request (id),
    tool TEXT NOT NULL,
    brief TEXT NOT NULL,
    card TEXT NOT NULL,
    detail TEXT NOT NULL,
    card_after TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE vote (
    request BLOB NOT NULL REFERENCES request (id),
    place INTEGER NOT NULL,
    person TEXT NOT NULL,
    choice TEXT NOT NULL CHECK (choice IN ('approve', 'deny')),
    channel TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (request, place),
    UNIQUE (request, person)
) STRICT, WITHOUT ROWID;

-- At most one for a request, ever: by the primary key.
CREATE TABLE decision (
    request BLOB PRIMARY KEY REFERENCES request (id),
    state TEXT NOT NULL CHECK (state IN ('approved', 'denied', 'expired', 'cancelled')),
    decider TEXT NOT NULL
        CHECK (decider IN ('people', 'deadline', 'requester', 'policy', 'grant')),
    people TEXT,
    given BLOB CHECK (given IS NULL OR length(given) = 16),
    channel TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    raw BLOB NOT NULL CHECK (length(raw) = 32),
    both_bind INTEGER NOT NULL CHECK (both_bind IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER decision_stays BEFORE UPDATE ON decision
BEGIN SELECT RAISE(ABORT, 'a decision stays as it is'); END;

CREATE TABLE given (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    shape TEXT NOT NULL CHECK (shape IN ('exact', 'action', 'targets', 'to_self')),
    tool TEXT,
    targets TEXT,
    digest BLOB CHECK (digest IS NULL OR length(digest) = 32),
    raw BLOB CHECK (raw IS NULL OR length(raw) = 32),
    both_bind INTEGER,
    agent TEXT,
    session TEXT,
    made_by TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    expires INTEGER,
    uses_left INTEGER CHECK (uses_left IS NULL OR uses_left >= 0),
    revoked INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE crisis (
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    level INTEGER NOT NULL CHECK (level BETWEEN 1 AND 6),
    imminent INTEGER NOT NULL CHECK (imminent IN (0, 1)),
    since INTEGER NOT NULL,
    PRIMARY KEY (agent, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE person (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL CHECK (role IN ('approver', 'administrator')),
    passphrase TEXT NOT NULL,
    added INTEGER NOT NULL,
    revoked INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE agent (
    name TEXT PRIMARY KEY,
    token BLOB UNIQUE CHECK (token IS NULL OR length(token) = 32),
    uid INTEGER,
    own_addresses TEXT NOT NULL,
    added INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE login (
    secret BLOB PRIMARY KEY CHECK (length(secret) = 32),
    person TEXT NOT NULL REFERENCES person (name),
    channel TEXT NOT NULL,
    made INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    ended INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX login_person ON login (person) WHERE ended IS NULL;

CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    request BLOB NOT NULL REFERENCES request (id),
    news TEXT NOT NULL CHECK (news IN ('asked', 'climbed', 'ended')),
    rung INTEGER,
    state TEXT,
    at INTEGER NOT NULL,
    done INTEGER NOT NULL CHECK (done IN (0, 1))
) STRICT;
CREATE INDEX outbox_open ON outbox (seq) WHERE done = 0;
CREATE INDEX outbox_request ON outbox (request);

CREATE TABLE delivery (
    outbox INTEGER NOT NULL REFERENCES outbox (seq),
    channel TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    result TEXT NOT NULL CHECK (result IN ('arrived', 'again', 'failed')),
    detail TEXT NOT NULL,
    again INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (outbox, channel)
) STRICT, WITHOUT ROWID;

-- The ledger: a row holds the entries of a commit, each behind its length in four bytes. Leaf hashes
-- stand before the entries, so that a proof reads no entry.
CREATE TABLE segment (
    first INTEGER PRIMARY KEY,
    count INTEGER NOT NULL CHECK (count > 0),
    newest INTEGER NOT NULL,
    leaves BLOB NOT NULL CHECK (length(leaves) = 32 * count),
    entries BLOB NOT NULL
) STRICT;
CREATE TRIGGER segment_stays BEFORE UPDATE ON segment
BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
CREATE TRIGGER segment_is_kept BEFORE DELETE ON segment
BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;

CREATE TABLE tree (
    level INTEGER NOT NULL CHECK (level IN (8, 16, 24)),
    place INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (level, place)
) STRICT, WITHOUT ROWID;

-- Which entries speak of which request.
CREATE TABLE story (
    request BLOB NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (request, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    size INTEGER NOT NULL,
    note TEXT NOT NULL
) STRICT;
