-- Small grey pictures of what a row reconstructed (src/record/thumbnails.h): of the first row of each
-- network, engine and type of a run. `data` has height x width bytes, rows from the top; 0 is `low`
-- and 255 `high`.
CREATE TABLE thumbnails (
  row_id INTEGER NOT NULL REFERENCES rows(row_id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  kind   TEXT NOT NULL,
  height INTEGER NOT NULL,
  width  INTEGER NOT NULL,
  low    REAL NOT NULL,
  high   REAL NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (row_id, number)
);
