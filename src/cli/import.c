/* history --import: other tools' files become runs of the store. */
#include "formats/import.h"
#include "base/clock.h"
#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "machine/topology.h"
#include "plan/configuration.h"
#include "report/number.h"
#include "store/store.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES_SHOWN = 50 };

/* A file while it is taken in. */
typedef struct taken {
  const char *file;
  hl_import import;
  char *run;   /* id */
  bool before; /* the store had it already */
} taken;

static const char *file_at(const hl_options *options, size_t index) {
  size_t named = 0;
  while (hl_options_at(options, HL_OPTION_IMPORT, named)) named++;
  if (index < named) return hl_options_at(options, HL_OPTION_IMPORT, index);
  index -= named;
  return index < options->positional_count ? options->positionals[index] : NULL;
}

/* -- into the store ---------------------------------------------------------------------------- */

/* "20261128T092554Z-i3fa9": the file's date and hash, counted on where another file has it. */
static hl_status choose_id(hl_store *store, const taken *t, char **ret_id, hl_error *error) {
  char now[32];
  const char *d = t->import.info.created;
  if (!d || strlen(d) < 20) {
    hl_clock_utc(now, sizeof now);
    d = now;
  }
  const char *digits = strchr(t->import.hash, ':');
  unsigned number = (unsigned)strtoul(digits ? digits + 13 : "0", NULL, 16);
  for (bool there = true; there; number++) {
    HL_CLEANUP(hl_free_pointer)
    char *id = hl_format("%.4s%.2s%.2sT%.2s%.2s%.2sZ-i%04x", d, d + 5, d + 8, d + 11, d + 14,
                         d + 17, number & 0xFFFF);
    if (!id) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a run");
    hl_status status = hl_store_run_exists(store, id, &there, error);
    if (status != HL_OK) return status;
    if (there) continue;
    *ret_id = id;
    id = NULL;
  }
  return HL_OK;
}

static hl_status add_rows(hl_store *store, const taken *t, hl_error *error) {
  const hl_import *import = &t->import;
  hl_status status = HL_OK;
  for (size_t i = 0; i < import->records.count && status == HL_OK; i++)
    status = hl_interrupt_caught() ? hl_error_set(error, HL_INTERRUPTED, "interrupted")
                                   : hl_store_row_add(store, t->run, import->keys[i], (int64_t)i,
                                                      &import->records.items[i], error);
  return status;
}

static hl_status write_run(hl_store *store, taken *t, hl_error *error) {
  hl_run_info *info = &t->import.info;
  hl_text command = HL_TEXT_INIT;
  hl_text_append(&command, "hotlap history --import ");
  hl_shell_quote(&command, t->file);
  if (!info->command) info->command = hl_text_take(&command);
  hl_text_release(&command);
  /* An import that was cut off by an earlier hotlap is gone on with. */
  hl_status status =
      hl_store_run_resumable(store, t->import.hash, info->machine_id, &t->run, error);
  if (status == HL_OK && !t->run) status = choose_id(store, t, &t->run, error);
  if (status != HL_OK) return status;
  hl_record_set_text(&info->id, t->run);
  if (!info->id || !info->command) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory");
  /* The whole file or nothing of it. */
  status = hl_store_batch_begin(store, error);
  if (status != HL_OK) return status;
  status = hl_store_run_begin(store, info, t->import.hash, error);
  if (status == HL_OK) status = add_rows(store, t, error);
  if (status == HL_OK) status = hl_store_run_end(store, info, HL_RUN_FINISHED, error);
  return hl_store_batch_end(store, status, error);
}

/* What the Python package timed on this machine is a row of it. */
static bool is_of_here(const hl_import *import) {
  char name[HOST_NAME_MAX + 1] = "";
  return import->host && gethostname(name, sizeof name - 1) == 0 && strcmp(import->host, name) == 0;
}

static void set_this_machine(hl_run_info *info) {
  hl_machine machine;
  if (hl_machine_read(&machine, NULL) != HL_OK) return;
  hl_record_set_text(&info->machine_id, machine.id);
  hl_record_set_text(&info->cpu, machine.cpu);
  hl_record_set_text(&info->os, machine.os);
  hl_record_set_text(&info->kernel, machine.kernel);
  info->cores = machine.cores;
  info->memory_bytes = (int64_t)machine.memory_bytes;
  hl_machine_release(&machine);
}

static hl_status take_file(const hl_options *options, hl_store *store,
                           const hl_import_format *format, taken *t, hl_error *error) {
  hl_status status = hl_import_file(t->file, format, &t->import, error);
  const char *machine = hl_options_get(options, HL_OPTION_MACHINE);
  if (status != HL_OK) return status;
  if (machine) hl_import_set_machine(&t->import, machine);
  if (!machine && is_of_here(&t->import)) set_this_machine(&t->import.info);
  status = hl_store_run_finished(store, t->import.hash, &t->run, error);
  t->before = t->run != NULL;
  return status == HL_OK && !t->before ? write_run(store, t, error) : status;
}

/* -- what is said of it ------------------------------------------------------------------------ */

