-- What each piece of a row's memory is for: the JSON document of src/record/memory-map-json.h.
CREATE TABLE memory_maps (
  row_id INTEGER PRIMARY KEY REFERENCES rows(row_id) ON DELETE CASCADE,
  data   TEXT NOT NULL
);
