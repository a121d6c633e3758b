/*
 * hotlap/metric.h - metrics of your own: a shared object that computes numbers from a row.
 *
 *     // cost.c: cc -shared -fPIC cost.c -o cost.so $(pkg-config --cflags hotlap)
 *     #include <hotlap/metric.h>
 *     static int cost(const hl_custom_facts *row, double *value, char *reason, size_t bytes) {
 *       double ips = row->number(row, "throughput_ips");
 *       if (!(ips > 0)) return 1;                       // unknown: null in every output
 *       *value = 0.9 / 3600 / ips * 1e6;
 *       return 0;
 *     }
 *     static const hl_custom_metric metric = {.abi = HL_CUSTOM_ABI, .size = sizeof metric,
 *                                             .name = "usd_per_million", .unit = "USD",
 *                                             .better = HL_CUSTOM_LOWER,
 *                                             .doc = "cost of a million images at 0.9 USD an hour",
 *                                             .compute = cost};
 *     static const hl_custom_metric *const list[] = {&metric, NULL};
 *     __attribute__((visibility("default")))
 *     const hl_custom_metric *const *hl_custom_entry(void) { return list; }
 *
 *     hotlap sweep resnet50 --metric-plugin ./cost.so
 *
 * The object is opened and called in a process of its own, once for each row when its numbers are
 * final: what it does costs no time of a measurement, and where it crashes, exits or takes more
 * than ten seconds, its metrics of that row are null with that as the reason. It links nothing of
 * hotlap.
 *
 * Structs only grow at their end. `size` tells which members there are.
 */
#ifndef HOTLAP_METRIC_H
#define HOTLAP_METRIC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HL_CUSTOM_ABI 1u

/* Which values are better; NEITHER where that is no question. */
typedef enum hl_custom_better {
  HL_CUSTOM_NEITHER = 0,
  HL_CUSTOM_HIGHER = 1,
  HL_CUSTOM_LOWER = 2
} hl_custom_better;

/* An output of the network: what of it belongs to the first image, after the first step, as float32
 * in the network's order; valid during the call. */
typedef struct hl_custom_output {
  uint32_t size;          /* of this struct: the next is so many bytes on, see HL_CUSTOM_OUTPUT */
  uint32_t rank;          /* 0 where the shape is not known */
  const int64_t *dims;    /* `rank` of them, with a batch of 1; their product is `count` */
  const float *values;    /* of the engine */
  const float *reference; /* of the reference evaluator in double precision; NULL: not there */
  size_t count;           /* of values; 0: no part of it belongs to one image */
} hl_custom_output;

/* What is known of a row; valid during the call. */
typedef struct hl_custom_facts {
  uint32_t size; /* of this struct, in bytes */
  void *context; /* hotlap's own */
  /* A key of docs/metrics.md whose value is a number, in the unit of that page; NaN where it is
   * unknown, no number, or no key. true is 1. */
  double (*number)(const struct hl_custom_facts *row, const char *key);
  /* A key whose value is a text; NULL where it is unknown or no text. */
  const char *(*text)(const struct hl_custom_facts *row, const char *key);
  /* Durations of the measured full-batch steps in order, in nanoseconds; none of a row that failed.
   */
  const uint64_t *samples_ns;
  size_t sample_count;
  /* Of rows whose outputs are compared before anything is timed; none of others: --no-check,
   * training, memory, engines that give no outputs, rows that failed before. Ask HL_CUSTOM_HAS
   * first: a hotlap that is older does not have them. */
  const hl_custom_output *outputs;
  size_t output_count;
} hl_custom_facts;

/* Whether this hotlap has a member of the facts: HL_CUSTOM_HAS(row, output_count). */
#define HL_CUSTOM_HAS(row, member)                                                                 \
  ((row)->size >= offsetof(hl_custom_facts, member) + sizeof(row)->member)

/* Output number `index`, whatever the struct has grown to. */
#define HL_CUSTOM_OUTPUT(row, index)                                                               \
  ((const hl_custom_output *)(const void *)((const char *)(row)->outputs +                         \
                                            (size_t)(index) * (row)->outputs->size))

typedef struct hl_custom_metric {
  uint32_t abi;  /* HL_CUSTOM_ABI */
  uint32_t size; /* sizeof(hl_custom_metric) */
  /* Key in every output: 1 to 48 of a-z, 0-9 and _, beginning with a letter; no key of
   * docs/metrics.md. */
  const char *name;
  const char *unit; /* up to 31 bytes of UTF-8; "" or NULL: none */
  const char *doc;  /* one line of up to 255 bytes; NULL: none */
  int better;       /* hl_custom_better */
  /* 0 with a finite number in *value; else unknown, and `reason` may hold a terminated sentence of
   * at most `bytes` bytes that says why. */
  int (*compute)(const hl_custom_facts *row, double *value, char *reason, size_t bytes);
} hl_custom_metric;

/* The one symbol of the object, hl_custom_entry: its metrics, 32 at most, with NULL behind the
 * last.
 */
typedef const hl_custom_metric *const *(*hl_custom_entry_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
