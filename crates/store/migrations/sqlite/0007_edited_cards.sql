-- The card of an edited call: how the edit was assessed when it was approved. It is written once, with
-- the approval, and shown beside the original.
ALTER TABLE request_text ADD COLUMN edited_card TEXT;
CREATE TRIGGER edited_card_stays BEFORE UPDATE OF edited_card ON request_text
WHEN OLD.edited_card IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the card of an edited call stays as it is'); END;
-- Lists of one agent's requests. Neither column ever changes.
CREATE INDEX request_agent ON request (requester, id) WHERE requester_kind = 'agent';
