-- Metrics that a user's shared object computed for a row (columns of customs.def are added by the
-- program).
CREATE TABLE custom_metrics (
  row_id INTEGER NOT NULL REFERENCES rows(row_id) ON DELETE CASCADE,
  number INTEGER NOT NULL,  -- in the order of the plug-ins
  PRIMARY KEY (row_id, number)
);
