-- Approvals for a repository: a third scope of a vote, and grants that hold in every session of the
-- agent in the repository. What they cover is in the question of the approved request.
CREATE TABLE vote_new (
    request BLOB NOT NULL REFERENCES request (id),
    person TEXT NOT NULL,
    place INTEGER NOT NULL,
    choice TEXT NOT NULL CHECK (choice IN ('approve', 'deny')),
    channel TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    scope TEXT NOT NULL DEFAULT 'once' 
        CHECK (scope = 'once' OR scope = 'session' OR scope = 'repository'),
    PRIMARY KEY (request, person)
) STRICT, WITHOUT ROWID;
INSERT INTO vote_new SELECT request, person, place, choice, channel, reason, at, scope FROM vote;
DROP TABLE vote;
ALTER TABLE vote_new RENAME TO vote;

CREATE TABLE given_new (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    shape TEXT NOT NULL CHECK (shape = 'exact' OR shape = 'action' OR shape = 'targets'
        OR shape = 'to_self' OR shape = 'same_question' OR shape = 'same_program'),
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
        OR (agent IS NOT NULL AND session IS NOT NULL AND session <> '' AND expires IS NOT NULL)),
    CHECK (shape <> 'same_program'
        OR (agent IS NOT NULL AND session IS NULL AND expires IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO given_new SELECT * FROM given;
DROP TABLE given;
ALTER TABLE given_new RENAME TO given;
CREATE INDEX given_answer ON given (agent, session, id) WHERE shape = 'same_question';
