/*
 * record/settings.h - the settings file: what a search found best, by presets.
 *
 *     hl_settings settings;
 *     hl_status status = hl_settings_read("settings.json", &settings, error);
 *     const hl_preset *preset;
 *     if (status == HL_OK) status = hl_settings_find(&settings, "balanced", &preset, error);
 *     if (status == HL_OK) ... preset->engine, preset->batch_size ...
 *     hl_settings_release(&settings);
 *
 * JSON of the schema hotlap.settings/1, which `hotlap tune` writes (docs/tuning.md). Members that
 * are not known are left out of account. The file is hostile: bounded, checked member by member.
 */
#ifndef HL_RECORD_SETTINGS_H
#define HL_RECORD_SETTINGS_H

#include "record/fields.h"

#define HL_SETTINGS_SCHEMA "hotlap.settings/1"
enum { HL_SETTINGS_PRESETS = 64, HL_SETTINGS_BYTES = 4 << 20 };

typedef struct hl_preset {
  char *name, *objective;
  char *engine, *dtype, *device;                                    /* device NULL: cpu */
  int64_t threads, batch_size;                                      /* at least 1 */
  int64_t preprocess_batch, reassemble_batch;                       /* HL_INT_NULL: no pipeline */
  double throughput_ips, latency_p50_ms, latency_p99_ms, memory_mb; /* expected; NaN: unknown */
  hl_pair throughput_ci;
  char *reproduce; /* command that measures it, or NULL */
} hl_preset;

typedef struct hl_settings {
  char *model, *machine_id, *cpu, *created;
  char *test_data;  /* what was measured with, or NULL */
  hl_preset *items; /* the headline first */
  size_t count;
} hl_settings;

/* Release the settings, which are untouched on failure. NOT_FOUND, IO; BAD_DATA names the file, the
 * preset and the member; LIMIT. */
hl_status hl_settings_read(const char *path, hl_settings *ret_settings, hl_error *error);
/* The same of its bytes; `path` is what messages call it. */
hl_status hl_settings_parse(const char *text, size_t bytes, const char *path,
                            hl_settings *ret_settings, hl_error *error);
void hl_settings_release(hl_settings *settings);

/* The preset of this name; NULL: the first. INVALID_ARGUMENT names those that there are. */
hl_status hl_settings_find(const hl_settings *settings, const char *name,
                           const hl_preset **ret_preset, hl_error *error);

#endif
