-- Approvals for the rest of a session: for how long each person approved, what a request asks about,
-- and grants that rest on an approved request, whose id they have.
ALTER TABLE vote ADD COLUMN scope TEXT NOT NULL DEFAULT 'once'
    CHECK (scope = 'once' OR scope = 'session');
ALTER TABLE request_text ADD COLUMN session_question TEXT;
CREATE TRIGGER session_question_stays BEFORE UPDATE OF session_question ON request_text
BEGIN SELECT RAISE(ABORT, 'what a request asks about stays as it is'); END;

CREATE TABLE given_new (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    shape TEXT NOT NULL CHECK (shape = 'exact' OR shape = 'action' OR shape = 'targets'
        OR shape = 'to_self' OR shape = 'same_question'),
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
    revoked INTEGER,
    CHECK (shape <> 'same_question'
        OR (agent IS NOT NULL AND session IS NOT NULL AND session <> '' AND expires IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO given_new SELECT * FROM given;
DROP TABLE given;
ALTER TABLE given_new RENAME TO given;
CREATE INDEX given_answer ON given (agent, session, id) WHERE shape = 'same_question';

-- What a session did before, redacted; it makes later calls only riskier.
CREATE TABLE session_memory (
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    memory TEXT NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (agent, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_memory_used ON session_memory (used);
