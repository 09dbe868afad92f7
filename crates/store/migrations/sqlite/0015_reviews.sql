-- Calls that ran before a person looked, and what became of them. A row counts only if the ledger
-- entry of its beginning names the same snapshot.
CREATE TABLE review (
    request BLOB PRIMARY KEY REFERENCES request (id),
    snapshot TEXT NOT NULL,
    folder TEXT NOT NULL,
    before BLOB NOT NULL UNIQUE CHECK (length(before) = 32),
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    opened INTEGER NOT NULL,
    until INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN
        ('open', 'rolling_back', 'kept', 'rolled_back', 'unchanged', 'not_reviewed')),
    after BLOB CHECK (after IS NULL OR length(after) = 32),
    person TEXT,
    ended INTEGER,
    note TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX review_open ON review (until) WHERE ended IS NULL;
CREATE INDEX review_opened ON review (opened);

-- What people said about calls that ran; the last answer counts.
CREATE TABLE feedback (
    request BLOB PRIMARY KEY REFERENCES request (id),
    regretted INTEGER NOT NULL CHECK (regretted IN (0, 1)),
    person TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX feedback_regretted ON feedback (at) WHERE regretted = 1;

CREATE TRIGGER review_ends_once BEFORE UPDATE OF state ON review WHEN OLD.ended IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a review that has ended stays as it is'); END;
CREATE TRIGGER review_is_bound
BEFORE UPDATE OF request, snapshot, folder, before, files, bytes, opened, until ON review
BEGIN SELECT RAISE(ABORT, 'what is under review stays as it is'); END;
