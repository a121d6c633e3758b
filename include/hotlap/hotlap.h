/*
 * hotlap/hotlap.h - the library: what a program that runs a network in production asks of hotlap.
 *
 *     // cc serve.c $(pkg-config --cflags --libs hotlap)
 *     #include <hotlap/hotlap.h>
 *     hl_error error = {0};
 *     hl_monitor *monitor;
 *     hl_monitor_config config = HL_MONITOR_CONFIG;
 *     config.path = "inference.jsonl";
 *     if (hl_monitor_new(&config, &monitor, &error)) fail(error.msg);
 *     ...                                                      // in any thread, after each batch:
 *     hl_monitor_log_inference(monitor, 32, elapsed_s, memory_mb);
 *     ...
 *     hl_monitor_free(monitor);
 *
 * `hotlap monitor inference.jsonl` shows the log while it grows.
 *
 * A function that can fail returns a status and fills `error` (which may be NULL). Structs that the
 * caller fills begin with their size and only grow at their end: begin with their initialiser. What
 * is passed in is copied. Nothing is printed and the process never ends from in here.
 */
#ifndef HOTLAP_HOTLAP_H
#define HOTLAP_HOTLAP_H

#include <hotlap/engine.h> /* hl_status, hl_error */
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HL_PUBLIC __attribute__((visibility("default")))

/* "0.1.0" */
HL_PUBLIC const char *hl_version(void);

/* ---- Monitor ---------------------------------------------------------------------------------
 *
 * A call in the serving threads leaves 40 bytes in a ring; one thread of the monitor's own writes
 * the log. A line is one JSON object:
 *
 *     {"timestamp":"2026-11-29T12:00:00.123456Z","batch_size":32,"elapsed_time":0.0125,
 *      "memory_usage":812.5,"throughput":2560}
 *
 * seconds, MB (10^6 bytes; null: unknown), images a second; one that is slow has "slow", its
 * throughput by the median. Lines with an "event" are the monitor's own. Whole lines are appended
 * by single writes: a process that is killed loses the records of the last `flush_ms` and leaves a
 * valid log, but for a last line that a kill within a large write, or a full disk, may tear; the
 * next monitor of this path goes on behind it. */

typedef struct hl_monitor hl_monitor;

typedef enum hl_monitor_kind {
  HL_MONITOR_DEGRADED = 0,  /* `persist` slow inferences in succession */
  HL_MONITOR_RECOVERED = 1, /* as many in succession that are not slow any more */
  HL_MONITOR_CHANGE = 2,    /* another level, slower or faster, found by its persistence */
  HL_MONITOR_SETTLED = 3    /* what was a degradation has lasted for `window`: it is the norm now */
} hl_monitor_kind;

/* What the monitor has found; valid during the call. Times are nanoseconds of CLOCK_REALTIME. */
typedef struct hl_monitor_event {
  uint32_t size;
  hl_monitor_kind kind;
  uint32_t batch_size;
  uint32_t padding;
  uint64_t time_ns, since_ns;  /* when it was seen, and with which inference it begins */
  double throughput, baseline; /* images a second: now, and what it was before */
  const char *message;         /* a sentence for people */
} hl_monitor_event;

typedef struct hl_monitor_config {
  uint32_t size;
  uint32_t flush_ms;     /* records are in the file after so long at most; 100 */
  const char *path;      /* of the log; NULL: none is written */
  uint64_t rotate_bytes; /* the log becomes PATH.1, that PATH.2, ... at this size; 64 MiB */
  uint32_t rotate_keep;  /* so many old ones are kept, 1 to 1000; 8 */
  uint32_t ring_records; /* capacity of the rings, all threads together; 65536 (2.6 MB) */
  /* When inference is slow: its throughput is below `drop` times the median of the last `window` of
   * the same batch size. `persist` in succession are a degradation. A change of level of at least
   * `change` (a ratio less 1) is found over longer; below 0: not looked for. */
  uint32_t window;  /* 100 */
  uint32_t persist; /* 5 */
  double drop;      /* 0.8 */
  double change;    /* 0.05 */
  /* Who is told of degradations, recoveries and changes to slower, once in `alert_interval_s` (60).
   * A command is a NULL-terminated list of words, run with the message as one more word and the
   * event as JSON on standard input; no shell is in between. A webhook is an address (http or
   * https) to which curl posts the JSON. */
  const char *const *alert_command;
  const char *webhook;
  double alert_interval_s;
  /* Called for every event, in the monitor's thread. */
  void (*on_event)(void *context, const hl_monitor_event *event);
  void *context;
} hl_monitor_config;

#define HL_MONITOR_CONFIG                                                                          \
  { .size = sizeof(hl_monitor_config) }

/* What has been logged so far. Numbers of records: logged = written + waiting. */
typedef struct hl_monitor_stats {
  uint32_t size;
  uint32_t padding;
  uint64_t logged;        /* taken by hl_monitor_log_inference */
  uint64_t dropped;       /* refused because the ring was full; a line of the log tells them, too */
  uint64_t invalid;       /* refused: batch size 0, or a time that is not above 0 */
  uint64_t written;       /* seen by the monitor's thread */
  uint64_t failed_writes; /* lines that could not be written */
  uint64_t slow;          /* inferences of those written that were slow */
  uint64_t degradations, changes; /* events */
  uint64_t alerts, failed_alerts; /* told by command or webhook; not started, or ended badly */
} hl_monitor_stats;

/* Starts the thread and opens the log for appending. Members that are 0 or NULL have their
 * defaults. INVALID_ARGUMENT; IO: the log cannot be opened; UNAVAILABLE: another monitor writes
 * it. Free with hl_monitor_free. */
