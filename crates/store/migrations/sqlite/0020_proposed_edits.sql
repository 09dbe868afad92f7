-- A call as one person edited it, while further people must approve it. At most one for a request: a
-- second edit takes the place of the first. The ledger has a digest of every column.
CREATE TABLE proposed_edit (
    request BLOB PRIMARY KEY REFERENCES request (id),
    person TEXT NOT NULL,
    at INTEGER NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    raw BLOB NOT NULL CHECK (length(raw) = 32),
    both_bind INTEGER NOT NULL CHECK (both_bind = 0 OR both_bind = 1),
    tier TEXT NOT NULL,
    quorum_approve INTEGER NOT NULL CHECK (quorum_approve > 1),
    -- How certain the identity of every approver must be at least, if a rule says so.
    assurance TEXT,
    arguments TEXT NOT NULL,
    card TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER proposed_edit_stays BEFORE UPDATE ON proposed_edit
BEGIN SELECT RAISE(ABORT, 'a proposed edit is replaced, never changed'); END;
