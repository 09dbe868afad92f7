-- A decision changes few pages: it stands in its request's row, votes have one tree, and the outbox
-- holds only what is still to be told. Lists of words are spelled out with OR, for SQLite would
-- build a table for each IN of more than two, at every write.

CREATE TABLE request_new (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    requester_kind TEXT NOT NULL CHECK (requester_kind IN ('agent', 'person')),
    requester TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    raw BLOB NOT NULL CHECK (length(raw) = 32),
    both_bind INTEGER NOT NULL CHECK (both_bind IN (0, 1)),
    tier TEXT NOT NULL CHECK (tier = 'SAFE' OR tier = 'LOW' OR tier = 'MEDIUM' OR tier = 'HIGH'
        OR tier = 'CRITICAL'),
    crisis INTEGER NOT NULL CHECK (crisis IN (0, 1)),
    quorum_approve INTEGER NOT NULL,
    quorum_deny INTEGER NOT NULL,
    created INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    climb INTEGER NOT NULL,
    state TEXT NOT NULL
        CHECK (state = 'pending' OR state = 'approved' OR state = 'denied' OR state = 'expired'
        OR state = 'cancelled'),
    rung INTEGER NOT NULL CHECK (rung BETWEEN 0 AND 3),
    session TEXT NOT NULL,
    batch BLOB CHECK (batch IS NULL OR length(batch) = 16),
    idempotency TEXT,
    policy BLOB NOT NULL CHECK (length(policy) = 32),
    permit_for INTEGER NOT NULL,
    permit_until INTEGER CHECK (permit_until IS NULL OR state = 'approved'),
    redeemed INTEGER CHECK (redeemed IS NULL OR (state = 'approved' AND redeemed < permit_until)),
    edited TEXT,
    outcome TEXT,
    -- How many rows of `vote` belong to it.
    votes INTEGER NOT NULL CHECK (votes >= 0),
    -- The one decision. It is there exactly when the request has ended.
    decider TEXT CHECK (decider = 'people' OR decider = 'deadline' OR decider = 'requester'
        OR decider = 'policy' OR decider = 'grant'),
    people TEXT,
    given BLOB CHECK (given IS NULL OR length(given) = 16),
    channel TEXT,
    reason TEXT,
    decided INTEGER,
    decided_digest BLOB,
    decided_raw BLOB,
    decided_both_bind INTEGER,
    CHECK (CASE state WHEN 'pending' THEN decider IS NULL ELSE
        decider IS NOT NULL AND channel IS NOT NULL AND reason IS NOT NULL
        AND decided IS NOT NULL AND length(decided_digest) IS 32 AND length(decided_raw) IS 32
        AND (decided_both_bind IS 0 OR decided_both_bind IS 1) END)
) STRICT, WITHOUT ROWID;
INSERT INTO request_new
    SELECT r.id, r.requester_kind, r.requester, r.digest, r.raw, r.both_bind, r.tier, r.crisis,
        r.quorum_approve, r.quorum_deny, r.created, r.deadline, r.climb, r.state, r.rung,
        r.session, r.batch, r.idempotency, r.policy, r.permit_for, r.permit_until, r.redeemed,
        r.edited, r.outcome, (SELECT count(*) FROM vote v WHERE v.request = r.id),
        d.decider, d.people, d.given, d.channel, d.reason, d.at, d.digest, d.raw, d.both_bind
    FROM request r LEFT JOIN decision d ON d.request = r.id;
DROP TABLE decision;
DROP TABLE request;
ALTER TABLE request_new RENAME TO request;

CREATE INDEX request_pending ON request (id) WHERE state = 'pending';
CREATE UNIQUE INDEX request_idempotency ON request (requester_kind, requester, idempotency)
    WHERE idempotency IS NOT NULL;
CREATE INDEX request_batch ON request (batch, id) WHERE batch IS NOT NULL;

-- What was asked for never changes, and an end is an end: kept by the schema, whatever the code says.
CREATE TRIGGER request_ends_once
AFTER UPDATE OF state, decider, people, given, channel, reason, decided, decided_digest, decided_raw,
    decided_both_bind ON request
WHEN OLD.state <> 'pending'
BEGIN SELECT RAISE(ABORT, 'a request that has ended stays as it is'); END;
CREATE TRIGGER request_is_bound
BEFORE UPDATE OF requester_kind, requester, digest, raw, both_bind, deadline ON request
BEGIN SELECT RAISE(ABORT, 'what was asked for stays as it is'); END;
CREATE TRIGGER request_redeemed_once BEFORE UPDATE OF redeemed ON request
WHEN OLD.redeemed IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a permit is used once'); END;

CREATE TABLE vote_new (
    request BLOB NOT NULL REFERENCES request (id),
    person TEXT NOT NULL,
    place INTEGER NOT NULL,
    choice TEXT NOT NULL CHECK (choice IN ('approve', 'deny')),
    channel TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (request, person)
) STRICT, WITHOUT ROWID;
INSERT INTO vote_new SELECT request, person, place, choice, channel, reason, at FROM vote;
DROP TABLE vote;
ALTER TABLE vote_new RENAME TO vote;

CREATE TABLE delivery_new (
    request BLOB NOT NULL REFERENCES request (id),
    outbox INTEGER NOT NULL,
    channel TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    result TEXT NOT NULL CHECK (result = 'arrived' OR result = 'again' OR result = 'failed'),
    detail TEXT NOT NULL,
    again INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (request, outbox, channel)
) STRICT, WITHOUT ROWID;
INSERT INTO delivery_new
    SELECT o.request, d.outbox, d.channel, d.attempts, d.result, d.detail, d.again, d.at
    FROM delivery d JOIN outbox o ON o.seq = d.outbox;
DROP TABLE delivery;
ALTER TABLE delivery_new RENAME TO delivery;

-- What is not done with. `seq` is the number of the ledger's entry that it speaks of, counted from
-- one: it grows, and is never used again although rows go.
CREATE TABLE outbox_new (
    seq INTEGER PRIMARY KEY,
    request BLOB NOT NULL REFERENCES request (id),
    news TEXT NOT NULL CHECK (news = 'asked' OR news = 'climbed' OR news = 'ended'),
    rung INTEGER,
    state TEXT,
    at INTEGER NOT NULL
) STRICT;
INSERT INTO outbox_new SELECT seq, request, news, rung, state, at FROM outbox WHERE done = 0;
DROP TABLE outbox;
ALTER TABLE outbox_new RENAME TO outbox;
