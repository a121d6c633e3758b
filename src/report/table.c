#include "report/table.h"

#include "report/number.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const key_titles[HL_TABLE_KEYS] = {"Workload", "Model",   "Engine",
                                                      "Type",     "Threads", "Device"};
enum { KEY_WORKLOAD = 0, KEY_MODEL = 1 };
static const char *const colour_off = "\033[0m", *const colour_head = "\033[1m",
                         *const colour_bad = "\033[31m", *const colour_note = "\033[33m";

/* A number of a line; every width holds its title and four digits with room. */
typedef struct column {
  const char *title;
  int width;
  enum { COLUMN_REAL, COLUMN_INT, COLUMN_INTERVAL, COLUMN_TEXT } kind;
  size_t offset; /* of the field in hl_record; of an interval that of its value */
} column;

#define REAL(title, width, field)                                                                  \
  { title, width, COLUMN_REAL, offsetof(hl_record, field) }
#define INT(title, width, field)                                                                   \
  { title, width, COLUMN_INT, offsetof(hl_record, field) }
#define TEXT(title, width, field)                                                                  \
  { title, width, COLUMN_TEXT, offsetof(hl_record, field) }

/* Of steps, of load tests, of progressive imaging (a pass and its stage in ms), of training runs,
 * and of where memory goes (10^6 bytes). */
static const column step_columns[] = {
    REAL("images/s", 9, throughput_ips),
    {"± %", 5, COLUMN_INTERVAL, offsetof(hl_record, throughput_ips)},
    REAL("p50 ms", 8, latency_p50_ms),
    REAL("p95 ms", 8, latency_p95_ms),
    REAL("p99 ms", 8, latency_p99_ms),
    REAL("ms/image", 8, latency_per_image_ms),
    REAL("memory MB", 9, memory_mb),
    REAL("img/s/MB", 8, efficiency),
    INT("steps", 6, measurement_iterations),
};
static const column load_columns[] = {
    TEXT("scenario", 12, scenario),        REAL("rate/s", 8, target_qps),
    REAL("served/s", 8, served_qps),       INT("queries", 8, queries),
    REAL("q/batch", 7, queries_per_batch), REAL("p50 ms", 7, latency_p50_ms),
    REAL("p90 ms", 7, latency_p90_ms),     REAL("p99 ms", 7, latency_p99_ms),
    TEXT("result", 7, validity),
};
static const column imaging_columns[] = {
    REAL("samples/s", 9, throughput_ips),
    {"± %", 5, COLUMN_INTERVAL, offsetof(hl_record, throughput_ips)},
    REAL("pass p50", 9, latency_p50_ms),
    REAL("ms/sample", 9, latency_per_image_ms),
    REAL("measure", 8, stage_measure_ms),
    REAL("hits %", 6, cache_hit_percent),
    REAL("PSNR dB", 8, psnr_db),
    REAL("memory MB", 9, memory_mb),
    INT("passes", 6, measurement_iterations),
};
static const column training_columns[] = {
    REAL("samples/s", 9, throughput_ips),
    {"± %", 5, COLUMN_INTERVAL, offsetof(hl_record, throughput_ips)},
    REAL("p50 ms", 8, latency_p50_ms),
    REAL("p95 ms", 8, latency_p95_ms),
    REAL("first ms", 8, first_call_ms),
    REAL("waiting %", 9, data_wait_percent),
    REAL("memory MB", 9, memory_mb),
    INT("steps", 6, training_steps),
    REAL("first loss", 10, first_loss),
    REAL("final loss", 10, final_loss),
};
static const column memory_columns[] = {
    TEXT("mode", 9, mode),
    REAL("weights", 8, weights_mb),
    REAL("optim.", 7, optimizer_state_mb),
    REAL("kept", 7, saved_mb),
    REAL("activ.", 7, activations_mb),
    REAL("grads", 7, gradients_mb),
    REAL("work", 7, workspace_mb),
    REAL("peak", 7, plan_peak_mb),
    REAL("plan", 7, planned_memory_mb),
    REAL("resident", 8, resident_mb),
    REAL("%", 6, plan_error_percent),
};
enum { BATCH_WIDTH = 6 };

/* Workloads, by their columns. */
static const struct {
  const column *columns;
  size_t count;
} kinds[] = {{step_columns, HL_COUNT(step_columns)},
             {load_columns, HL_COUNT(load_columns)},
             {training_columns, HL_COUNT(training_columns)},
             {memory_columns, HL_COUNT(memory_columns)},
             {imaging_columns, HL_COUNT(imaging_columns)}};

static int kind_of(const char *workload) {
  return hl_workload_is_load(workload)          ? 1
         : hl_workload_is_training(workload)    ? 2
         : hl_workload_is_memory(workload)      ? 3
         : hl_workload_is_progressive(workload) ? 4
                                                : 0;
}

