-- Since when a person has had their role, and from when people, passkeys and linked accounts may
-- approve. Whatever was there before this migration has waited already.
ALTER TABLE person ADD COLUMN role_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE person ADD COLUMN active_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE passkey ADD COLUMN active_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN active_from INTEGER NOT NULL DEFAULT 0;
UPDATE person SET role_since = added, active_from = added;
UPDATE passkey SET active_from = added;
UPDATE account SET active_from = linked;
