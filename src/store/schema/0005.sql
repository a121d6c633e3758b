-- Rates that a load test tried; the columns of rates.def are added by the program.
CREATE TABLE load_rates (
  row_id INTEGER NOT NULL REFERENCES rows(row_id) ON DELETE CASCADE,
  number INTEGER NOT NULL,  -- in the order in which they were tried
  PRIMARY KEY (row_id, number)
);
