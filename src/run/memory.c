#include "run/memory.h"

#include "record/memory-map-json.h"
#include "run/row-internal.h"
#include <math.h>

/* More than this share of the plan is told of. */
static const double told_share = 0.05;
enum { STEPS = 2 };

static double mb(uint64_t bytes) {
  return (double)bytes / 1e6;
}

/* -- the map ----------------------------------------------------------------------------------- */

static void fill_sums(const hl_memory_sums *s, bool training, hl_record *r) {
  r->plan_peak_mb = mb(s->peak_bytes);
  r->weights_mb = mb(s->at_peak[HL_ALLOCATION_WEIGHT]);
  r->activations_mb = mb(s->at_peak[HL_ALLOCATION_ACTIVATION]);
  r->workspace_mb = mb(s->at_peak[HL_ALLOCATION_WORKSPACE]);
  r->outputs_mb = mb(s->at_peak[HL_ALLOCATION_INPUT_OUTPUT]);
  r->workspace_most_mb = mb(s->most[HL_ALLOCATION_WORKSPACE]);
  r->arena_mb = mb(s->arena_bytes);
  r->arena_gap_mb = mb(s->gap_bytes);
  double *phases[HL_PHASE_COUNT] = {&r->forward_peak_mb, &r->loss_peak_mb, &r->backward_peak_mb,
                                    &r->optimizer_peak_mb};
  for (int p = 0; p < HL_PHASE_COUNT; p++)
    if (s->has_phase[p]) *phases[p] = mb(s->phase_peak[p]);
  if (!training) return;
  r->optimizer_state_mb = mb(s->at_peak[HL_ALLOCATION_OPTIMIZER]);
  r->saved_mb = mb(s->at_peak[HL_ALLOCATION_SAVED]);
  r->gradients_mb = mb(s->at_peak[HL_ALLOCATION_GRADIENT]);
  r->activation_gradients_mb = mb(s->at_peak[HL_ALLOCATION_ACTIVATION_GRADIENT]);
  r->saved_most_mb = mb(s->most[HL_ALLOCATION_SAVED]);
  r->gradients_most_mb = mb(s->most[HL_ALLOCATION_GRADIENT]);
}

static hl_status take_map(hl_row *row, hl_error *error) {
  hl_message reply;
  hl_session *session = &row->session;
  hl_status status =
      hl_process_call(&session->process, "allocations", NULL, session->setup_s, &reply, error);
  if (status != HL_OK) return status;
  if (!hl_json_get_bool(reply.object, "known", false)) {
    char reason[160];
    snprintf(reason, sizeof reason,
             "engine %s does not tell what its memory is for; native does: --engine native",
             row->configuration->engine);
    hl_record_set_text(&row->record->memory_reason, reason);
    hl_message_release(&reply);
    return HL_OK;
  }
  hl_memory_sums sums;
  status = hl_memory_map_parse(reply.bytes, reply.byte_count, &row->record->memory_map, error);
  if (status == HL_OK) status = hl_memory_map_sum(row->record->memory_map, &sums, error);
  if (status == HL_OK) fill_sums(&sums, row->configuration->train != NULL, row->record);
  hl_message_release(&reply);
  return status;
}

/* -- what is measured -------------------------------------------------------------------------- */

/* ", heap 2.1", if it is known. */
static void append_part(hl_text *out, const char *name, double bytes) {
  if (!isnan(bytes)) hl_text_format(out, "%s%s %+.1f", out->length ? ", " : "", name, bytes / 1e6);
}

void hl_memory_explain(const hl_memory_measured *m, double planned, hl_text *out) {
  if (planned > 0 && !(fabs(m->resident - planned) > told_share * planned)) return;
  append_part(out, "libraries", m->library);
  append_part(out, "heap", m->heap);
  append_part(out, "compiled code", m->code);
  append_part(out, "files", m->file);
  append_part(out, "other", m->other);
  double engine = m->allocated - planned;
  if (fabs(engine) > told_share * planned / 5) append_part(out, "the engine's own account", engine);
}

/* Why there is no account, added to why there is no map. */
static void add_reason(hl_record *r, const char *reason) {
  if (!reason || !r->memory_reason) return;
  HL_CLEANUP(hl_free_pointer)
  char *both = hl_format("%s. %s: what is measured is resident memory", r->memory_reason, reason);
  if (both) hl_record_set_text(&r->memory_reason, both);
}