/* Whether the rows are of several: then the header is of the rows that follow it. */
static bool is_mixed(const hl_report_table *table) {
  return (table->kinds & (table->kinds - 1)) != 0;
}

void hl_report_table_init(hl_report_table *table, bool colour) {
  memset(table, 0, sizeof *table);
  table->colour = colour;
  table->shown = -1;
}

/* Text on one line, cut to what fits; control characters cannot disturb a terminal. */
static void clean_copy(char *ret_text, size_t size, const char *text) {
  size_t n = 0;
  for (; *text && n + 1 < size; text++) ret_text[n++] = *text;
  if (*text)
    while (n > 0 && ((unsigned char)ret_text[n - 1] & 0xc0) == 0x80) n--; /* no half character */
  if (*text && n > 0 && ((unsigned char)ret_text[n - 1] & 0x80)) n--;
  ret_text[n] = '\0';
  hl_text_blank(ret_text, "");
}

static void record_keys(const char *workload, const char *model, const char *engine,
                        const char *dtype, int64_t threads, const char *device,
                        char ret_keys[HL_TABLE_KEYS][HL_TABLE_KEY_BYTES]) {
  char number[HL_NUMBER_BYTES];
  const char *texts[HL_TABLE_KEYS] = {
      workload, model, engine, dtype, hl_report_int(threads, "", number), device};
  for (int i = 0; i < HL_TABLE_KEYS; i++)
    clean_copy(ret_keys[i], HL_TABLE_KEY_BYTES, texts[i] ? texts[i] : "");
}

void hl_report_table_expect(hl_report_table *table, const char *workload, const char *model,
                            const char *engine, const char *dtype, int64_t threads,
                            const char *device) {
  char keys[HL_TABLE_KEYS][HL_TABLE_KEY_BYTES];
  record_keys(workload, model, engine, dtype, threads, device, keys);
  table->kinds |= 1u << kind_of(workload);
  for (int i = 0; i < HL_TABLE_KEYS; i++) {
    if (table->expected == 0)
      memcpy(table->keys[i].first, keys[i], HL_TABLE_KEY_BYTES);
    else if (strcmp(table->keys[i].first, keys[i]) != 0)
      table->keys[i].varies = true;
    int width = (int)hl_report_columns(keys[i]), title = (int)strlen(key_titles[i]);
    if (width < title) width = title;
    if (table->keys[i].width < width) table->keys[i].width = width;
  }
  table->expected++;
}

static void paint(const hl_report_table *table, hl_text *out, const char *code) {
  if (table->colour) hl_text_append(out, code);
}

static void put_keys(const hl_report_table *table, const char *const keys[HL_TABLE_KEYS],
                     hl_text *out) {
  for (int i = 0; i < HL_TABLE_KEYS; i++) {
    if (!table->keys[i].varies || i == KEY_MODEL) continue;
    if (i == KEY_WORKLOAD && is_mixed(table)) continue; /* stands above the columns */
    hl_report_pad(out, keys[i], table->keys[i].width);
    hl_text_append(out, "  ");
  }
}

/* "Batch  images/s ..." */
static void put_titles(const hl_report_table *table, int kind, hl_text *out) {
  paint(table, out, colour_head);
  put_keys(table, key_titles, out);
  hl_report_pad(out, "Batch", -BATCH_WIDTH);
  for (size_t c = 0; c < kinds[kind].count; c++) {
    hl_text_char(out, ' ');
    hl_report_pad(out, kinds[kind].columns[c].title, -kinds[kind].columns[c].width);
  }
  paint(table, out, colour_off);
  hl_text_char(out, '\n');
}

void hl_report_table_header(const hl_report_table *table, hl_text *out) {
  bool any = false;
  paint(table, out, colour_head);
  for (int i = 0; i < HL_TABLE_KEYS; i++) {
    if (table->keys[i].varies || !table->keys[i].first[0]) continue;
    bool threads = strcmp(key_titles[i], "Threads") == 0;
    hl_text_format(out, "%s%s%s", any ? ", " : "", table->keys[i].first,
                   !threads                                 ? ""
                   : strcmp(table->keys[i].first, "1") == 0 ? " thread"
                                                            : " threads");
    any = true;
  }
  if (any) hl_text_char(out, '\n');
  paint(table, out, colour_off);
  if (!is_mixed(table)) put_titles(table, kind_of(table->keys[KEY_WORKLOAD].first), out);
}

