-- Who took over a conversation in a crisis, and when. While it is taken over, no text of the agent goes out.
ALTER TABLE crisis ADD COLUMN taken_by TEXT;
ALTER TABLE crisis ADD COLUMN taken_at INTEGER;
