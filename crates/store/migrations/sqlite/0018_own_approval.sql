-- Whether the person who requests a call may answer the request too. Nobody may for requests of an
-- earlier version: they can be made again.
ALTER TABLE request ADD COLUMN own_approval INTEGER NOT NULL DEFAULT 0
    CHECK (own_approval = 0 OR own_approval = 1);
CREATE TRIGGER request_keeps_own_approval BEFORE UPDATE OF own_approval ON request
BEGIN SELECT RAISE(ABORT, 'who may answer a request does not change'); END;