/* What a reader has to know about a row that passed, in few words. */
static void put_remarks(const hl_report_table *table, const hl_record *record, hl_text *out) {
  hl_text remarks = HL_TEXT_INIT;
  if (record->steady == 0) hl_text_append(&remarks, "not steady");
  if (record->stop && strcmp(record->stop, "budget_exhausted") == 0)
    hl_text_format(&remarks, "%sbudget exhausted", remarks.length ? ", " : "");
  if (record->stop && strcmp(record->stop, "stopped_early") == 0)
    hl_text_format(&remarks, "%sstopped early", remarks.length ? ", " : "");
  if (record->stop && strcmp(record->stop, "interrupted") == 0)
    hl_text_format(&remarks, "%sinterrupted", remarks.length ? ", " : "");
  if (record->steps_per_sample > 1)
    hl_text_format(&remarks, "%s%" PRId64 " steps a sample", remarks.length ? ", " : "",
                   record->steps_per_sample);
  if (remarks.length) {
    hl_text_append(out, "  ");
    paint(table, out, colour_note);
    hl_text_append(out, remarks.data);
    paint(table, out, colour_off);
  }
  hl_text_release(&remarks);
}

static const char *cell_text(const column *c, const hl_record *r, char text[HL_NUMBER_BYTES]) {
  const char *field = (const char *)r + c->offset;
  switch (c->kind) {
  case COLUMN_REAL:
    return hl_report_number(*(const double *)(const void *)field, "-", text);
  case COLUMN_INT:
    return hl_report_int(*(const int64_t *)(const void *)field, "-", text);
  case COLUMN_INTERVAL:
    return hl_report_half_width(r->throughput_ci_ips, r->throughput_ips, "-", text);
  case COLUMN_TEXT:
    break;
  }
  const char *word = *(char *const *)(const void *)field;
  return word ? word : "-";
}

static void put_numbers(const hl_record *r, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  int kind = kind_of(r->workload);
  for (size_t c = 0; c < kinds[kind].count; c++) {
    const column *at = &kinds[kind].columns[c];
    hl_text_char(out, ' ');
    hl_report_pad(out, cell_text(at, r, text), -at->width);
  }
}

/* "# throughput: inference", and the columns of that workload, wherever either changes. */
static void put_section(hl_report_table *table, const hl_record *record, hl_text *out) {
  char entry[HL_TABLE_KEY_BYTES];
  int kind = kind_of(record->workload);
  bool mixed = is_mixed(table);
  clean_copy(entry, sizeof entry, record->entry ? record->entry : "");
  bool begins = strcmp(entry, table->entry) != 0, changes = mixed && kind != table->shown;
  if (!begins && !changes) return;
  memcpy(table->entry, entry, sizeof entry);
  table->shown = kind;
  table->model[0] = '\0'; /* said again below */
  if (entry[0] || mixed) {
    paint(table, out, colour_head);
    hl_text_format(out, "# %s%s%s", entry, entry[0] && mixed ? ": " : "",
                   mixed && record->workload ? record->workload : "");
    paint(table, out, colour_off);
    hl_text_char(out, '\n');
  }
  if (changes) put_titles(table, kind, out);
}

/* The model's name above its first row, and wherever it changes. */
static void put_model(hl_report_table *table, const hl_record *record, hl_text *out) {
  char model[HL_TABLE_MODEL_BYTES];
  if (!table->keys[KEY_MODEL].varies) return;
  clean_copy(model, sizeof model, record->model ? record->model : "unknown model");
  if (strcmp(model, table->model) == 0) return;
  memcpy(table->model, model, sizeof model);
  paint(table, out, colour_head);
  hl_text_append(out, model);
  paint(table, out, colour_off);
  hl_text_char(out, '\n');
}

void hl_report_table_row(hl_report_table *table, const hl_record *record, hl_text *out) {
  char keys[HL_TABLE_KEYS][HL_TABLE_KEY_BYTES], number[HL_NUMBER_BYTES], reason[321];
  record_keys(record->workload, record->model, record->engine, record->dtype, record->threads,
              record->device, keys);
  const char *cells[HL_TABLE_KEYS];
  put_section(table, record, out);
  put_model(table, record, out);
  for (int i = 0; i < HL_TABLE_KEYS; i++) cells[i] = keys[i];
  put_keys(table, cells, out);
  hl_report_pad(out, hl_report_int(record->batch_size, "-", number), -BATCH_WIDTH);
  if (hl_record_passed(record)) {
    put_numbers(record, out);
    put_remarks(table, record, out);
  } else {
    const char *whole = record->reason ? record->reason : "no reason was given";
    clean_copy(reason, sizeof reason, whole);
    hl_text_append(out, "  ");
    paint(table, out, colour_bad);
    hl_text_append(out, record->outcome ? record->outcome : "FAILED");
    paint(table, out, colour_off);
    hl_text_format(out, ": %s%s", reason,
                   strlen(whole) < sizeof reason ? "" : " … (whole in --json and files)");
  }
  hl_text_char(out, '\n');
}

void hl_report_table_write(const hl_records *records, bool colour, hl_text *out) {
  hl_report_table table;
  hl_report_table_init(&table, colour);
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    hl_report_table_expect(&table, r->workload, r->model, r->engine, r->dtype, r->threads,
                           r->device);
  }
  hl_report_table_header(&table, out);
  for (size_t i = 0; i < records->count; i++) hl_report_table_row(&table, &records->items[i], out);
}
