-- Grants for calls of a tool with conditions on its arguments, and budgets of grants.
CREATE TABLE given_new (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    shape TEXT NOT NULL CHECK (shape = 'exact' OR shape = 'action' OR shape = 'targets'
        OR shape = 'to_self' OR shape = 'same_question' OR shape = 'same_program'
        OR shape = 'command' OR shape = 'part' OR shape = 'tool_call'),
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
    -- The shapes `command`, `part` and `tool_call`, as JSON.
    commands TEXT,
    -- The call of the shapes `exact` and `part`, redacted.
    shown TEXT,
    per_hour INTEGER CHECK (per_hour IS NULL OR per_hour > 0),
    last_used INTEGER,
    -- The hour since 1970 of the last use, and the uses in it.
    hour INTEGER NOT NULL DEFAULT 0,
    hour_uses INTEGER NOT NULL DEFAULT 0,
    -- How much money and how many recipients it covers in all, as JSON.
    budget TEXT,
    -- The money that its uses took, as decimal digits, and the digests of the recipients that they
    -- reached, separated by spaces.
    spent TEXT NOT NULL DEFAULT '0',
    reached TEXT NOT NULL DEFAULT '',
    CHECK (shape <> 'same_question'
        OR (agent IS NOT NULL AND session IS NOT NULL AND session <> '' AND expires IS NOT NULL)),
    CHECK (shape <> 'same_program'
        OR (agent IS NOT NULL AND session IS NULL AND expires IS NOT NULL)),
    CHECK (shape <> 'command' OR (commands IS NOT NULL AND expires IS NOT NULL)),
    CHECK (shape <> 'tool_call' OR (commands IS NOT NULL AND expires IS NOT NULL)),
    CHECK (shape <> 'part' OR (commands IS NOT NULL AND expires IS NOT NULL
        AND agent IS NOT NULL AND session IS NOT NULL AND session <> ''))
) STRICT, WITHOUT ROWID;
INSERT INTO given_new SELECT *, NULL, '0', '' FROM given;
DROP TABLE given;
ALTER TABLE given_new RENAME TO given;
CREATE INDEX given_answer ON given (agent, session, id) WHERE shape = 'same_question';
