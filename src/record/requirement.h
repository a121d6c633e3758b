/*
 * record/requirement.h - what is required of a row: "latency_p99_ms < 1 where batch_size = 1".
 *
 *     hl_requirement requirement;
 *     hl_status status = hl_requirement_parse("throughput_ips >= 1000", NULL, NULL, &requirement,
 * error); hl_requirement_judged judged = hl_requirement_judge(&requirement, &record);
 *     puts(hl_requirement_verdict_name(judged.verdict));
 *
 *     REQUIREMENT = METRIC (< | <= | > | >=) NUMBER [where CONDITION [and CONDITION]...]
 *     CONDITION   = METRIC (< | <= | > | >= | = | !=) VALUE
 *
 * METRIC is a key of metrics.def whose value is one number; of a condition, text too; or the name
 * of a metric of the user's own (record/custom.h). A metric that has an interval is judged by it,
 * so that no verdict rests on too few samples. Of a percentile of the latency whose interval is not
 * known the interval of a lower one tells that it is above: no step is needed that is not there.
 */
#ifndef HL_RECORD_REQUIREMENT_H
#define HL_RECORD_REQUIREMENT_H

#include "record/record.h"

enum {
  HL_REQUIREMENT_CONDITIONS = 4,
  HL_REQUIREMENT_VALUE_BYTES = 128,
  HL_REQUIREMENT_NAME_BYTES = 64
};

typedef enum hl_relation {
  HL_RELATION_LESS,
  HL_RELATION_AT_MOST,
  HL_RELATION_MORE,
  HL_RELATION_AT_LEAST,
  HL_RELATION_EQUAL,
  HL_RELATION_OTHER
} hl_relation;

typedef struct hl_requirement_part {
  const hl_metric *metric; /* NULL: `custom` */
  char custom[HL_REQUIREMENT_NAME_BYTES];
  hl_relation relation;
  double number; /* NaN: a text */
  char value[HL_REQUIREMENT_VALUE_BYTES];
} hl_requirement_part;

typedef struct hl_requirement {
  hl_requirement_part required;
  const hl_metric *interval; /* of the metric, or NULL */
  hl_requirement_part conditions[HL_REQUIREMENT_CONDITIONS];
  size_t condition_count;
} hl_requirement;

typedef enum hl_requirement_verdict {
  HL_REQUIREMENT_PASS,
  HL_REQUIREMENT_FAIL,
  HL_REQUIREMENT_UNSURE,   /* the limit lies in the interval */
  HL_REQUIREMENT_UNKNOWN,  /* no value, or no interval: too few samples */
  HL_REQUIREMENT_ELSEWHERE /* its conditions are not those of the row */
} hl_requirement_verdict;

typedef struct hl_requirement_judged {
  hl_requirement_verdict verdict;
  double value; /* NaN: unknown */
  hl_pair interval;
} hl_requirement_judged;

const char *hl_requirement_verdict_name(hl_requirement_verdict verdict); /* "PASS" ... */

/* Whether there is a metric of the user's own of that name. */
typedef bool (*hl_requirement_knows)(const void *context, const char *name);
/* For where any name may be one, as of a row that was measured before. */
bool hl_requirement_any(const void *context, const char *name);

/* `knows` NULL: metrics of hotlap only. INVALID_ARGUMENT names the part. */
hl_status hl_requirement_parse(const char *text, hl_requirement_knows knows, const void *context,
                               hl_requirement *ret_requirement, hl_error *error);
hl_requirement_judged hl_requirement_judge(const hl_requirement *requirement,
                                           const hl_record *record);

/* Writes what applies to the row into `requirements`, and whether all of it holds. */
hl_status hl_record_require(hl_record *record, const char *const *texts, size_t count,
                            hl_error *error);

#endif
