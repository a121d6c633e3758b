/* How training scales over ranks: rows of several numbers of ranks side by side. */
#include "report/number.h"
#include "report/report.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is kept while ranks are added: the batch of each, or that of all together. */
typedef enum scaling { WEAK, STRONG } scaling;

static bool is_member(const hl_record *r) {
  return hl_workload_is_training(r->workload) && hl_record_passed(r) && r->trainer &&
         strcmp(r->trainer, "ddp") == 0 && r->ranks > 0 && r->throughput_ips > 0;
}

static int64_t batch_of(const hl_record *r, scaling kind) {
  return kind == WEAK ? r->batch_size : r->joint_batch_size;
}

static bool same_group(const hl_record *a, const hl_record *b, scaling kind) {
  return is_member(b) && hl_text_same(a->entry, b->entry) && hl_text_same(a->model, b->model) &&
         hl_text_same(a->engine, b->engine) && hl_text_same(a->dtype, b->dtype) &&
         batch_of(a, kind) == batch_of(b, kind) && a->threads * b->ranks == b->threads * a->ranks;
}

/* The row of the group with the fewest ranks; NULL where all have as many, or `of` is not the first
 * of its group. */
static const hl_record *baseline_of(const hl_records *records, const hl_record *of, scaling kind) {
  const hl_record *least = of;
  bool differ = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!same_group(of, r, kind)) continue;
    if (r < of) return NULL;
    differ = differ || r->ranks != of->ranks;
    if (r->ranks < least->ranks) least = r;
  }
  return differ ? least : NULL;
}

static void put(hl_text *out, double value, int width) {
  char text[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_number(value, "-", text), -width);
}

static void put_int(hl_text *out, int64_t value, int width) {
  char text[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_int(value, "-", text), -width);
}

static void append_row(const hl_record *r, const hl_record *least, hl_text *out) {
  double speedup = r->throughput_ips / least->throughput_ips;
  double efficiency = 100 * speedup * (double)least->ranks / (double)r->ranks;
  hl_text_append(out, "  ");
  put_int(out, r->ranks, 5);
  put_int(out, r->threads, 8);
  put_int(out, r->joint_batch_size, 7);
  put(out, r->throughput_ips, 11);
  put(out, speedup, 10);
  put(out, efficiency, 14);
  put(out, r->reduce_overlapped_ms, 15);
  put(out, r->reduce_exposed_ms, 12);
  put(out, r->rank_wait_ms, 10);
  hl_text_char(out, '\n');
}

static void append_group(const hl_records *records, const hl_record *least, scaling kind,
                         hl_text *out) {
  hl_text_format(out, "\nscaling, %s, %s, %s: ", least->model ? least->model : "?",
                 least->engine ? least->engine : "?", least->dtype ? least->dtype : "?");
  if (kind == WEAK)
    hl_text_format(out, "weak, each rank has a batch of %" PRId64, least->batch_size);
  else
    hl_text_format(out, "strong, all ranks share a batch of %" PRId64, least->joint_batch_size);
  int64_t each = least->threads / least->ranks;
  hl_text_format(out, " and %" PRId64 " thread%s\n", each, each == 1 ? "" : "s");
  hl_text_append(out, "  ranks threads  batch  samples/s  speed-up  efficiency %  overlapped ms  "
                      "exposed ms   wait ms\n");
  for (size_t i = 0; i < records->count; i++)
    if (same_group(least, &records->items[i], kind)) append_row(&records->items[i], least, out);
}

void hl_report_scaling(const hl_records *records, hl_text *out) {
  bool any = false;
  for (int k = WEAK; k <= STRONG; k++)
    for (size_t i = 0; i < records->count; i++) {
      const hl_record *r = &records->items[i];
      const hl_record *least = is_member(r) ? baseline_of(records, r, (scaling)k) : NULL;
      if (least) append_group(records, least, (scaling)k, out);
      any = any || least;
    }
  if (any)
    hl_text_append(out,
                   "  speed-up: samples/s against the fewest ranks; efficiency: that, divided by "
                   "how many times as\n  many ranks there are. Of the reduction of gradients: "
                   "while backward went on, and with nothing\n  else done; wait: for the other "
                   "ranks at the step's end. All of rank 0, mean of a step.\n");
}
