-- The process that writes a run, so that --resume leaves one alone that is still at work.
ALTER TABLE runs ADD COLUMN writer_pid INTEGER;
ALTER TABLE runs ADD COLUMN writer_start TEXT;  -- start time of that process, against reused ids
CREATE INDEX runs_by_plan ON runs (plan_hash);
