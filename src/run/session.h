/*
 * run/session.h - the requests of one worker's life, as functions: start, load, prepare, run.
 */
#ifndef HL_RUN_SESSION_H
#define HL_RUN_SESSION_H

#include "run/device.h"
#include "run/process.h"
#include "run/run.h"

typedef struct hl_row_context hl_row_context; /* run/row.h */

typedef struct hl_session {
  hl_process process;
  bool started;
  const hl_configuration *configuration;
  hl_run_info *info;
  int64_t n_images, partial_images, patterns_per_image;
  int64_t pictures;    /* of a folder, read one by one; else 0 */
  int64_t fixed_batch; /* 0, or the one batch that the model runs */
  bool wraps;
  int64_t step_images; /* inputs of a full step: the batch, or of a pipeline the scan */
  double scan_mb;      /* of a pipeline: what it held before the model was loaded */
  uint64_t baseline_bytes;
  double planned_bytes;  /* by the engine's plan, once loaded; 0: it has none */
  uint64_t limit_bytes;  /* of the whole worker, 0: none */
  double clock_grain_ns; /* the clock's cost of a read or its resolution, what is larger */
  double step_timeout_s, setup_s;
  char reference_key[17];
  bool classifier;
  hl_configuration *copied; /* the configuration with an 8-bit copy in the model's place, owned */
  char *copy;               /* its path, owned */
  char not_a_number[400];   /* "", or which weights hold NaN */
  char unread[512];         /* "", or why the reference cannot run the model */
} hl_session;

/* Starts a worker under the memory limit, configures it, and fills what that tells into `record`
 * (may be NULL). */
hl_status hl_session_open(const hl_row_context *context, const hl_configuration *configuration,
                          hl_session *session, hl_record *record, hl_error *error);

/* Loads the model and asks for the plan; OUT_OF_MEMORY ("predicted ...") if the plan cannot fit
 * and predictions count. */
hl_status hl_session_load(hl_session *session, const hl_row_context *context, hl_record *record,
                          hl_error *error);

/* Compiles for the batch. */
hl_status hl_session_prepare(hl_session *session, hl_record *record, hl_error *error);

/* Samples of one request: durations, and the inputs of each. Views into `message`. */
typedef struct hl_session_samples {
  hl_message message;
  const uint64_t *ns, *images;
  size_t count;
  uint64_t elapsed_ns, discarded_ns;
} hl_session_samples;
void hl_session_samples_release(hl_session_samples *samples);

typedef struct hl_session_request {
  uint64_t max_samples, max_ns;
  uint32_t group;         /* steps of a sample */
  bool restart;           /* begin at the first image */
  bool part;              /* of progressive imaging the first sample of a pass alone */
  uint64_t discard_steps; /* run before, neither timed one by one nor counted */
} hl_session_request;

/* Runs at most `max_samples` samples, none begun after `max_ns` or, if that is sooner, twice the
 * row's budget, but one in any case: ask again for what is left. */
hl_status hl_session_run(hl_session *session, const hl_session_request *request,
                         hl_session_samples *ret_samples, hl_error *error);

typedef struct hl_session_memory {
  uint64_t peak_bytes;  /* resident peak of the worker since its baseline */
  double above_base_mb; /* the same less the baseline, never below 0 */
  double engine_mb;     /* peak by the engine's own account, NaN if it keeps none */
  double group_mb;      /* peak of the worker's own control group, NaN if it has none */
  hl_device_memory device;
} hl_session_memory;
/* OUT_OF_MEMORY where the peak is beyond the limit, `ret_memory` filled all the same. */
hl_status hl_session_peak(hl_session *session, hl_session_memory *ret_memory, hl_error *error);
/* The same, kept in the record as memory_mb and what stands beside it; nothing after a failure. */
hl_status hl_session_fill_peak(hl_session *session, hl_record *record, hl_error *error);

/* A few more steps between events of the device, for device_time_p50_ms; nothing where the engine
 * shows no stream. */
hl_status hl_session_device_time(hl_session *session, hl_record *record, hl_error *error);

/* Ends the worker; the status to record after `cause` (see hl_process_end). */
hl_status hl_session_close(hl_session *session, hl_status cause, hl_error *error);

#endif
