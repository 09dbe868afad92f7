-- What people need while they decide may be more than should be kept: the card that takes the place
-- of `card` when the request ends.
ALTER TABLE request_text ADD COLUMN card_after TEXT;
