#include "cli/merge.h"

#include "base/file.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "store/merge.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hl_status take_store(hl_store *store, const char *path, const char *name,
                            hl_store_merged *merged, hl_error *error) {
  hl_store *other = NULL;
  if (hl_file_is_same(path, name))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%.300s is the store that the others are taken into; --store names another",
                        name);
  hl_status status = hl_store_open(name, HL_STORE_READ, &other, error);
  if (status == HL_OK) status = hl_store_merge(store, other, merged, error);
  hl_store_free(other);
  return status;
}

/* The first of them are named. */
static hl_status refuse_conflicts(const hl_store_merged *merged, hl_error *error) {
  const char *text = merged->conflicts;
  size_t count = 1;
  if (!text) return HL_OK;
  for (const char *c = text; *c; c++) count += *c == '\n';
  size_t first = strcspn(text, "\n");
  return hl_error_set(error, HL_BAD_DATA,
                      "nothing was taken: %zu run%s of the same id %s not the same in both stores, "
                      "as %.*s. Remove one of the two, or leave that store out",
                      count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
                      (int)(first < 200 ? first : 200), text);
}

static void show(const hl_options *o, const hl_store_merged *m, const char *path) {
  size_t stores = o->positional_count;
  if (hl_options_on(o, HL_OPTION_JSON)) {
    HL_CLEANUP(hl_text_release) hl_text text = HL_TEXT_INIT;
    hl_json json;
    hl_json_init(&json, &text, HL_JSON_PRETTY);
    hl_json_object(&json, NULL);
    hl_json_text(&json, "schema", "hotlap.merge/1");
    hl_json_text(&json, "store", path);
    hl_json_int(&json, "stores", (int64_t)stores);
    hl_json_int(&json, "taken", m->taken);
    hl_json_int(&json, "renewed", m->renewed);
    hl_json_int(&json, "same", m->same);
    hl_json_int(&json, "rows", m->rows);
    hl_json_int(&json, "checks", m->checks);
    hl_json_end(&json);
    printf("%s\n", text.data);
  } else if (!hl_options_on(o, HL_OPTION_QUIET)) {
    printf("%s: %" PRId64 " run%s of %zu store%s taken (%" PRId64 " rows), %" PRId64
           " went on, %" PRId64 " there already\n",
           path, m->taken, m->taken == 1 ? "" : "s", stores, stores == 1 ? "" : "s", m->rows,
           m->renewed, m->same);
  }
}

static hl_status merge(const hl_options *o, const char *path, hl_error *error) {
  hl_store *store = NULL;
  hl_store_merged merged = {0};
  hl_status status = hl_store_open(path, HL_STORE_WRITE, &store, error);
  if (status != HL_OK) return status;
  status = hl_store_batch_begin(store, error);
  if (status == HL_OK) {
    for (size_t i = 0; i < o->positional_count && status == HL_OK; i++)
      status = take_store(store, path, o->positionals[i], &merged, error);
    if (status == HL_OK) status = refuse_conflicts(&merged, error);
    status = hl_store_batch_end(store, status, error);
  }
  hl_store_free(store);
  if (status == HL_OK) show(o, &merged, path);
  hl_store_merged_release(&merged);
  return status;
}

/* What would show a run, or serve, is not passed over in silence. */
static hl_status check(const hl_options *options, hl_error *error) {
  for (size_t i = 0; i < options->item_count; i++) {
    hl_option_id id = options->item_ids[i];
    if (id != HL_OPTION_MERGE && id != HL_OPTION_STORE && id != HL_OPTION_JSON &&
        id != HL_OPTION_QUIET && id != HL_OPTION_VERBOSE)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--%s does not go with --merge, which only takes runs; merge first",
                          hl_option_name(id));
  }
  return HL_OK;
}

int hl_cli_merge(hl_options *options) {
  hl_error error = {0};
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  hl_status status = check(options, &error);
  if (status == HL_OK) status = hl_cli_store_path(options, &path, &error);
  if (status == HL_OK && !path)
    status = hl_error_set(&error, HL_INVALID_ARGUMENT, "--store none holds no runs; name a file");
  if (status == HL_OK && options->positional_count == 0)
    status = hl_error_set(&error, HL_INVALID_ARGUMENT,
                          "--merge needs the files of other stores: hotlap report --merge "
                          "box.db gpu.db");
  if (status == HL_OK) status = merge(options, path, &error);
  hl_options_release(options);
  return status == HL_OK ? HL_EXIT_OK : hl_cli_fail(&error, HL_EXIT_USAGE);
}
