-- Comparisons of two rows of a run; the columns of comparisons.def are added by the program.
CREATE TABLE comparisons (
  comparison_id INTEGER PRIMARY KEY,
  run_id        TEXT NOT NULL REFERENCES runs(id),
  a             TEXT NOT NULL,  -- configurations, as in rows
  b             TEXT NOT NULL,
  UNIQUE (run_id, a, b)
);
-- Rows that are measured in turns end together; a run shows them in the order of its plan.
ALTER TABLE rows ADD COLUMN position INTEGER;