HL_PUBLIC hl_status hl_monitor_new(const hl_monitor_config *config, hl_monitor **ret_monitor,
                                   hl_error *error);

/* One batch took `elapsed_s` seconds; `memory_mb` is what it used, NaN: unknown. Any thread, at any
 * time; takes no lock, allocates nothing and never waits. False: refused, and counted in the
 * stats. */
HL_PUBLIC bool hl_monitor_log_inference(hl_monitor *monitor, uint32_t batch_size, double elapsed_s,
                                        double memory_mb);

/* Waits until everything that was logged before the call is in the file. IO: lines could not be
 * written since the last flush. INVALID_ARGUMENT: from on_event, which it would wait for. */
HL_PUBLIC hl_status hl_monitor_flush(hl_monitor *monitor, hl_error *error);

/* `ret_stats->size` is set by the caller. */
HL_PUBLIC void hl_monitor_get_stats(hl_monitor *monitor, hl_monitor_stats *ret_stats);

/* Flushes, ends the thread, waits 3 s at most for alerts that are being sent, and closes the log;
 * NULL is allowed. No other thread may be in a call of this monitor. From on_event, which is not
 * called again, it returns at once, and the rest is done behind it. In a child of fork, which has
 * no such thread, it only gives memory back. */
HL_PUBLIC void hl_monitor_free(hl_monitor *monitor);

/* ---- Tuner -----------------------------------------------------------------------------------
 *
 *     hl_tuner *tuner;
 *     if (hl_tuner_new(NULL, &tuner, &error)) fail(error.msg);
 *     for (;;) {
 *       double pressure = NAN;                                    // unknown: the batch stays
 *       hl_pressure_read(HL_PRESSURE_AUTO, 0, &pressure, NULL);
 *       uint32_t batch_size = hl_tuner_adapt(tuner, pressure);    // after each batch
 *       ...
 *     }
 *
 * Halves the batch where memory is short and doubles it where it is plenty, and settles: a doubling
 * that had to be taken back is not tried again for a while, longer each time. */

typedef struct hl_tuner hl_tuner;

typedef struct hl_tuner_config {
  uint32_t size;
  uint32_t initial, least, most; /* batch sizes: 32, 1, 256 */
  uint32_t hold;                 /* adaptations until a doubling that failed is tried again; 8 */
  uint32_t padding;
  double high, low; /* pressure above which the batch is halved, below which doubled: 0.9, 0.5 */
} hl_tuner_config;

#define HL_TUNER_CONFIG                                                                            \
  { .size = sizeof(hl_tuner_config) }

/* `config` may be NULL. INVALID_ARGUMENT. */
HL_PUBLIC hl_status hl_tuner_new(const hl_tuner_config *config, hl_tuner **ret_tuner,
                                 hl_error *error);
HL_PUBLIC void hl_tuner_free(hl_tuner *tuner);

/* The batch size to use from now on; the pressure is that with the present one, NaN: unknown. One
 * thread at a time. */
HL_PUBLIC uint32_t hl_tuner_adapt(hl_tuner *tuner, double pressure);
/* The present batch did not fit: the one to use instead. */
HL_PUBLIC uint32_t hl_tuner_out_of_memory(hl_tuner *tuner);
HL_PUBLIC uint32_t hl_tuner_batch_size(const hl_tuner *tuner);

typedef enum hl_pressure_source {
  HL_PRESSURE_AUTO = 0,   /* the largest of those below that are known, but the device */
  HL_PRESSURE_CGROUP = 1, /* of the control groups' limit: share that cannot be had any more */
  HL_PRESSURE_SYSTEM = 2, /* 1 - MemAvailable / MemTotal */
  HL_PRESSURE_STALL = 3, /* PSI: nine times the share of the last 10 s in which something waited for
                            memory, at most 1: a tenth is as bad as 90 % in use */
  HL_PRESSURE_DEVICE = 4 /* of an NVIDIA GPU: memory in use / all, by NVML; takes milliseconds */
} hl_pressure_source;

/* How short memory is, 0 to 1. `device`: number of the GPU, for HL_PRESSURE_DEVICE. UNAVAILABLE
 * says why it is not known. */
HL_PUBLIC hl_status hl_pressure_read(hl_pressure_source source, int device, double *ret_pressure,
                                     hl_error *error);

/* ---- Settings --------------------------------------------------------------------------------
 *
 * What `hotlap tune` found best on this machine, from the file that it wrote:
 *
 *     hl_tuned tuned = {.size = sizeof tuned};
 *     if (hl_tuned_read("settings.json", "real_time", &tuned, &error)) fail(error.msg);
 *     serve(tuned.batch_size, tuned.threads);
 */

typedef struct hl_tuned {
  uint32_t size;
  uint32_t padding;
  int64_t batch_size, threads;
  int64_t preprocess_batch, reassemble_batch; /* of a pipeline; 0: it is none */
  /* What was measured with it; NaN: unknown. */
  double throughput_ips, throughput_low, throughput_high; /* images a second, 95 % interval */
  double latency_p50_ms, latency_p99_ms, memory_mb;
  char preset[64], engine[64], dtype[32], device[64], machine_id[64];
  char model[1024];
} hl_tuned;

/* Reads a preset; `preset` NULL: the first. `ret_tuned->size` is set by the caller. NOT_FOUND, IO;
 * BAD_DATA names what is wrong in the file; INVALID_ARGUMENT names the presets that there are;
 * LIMIT for a text that is longer than its field. Any thread. */
HL_PUBLIC hl_status hl_tuned_read(const char *path, const char *preset, hl_tuned *ret_tuned,
                                  hl_error *error);

#ifdef __cplusplus
}
#endif
#endif
