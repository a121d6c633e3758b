-- What a paired rerun said of a change that the history of a metric shows, so that the same change
-- is not asked about again.
CREATE TABLE change_checks (
  check_id      INTEGER PRIMARY KEY,
  machine_id    TEXT NOT NULL,
  configuration TEXT NOT NULL,  -- of the series
  metric        TEXT NOT NULL,
  commit_before TEXT NOT NULL,  -- 40 hexadecimal digits
  commit_after  TEXT NOT NULL,
  checked       TEXT NOT NULL,  -- UTC
  verdict       TEXT NOT NULL,  -- of the commit after: slower, faster, equivalent, inconclusive
  ratio         REAL,           -- time before / time after
  ci_low        REAL,
  ci_high       REAL,
  pairs         INTEGER,
  command       TEXT,
  UNIQUE (machine_id, configuration, metric, commit_before, commit_after)
);
