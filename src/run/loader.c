#include "run/loader.h"

#include "base/text.h"
#include "plan/train-spec.h"
#include "protocol/channel.h"
#include <inttypes.h>
#include <math.h>

static const double waiting_share = 0.05; /* beyond it the loader is the bottleneck */

/* Where threads have time enough for the work and steps wait all the same, they do not run. */
static void advise_loader(const hl_record *r, hl_text *out) {
  long long needed = (long long)r->loader_threads_needed, given = (long long)r->loader_threads;
  if (r->loader_threads_needed == HL_INT_NULL || needed == 0) return;
  if (needed > HL_TRAIN_LOADERS_LIMIT)
    hl_text_format(out,
                   "; the work for a batch is %.3g ms, too much for %d threads: give data that is "
                   "quicker to read",
                   r->data_work_ms, HL_TRAIN_LOADERS_LIMIT);
  else if (needed > given)
    hl_text_format(out, "; --loader-threads %lld would end it, if each has a core of its own",
                   needed);
  else if (given == 1)
    hl_text_format(out,
                   "; the work for a batch is %.3g ms, for which 1 thread is enough where it has a "
                   "core of its own: give fewer --threads, or end other programs",
                   r->data_work_ms);
  else
    hl_text_format(
        out,
        "; the work for a batch is %.3g ms, for which %lld threads are enough where each "
        "has a core of its own: give fewer --threads, or end other programs",
        r->data_work_ms, given);
}

void hl_loader_judge(hl_record *record) {
  hl_record *r = record;
  hl_text text = HL_TEXT_INIT;
  if (isnan(r->data_wait_percent)) return;
  bool waits = r->data_wait_percent > 100 * waiting_share;
  hl_text_format(&text, "%s: %.3g %% of the time is waiting for data",
                 waits ? "the bottleneck" : "not the bottleneck", r->data_wait_percent);
  if (waits) advise_loader(r, &text);
  hl_record_set_text(&r->data_verdict, text.data);
  hl_text_release(&text);
}

void hl_loader_describe(const json_t *reply, const hl_configuration *configuration,
                        hl_record *record) {
  int64_t pictures = hl_json_get_int(reply, "pictures", 0);
  double ns = hl_json_get_real(reply, "picture_ns", 0);
  if (pictures < 1 || configuration->train) return;
  if (ns > 0) record->data_throughput_ips = (double)pictures * 1e9 / ns;
  record->decode_psnr_db = hl_json_get_real(reply, "decode_psnr_db", (double)NAN);
}

static void fill(const json_t *reply, const hl_configuration *c, hl_record *r) {
  double images = hl_json_get_real(reply, "images", 0), steps = hl_json_get_real(reply, "steps", 0);
  double elapsed = hl_json_get_real(reply, "elapsed_ns", 0);
  if (!(steps >= 1 && elapsed > 0)) return;
  r->loader_threads = c->loader_threads;
  r->fed_throughput_ips = images * 1e9 / elapsed;
  r->data_wait_ms = hl_json_get_real(reply, "wait_ns", 0) / 1e6;
  r->data_wait_percent = 100 * hl_json_get_real(reply, "wait_ns", 0) / elapsed;
  r->data_work_ms = hl_json_get_real(reply, "work_ns", 0) / steps / 1e6;
  r->loader_threads_needed = hl_json_get_int(reply, "loader_threads_needed", HL_INT_NULL);
  hl_loader_judge(r);
}

hl_status hl_session_feed(hl_session *session, hl_record *record, double max_time_s,
                          hl_error *error) {
  static const double most_s = 1, part_of_row = 0.1;
  const hl_configuration *c = session->configuration;
  if (session->pictures < 1 || c->simulated) return HL_OK; /* no time passes in simulated steps */
  double budget_s = fmin(most_s, part_of_row * max_time_s);
  json_t *members = json_pack("{s:I,s:I}", "threads", (json_int_t)c->loader_threads, "max_ns",
                              (json_int_t)(budget_s * 1e9));
  hl_message reply;
  /* Loading three batches may take as long as loading them all did before. */
  double timeout_s = session->setup_s + 3 * session->step_timeout_s;
  hl_status status = hl_process_call(&session->process, "feed", members, timeout_s, &reply, error);
  if (status != HL_OK) return status;
  const char *reason = hl_json_get_text(reply.object, "reason", NULL);
  if (reason)
    hl_record_note(record, "not run with pictures that are loaded meanwhile: %s", reason);
  else
    fill(reply.object, c, record);
  hl_message_release(&reply);
  return HL_OK;
}
