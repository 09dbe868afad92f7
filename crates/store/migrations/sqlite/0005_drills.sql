-- Drills: requests that nobody asked. Which one it is stands in the row from its first commit on, and
-- no agent's question can be found in its place: no permit, edit, grant or outcome comes of it.
ALTER TABLE request ADD COLUMN drill TEXT CHECK (drill IS NULL OR (requester_kind = 'person'
    AND crisis = 0 AND permit_until IS NULL AND redeemed IS NULL AND edited IS NULL
    AND outcome IS NULL AND given IS NULL AND batch IS NULL AND idempotency IS NULL));
CREATE TRIGGER request_stays_a_drill BEFORE UPDATE OF drill ON request
BEGIN SELECT RAISE(ABORT, 'what was a drill stays one, and nothing becomes one'); END;
