-- Runs, their rows, and the samples of each row.
-- The columns of hl_run_info (runs) and of metrics.def (rows) are added by the program when a
-- store is opened for writing: a new metric needs no schema file. A schema file is for everything
-- else, and a file that has been released is never edited: the next number is added.
CREATE TABLE runs (
  id        TEXT PRIMARY KEY,
  plan_hash TEXT,
  state     TEXT NOT NULL,  -- running, finished or interrupted
  ended     TEXT            -- UTC
);
CREATE TABLE rows (
  row_id        INTEGER PRIMARY KEY,  -- in the order of measuring
  run_id        TEXT NOT NULL REFERENCES runs(id),
  configuration TEXT NOT NULL,        -- names what was measured, the same in each run
  UNIQUE (run_id, configuration)
);
CREATE TABLE samples (
  row_id INTEGER PRIMARY KEY REFERENCES rows(row_id) ON DELETE CASCADE,
  count  INTEGER NOT NULL,
  codec  TEXT NOT NULL,  -- see samples.h
  data   BLOB NOT NULL
);