static void put_row(const hl_record *r, hl_text *out) {
  char number[HL_NUMBER_BYTES], samples[HL_NUMBER_BYTES];
  snprintf(samples, sizeof samples, "%zu", r->sample_count);
  hl_text_append(out, "  ");
  hl_report_pad(out, hl_report_number(r->latency_p50_ms, "-", number), -10);
  hl_text_append(out, "  ");
  hl_report_pad(out, hl_report_number(r->latency_mean_ms, "-", number), -10);
  hl_text_append(out, "  ");
  hl_report_pad(out, samples, -7);
  hl_text_append(out, "  ");
  hl_report_pad(out, r->outcome, 8);
  hl_text_format(out, "  %s", r->model);
  if (!hl_workload_is_imported(r->workload) && r->batch_size != HL_INT_NULL)
    hl_text_format(out, ", %s, batch %" PRId64, r->framework, r->batch_size);
  hl_text_char(out, '\n');
}

static void put_losses(const hl_import *import, hl_text *out) {
  hl_text words = HL_TEXT_INIT;
  for (size_t i = 0; i < import->loss_count; i++)
    hl_text_format(&words, "%s%s (%zu)", i ? "; " : "Not kept: ", import->losses[i].what,
                   import->losses[i].count);
  if (words.length) {
    hl_text_append(out, "  ");
    hl_text_wrap(out, words.data, 2, 2, 80);
    hl_text_char(out, '\n');
  }
  hl_text_release(&words);
}

static void print_table(const taken *t) {
  const hl_import *import = &t->import;
  const hl_records *records = &import->records;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text, "%s: %s, %zu row%s %s %s\n", t->file, hl_import_format_name(import->format),
                 records->count, records->count == 1 ? "" : "s",
                 t->before ? "already there as run" : "as run", t->run);
  hl_text_format(&text, "  of %s, machine %s%s\n",
                 import->info.created ? import->info.created : "-", import->info.machine_id,
                 import->machine_known ? "" : " (unknown; --machine TEXT names it)");
  hl_text_append(&text, "      p50 ms     mean ms  samples  outcome   benchmark\n");
  for (size_t i = 0; i < records->count && i < LINES_SHOWN; i++) put_row(&records->items[i], &text);
  if (records->count > LINES_SHOWN)
    hl_text_format(&text, "  and %zu more; `hotlap report %s` shows all\n",
                   records->count - LINES_SHOWN, t->run);
  put_losses(import, &text);
  hl_cli_show(&text, stdout);
  hl_text_release(&text);
}

static void write_json(const taken *t, hl_json *json) {
  const hl_import *import = &t->import;
  hl_json_object(json, NULL);
  hl_json_text(json, "file", t->file);
  hl_json_text(json, "format", hl_import_format_name(import->format));
  hl_json_text(json, "run", t->run);
  hl_json_bool(json, "already_there", t->before);
  hl_json_text(json, "created", import->info.created);
  hl_json_text(json, "machine_id", import->info.machine_id);
  hl_json_bool(json, "machine_known", import->machine_known);
  hl_json_array(json, "not_kept");
  for (size_t i = 0; i < import->loss_count; i++) {
    hl_json_object(json, NULL);
    hl_json_text(json, "what", import->losses[i].what);
    hl_json_int(json, "count", (int64_t)import->losses[i].count);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_array(json, "rows");
  for (size_t i = 0; i < import->records.count; i++) {
    hl_json_object(json, NULL);
    hl_record_write_json(&import->records.items[i], json);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_end(json);
}

static hl_status prepare(const hl_options *options, hl_import_format *ret_format, bool *ret_given,
                         hl_store **ret_store, hl_error *error) {
  const char *name = hl_options_get(options, HL_OPTION_IMPORT_FORMAT);
  *ret_given = name != NULL;
  hl_status status = name ? hl_import_format_from_name(name, ret_format, error) : HL_OK;
  HL_CLEANUP(hl_free_pointer) char *path = NULL;
  if (status == HL_OK) status = hl_cli_store_path(options, &path, error);
  if (status != HL_OK) return status;
  if (!path)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "--store none keeps no runs; name a file");
  return hl_store_open(path, HL_STORE_WRITE, ret_store, error);
}

int hl_cli_import(const hl_options *options) {
  hl_error error = {0};
  hl_import_format format;
  hl_store *store = NULL;
  bool given = false, as_json = hl_options_on(options, HL_OPTION_JSON);
  hl_interrupt_catch();
  if (prepare(options, &format, &given, &store, &error) != HL_OK)
    return hl_cli_fail(&error, HL_EXIT_USAGE);
  int exit_status = HL_EXIT_OK;
  hl_text text = HL_TEXT_INIT;
  hl_json json;
  hl_json_init(&json, &text, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_array(&json, "imports");
  for (size_t i = 0; file_at(options, i) && !hl_interrupt_caught(); i++) {
    taken t = {.file = file_at(options, i)};
    /* A file that cannot be read does not hold up the others. */
    hl_status status = take_file(options, store, given ? &format : NULL, &t, &error);
    if (status == HL_INTERRUPTED)
      exit_status = HL_EXIT_INTERRUPTED;
    else if (status != HL_OK)
      exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
    else if (as_json)
      write_json(&t, &json);
    else if (!hl_options_on(options, HL_OPTION_QUIET))
      print_table(&t);
    hl_import_release(&t.import);
    free(t.run);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  if (text.failed) {
    hl_error_set(&error, HL_OUT_OF_MEMORY, "no memory for the JSON; the files are imported");
    exit_status = hl_cli_fail(&error, HL_EXIT_USAGE);
  } else if (as_json) {
    printf("%s\n", text.data);
  }
  hl_text_release(&text);
  hl_store_free(store);
  if (!hl_interrupt_caught()) return exit_status;
  fputs("hotlap: interrupted; files that were not shown are not imported\n", stderr);
  return HL_EXIT_INTERRUPTED;
}
