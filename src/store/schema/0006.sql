-- Epochs of a training run (columns of epochs.def are added by the program), and the loss of each
-- of its steps: float32 in the byte order of x86.
CREATE TABLE train_epochs (
  row_id INTEGER NOT NULL REFERENCES rows(row_id) ON DELETE CASCADE,
  number INTEGER NOT NULL,  -- in the order of training
  PRIMARY KEY (row_id, number)
);
CREATE TABLE step_losses (
  row_id INTEGER PRIMARY KEY REFERENCES rows(row_id) ON DELETE CASCADE,
  count  INTEGER NOT NULL,
  data   BLOB NOT NULL
);
