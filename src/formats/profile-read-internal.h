/* formats/profile-read-internal.h - what the readers of profiles share (inside src/formats only).
 */
#ifndef HL_FORMATS_PROFILE_READ_INTERNAL_H
#define HL_FORMATS_PROFILE_READ_INTERNAL_H

#include "formats/profile-read.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* One call as the file has it. Texts are borrowed from the document or the reader's arena. */
typedef struct hl_read_call {
  hl_profile_operator operator;
  double thread_key; /* as the file calls its thread */
  double start_us, duration_us;
  int32_t step;     /* -1: by the steps that it falls into */
  int32_t thread;   /* by hl__profile_threads */
  int64_t sequence; /* of autograd: forward and backward of one operator share it; -1: none */
  bool is_backward; /* the file says so */
  bool is_span, is_step;
} hl_read_call;

typedef struct hl_profile_reader {
  const char *name; /* of the file */
  hl_profile *profile;
  char place[64];
  hl_read_call *calls; /* in the order of the file, then sorted by thread and time */
  size_t count, capacity;
  int32_t *table; /* operators by hash: index + 1 */
  size_t table_size;
} hl_profile_reader;

/* BAD_DATA: "FILE: PLACE.key: what. Write it again with the profiler that made it". */
hl_status hl__profile_wrong(const hl_profile_reader *reader, const char *key, const char *what,
                            hl_error *error);

/* Times of a "ph": "X" event in microseconds; BAD_DATA for what is no time. */
hl_status hl__profile_times(const hl_profile_reader *reader, const json_t *event,
                            hl_read_call *call, hl_error *error);

/* A text of an object, "" where there is none. */
const char *hl__profile_text(const json_t *object, const char *key);
/* A number, also one in quotes; NaN where there is none, or a negative one. */
double hl__profile_number(const json_t *object, const char *key);

hl_status hl__profile_call_add(hl_profile_reader *reader, const hl_read_call *call,
                               hl_error *error);

/* Sorts by thread and time, outer ones first; numbers threads from 0, the first step's first. */
void hl__profile_threads(hl_profile_reader *reader);

/* Steps, operators and events of the profile from the sorted calls. Calls outside all steps are
 * left out where there are steps; without any, all of the file is one. */
hl_status hl__profile_finish(hl_profile_reader *reader, hl_error *error);

hl_status hl__profile_read_onnxruntime(hl_profile_reader *reader, const json_t *events,
                                       hl_error *error);
hl_status hl__profile_read_trace(hl_profile_reader *reader, const json_t *root, hl_error *error);

#endif
