-- Plain names: the escalation level of a request and of an announcement, and the time between levels.
ALTER TABLE request RENAME COLUMN rung TO level;
ALTER TABLE request RENAME COLUMN climb TO escalation_interval;
ALTER TABLE outbox RENAME COLUMN rung TO level;
