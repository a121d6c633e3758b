/* A CSV table (RFC 4180) as a list: the columns' names, then an object for each line; cells are
 * text, empty ones are left out. */
#include "formats/import-internal.h"

#include "base/csv-reader.h"
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 1024 };

static bool has_name(const json_t *names, const char *name) {
  for (size_t i = 0; i < json_array_size(names); i++)
    if (strcmp(json_string_value(json_array_get(names, i)), name) == 0) return true;
  return false;
}

/* Puts the cells of a line into `names`, or into `object` under them. */
static hl_status read_line(const hl_importer *importer, hl_csv_reader *r, json_t *names,
                           json_t *object, hl_error *error) {
  const char *file = importer->source->name;
  size_t line = r->line, count = 0;
  for (bool last = false; !last; count++) {
    if (!hl_csv_reader_cell(r, &last))
      return hl_error_set(error, HL_BAD_DATA, "%s: line %zu: a quote is not closed. Is it whole?",
                          file, line);
    size_t expected = object ? json_array_size(names) : COLUMNS;
    if (count >= expected)
      return hl_error_set(error, HL_BAD_DATA, "%s: line %zu: more than %zu cells. Is it whole?",
                          file, line, expected);
    if (!object && has_name(names, r->cell.data))
      return hl_error_set(error, HL_BAD_DATA,
                          "%s: line %zu: two columns are called '%.40s'. Rename one", file, line,
                          r->cell.data);
    if (!object && json_array_append_new(names, json_string(r->cell.data)) != 0)
      return hl_error_set(error, HL_BAD_DATA, "%s: line %zu: no valid UTF-8. Write it again", file,
                          line);
    if (!object || !r->cell.length) continue;
    const char *name = json_string_value(json_array_get(names, count));
    if (json_object_set_new(object, name, json_string(r->cell.data)) != 0)
      return hl_error_set(error, HL_BAD_DATA, "%s: line %zu: no valid UTF-8. Write it again", file,
                          line);
  }
  if (object && count < json_array_size(names))
    return hl_error_set(error, HL_BAD_DATA, "%s: line %zu: %zu cells of %zu. Is it whole?", file,
                        line, count, json_array_size(names));
  return HL_OK;
}

static hl_status read_lines(const hl_importer *importer, hl_csv_reader *r, json_t *names,
                            json_t *rows, hl_error *error) {
  hl_status status = read_line(importer, r, names, NULL, error);
  if (status == HL_OK && json_array_append(rows, names) != 0)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a table");
  while (status == HL_OK && hl_csv_reader_more(r)) {
    if (json_array_size(rows) > HL_IMPORT_MAX_ROWS)
      return hl_error_set(error, HL_LIMIT, "%s: more than %d rows. Import it in parts",
                          importer->source->name, HL_IMPORT_MAX_ROWS);
    json_t *object = json_object();
    status = read_line(importer, r, names, object, error);
    if (status == HL_OK && json_array_append(rows, object) != 0)
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a table");
    json_decref(object);
  }
  return status;
}

hl_status hl__import_csv(const hl_importer *importer, const char *data, size_t bytes,
                         json_t **ret_root, hl_error *error) {
  if (memchr(data, '\0', bytes))
    return hl_error_set(error, HL_BAD_DATA, "%s: no text, it has zero bytes. Write it again",
                        importer->source->name);
  hl_csv_reader r;
  hl_csv_reader_init(&r, data, bytes);
  json_t *names = json_array(), *rows = json_array();
  hl_status status = names && rows ? read_lines(importer, &r, names, rows, error)
                                   : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  if (status == HL_OK && r.cell.failed)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a table");
  hl_csv_reader_release(&r);
  json_decref(names);
  if (status == HL_OK)
    *ret_root = rows;
  else
    json_decref(rows);
  return status;
}
