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

CREATE TRIGGER review_ends_once BEFORE UPDATE OF state ON review WHEN OLD.ended IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a review that has ended stays as it is'); END;
CREATE TRIGGER review_is_bound
BEFORE UPDATE OF request, snapshot, folder, before, files, bytes, opened, until ON review
BEGIN SELECT RAISE(ABORT, 'what is under review stays as it is'); END;