/* Of the reply of the verb `memory`. */
static hl_memory_measured measured_of(const json_t *o) {
  bool known = hl_json_get_bool(o, "engine_known", false);
  hl_memory_measured m = {.resident = hl_json_get_real(o, "resident_bytes", 0) -
                                      hl_json_get_real(o, "baseline_bytes", 0),
                          .allocated = known ? hl_json_get_real(o, "engine_allocated_bytes", 0)
                                             : (double)NAN,
                          .library = hl_json_get_real(o, "library_growth_bytes", (double)NAN),
                          .file = hl_json_get_real(o, "file_growth_bytes", (double)NAN),
                          .code = hl_json_get_real(o, "code_growth_bytes", (double)NAN),
                          .heap = hl_json_get_real(o, "heap_growth_bytes", (double)NAN)};
  double rest = hl_json_get_real(o, "private_growth_bytes", (double)NAN);
  /* The two counts are a moment apart; the parts add up to this one. */
  if (!isnan(rest)) m.resident = m.library + m.file + m.code + rest;
  m.other = rest - (known ? m.allocated : 0) - (isnan(m.heap) ? 0 : m.heap);
  return m;
}

static hl_status fill_measured(hl_row *row, hl_error *error) {
  hl_message reply;
  hl_record *r = row->record;
  hl_status status = hl_process_call(&row->session.process, "memory", NULL, 20, &reply, error);
  if (status != HL_OK) return status;
  hl_memory_measured m = measured_of(reply.object);
  add_reason(r, hl_json_get_text(reply.object, "engine_reason", NULL));
  if (!isnan(m.allocated)) {
    r->allocated_mb = m.allocated / 1e6;
    r->reserved_mb = hl_json_get_real(reply.object, "engine_reserved_bytes", 0) / 1e6;
  }
  r->resident_mb = m.resident / 1e6;
  r->resident_library_mb = m.library / 1e6;
  r->resident_heap_mb = m.heap / 1e6;
  r->resident_code_mb = m.code / 1e6;
  r->resident_file_mb = m.file / 1e6;
  r->resident_other_mb = m.other / 1e6;
  double planned = r->planned_memory_mb * 1e6;
  if (planned > 0) {
    r->plan_error_percent = (m.resident / planned - 1) * 100;
    r->named_percent = (planned + m.library + m.heap + m.code + m.file) / m.resident * 100;
  }
  hl_text text = HL_TEXT_INIT;
  hl_memory_explain(&m, planned, &text);
  if (text.length) hl_record_set_text(&r->plan_difference, text.data);
  hl_text_release(&text);
  hl_message_release(&reply);
  return HL_OK;
}

static hl_status run_steps(hl_row *row, hl_error *error) {
  hl_session *session = &row->session;
  if (!row->configuration->train) {
    const hl_session_request some = {
        .max_samples = STEPS, .max_ns = UINT64_MAX, .group = 1, .restart = true};
    hl_session_samples samples = {0};
    hl_status status = hl_session_run(session, &some, &samples, error);
    hl_session_samples_release(&samples);
    return status;
  }
  hl_message reply;
  json_t *members = json_pack("{s:i}", "max_steps", STEPS);
  hl_status status = hl_process_call(&session->process, "train", members,
                                     STEPS * session->step_timeout_s, &reply, error);
  if (status == HL_OK) hl_message_release(&reply);
  return status;
}

hl_status hl_row_memory(hl_row *row, hl_error *error) {
  const hl_row_context *context = row->context;
  hl_status status =
      hl_session_open(context, row->configuration, &row->session, row->record, error);
  row->bad_input = hl__row_is_bad_input(status);
  if (status != HL_OK) return status;
  hl__row_phase(context, "loading");
  status = hl_session_load(&row->session, context, row->record, error);
  if (status == HL_OK) status = take_map(row, error);
  hl__row_phase(context, "preparing");
  if (status == HL_OK) status = hl_session_prepare(&row->session, row->record, error);
  hl__row_phase(context, "running");
  if (status == HL_OK) status = run_steps(row, error);
  if (status == HL_OK) status = fill_measured(row, error);
  return status == HL_OK ? hl_session_fill_peak(&row->session, row->record, error) : status;
}
