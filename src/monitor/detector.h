/*
 * monitor/detector.h - when inference has got slow: a pure state machine over single inferences.
 *
 *     hl_detector *detector;
 *     if ((status = hl_detector_new(&(hl_detector_rules){0}, &detector, error))) return status;
 *     for (...) {
 *       hl_detector_answer answer = hl_detector_add(detector, &record);
 *       for (size_t i = 0; i < answer.count; i++) tell(&answer.events[i]);
 *     }
 *     hl_detector_free(detector);
 *
 * Inferences are judged against those of the same batch size, since a last batch that is not full
 * is slower in its own right; the HL_DETECTOR_SERIES sizes that were used last are known.
 *
 * Slow is an inference whose throughput is below `drop` times the median of the last `window`,
 * itself among them; the first HL_DETECTOR_LEAST are not judged. `persist` slow ones in succession
 * are a degradation: the median is then held, so that what is slow does not become the norm, until
 * as many in succession are no longer slow (recovered), or `window` have passed, which are then the
 * norm.
 *
 * Changes of level that are smaller, or begin slowly, show in medians of HL_DETECTOR_BLOCK
 * inferences. A two-sided CUSUM of their logarithms against the first HL_DETECTOR_REFERENCE blocks
 * (E. S. Page, Continuous Inspection Schemes, 1954) is the gate, for it costs nothing; a step fit
 * (statistics/step-fit.h) over the last HL_DETECTOR_BLOCKS blocks, which knows of noise that
 * drifts, has to find a step of at least `change` there before it is one, and says where it lies.
 *
 * Memory is bounded by the rules. One thread.
 */
#ifndef HL_MONITOR_DETECTOR_H
#define HL_MONITOR_DETECTOR_H

#include "monitor/ring.h"

enum {
  HL_DETECTOR_SERIES = 16,
  HL_DETECTOR_LEAST = 20,
  HL_DETECTOR_BLOCK = 16,
  HL_DETECTOR_REFERENCE = 24,
  HL_DETECTOR_BLOCKS = 128,
  HL_DETECTOR_WINDOW_MOST = 10000
};

typedef struct hl_detector_rules {
  uint32_t window;  /* 0: 100; HL_DETECTOR_LEAST to HL_DETECTOR_WINDOW_MOST */
  uint32_t persist; /* 0: 5; at most `window` */
  double drop;      /* 0: 0.8; below 1 */
  double change;    /* 0: 0.05 (5 %); below 0: changes are not looked for; below 1 */
} hl_detector_rules;

typedef enum hl_detector_kind {
  HL_DETECTED_DEGRADED,  /* `persist` slow ones in succession */
  HL_DETECTED_RECOVERED, /* as many that are not slow any more */
  HL_DETECTED_CHANGE,    /* another level, up or down */
  HL_DETECTED_SETTLED    /* what was a degradation is the norm now */
} hl_detector_kind;
const char *hl_detector_kind_name(hl_detector_kind kind); /* "degraded", ... */

typedef struct hl_detector_event {
  hl_detector_kind kind;
  uint32_t batch_size;
  uint64_t time_ns;  /* of the inference with which it was seen */
  uint64_t since_ns; /* of the first inference of it */
  double throughput; /* images a second: median of `persist`, or of the new level */
  double baseline;   /* what it was before */
  bool degraded;     /* whether this batch size is degraded now */
} hl_detector_event;

typedef struct hl_detector_answer {
  double slow; /* throughput by the median where it is slow, else NaN */
  size_t count;
  hl_detector_event events[2];
} hl_detector_answer;

typedef struct hl_detector hl_detector;
/* INVALID_ARGUMENT names the rule. */
hl_status hl_detector_new(const hl_detector_rules *rules, hl_detector **ret_detector,
                          hl_error *error);
void hl_detector_free(hl_detector *detector);

/* Judges the next inference; its batch size and time are above 0. Allocates where a batch size is
 * new; without memory for that it is not judged. */
hl_detector_answer hl_detector_add(hl_detector *detector, const hl_inference *record);

#endif
