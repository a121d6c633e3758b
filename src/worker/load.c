#include "worker/load.h"

#include "base/clock.h"
#include "worker/compilations.h"
#include <stdlib.h>
#include <string.h>

static uint64_t get_count(const json_t *request, const char *key) {
  int64_t value = hl_json_get_int(request, key, 0);
  return value < 0 ? UINT64_MAX : (uint64_t)value;
}

static uint32_t get_small(const json_t *request, const char *key) {
  uint64_t value = get_count(request, key);
  return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static hl_status read_request(const json_t *message, hl_load_request *ret_request,
                              hl_error *error) {
  const char *name = hl_json_get_text(message, "scenario", "");
  *ret_request = (hl_load_request){.qps = hl_json_get_real(message, "qps", 0),
                                   .min_queries = get_count(message, "min_queries"),
                                   .min_ns = get_count(message, "min_ns"),
                                   .max_ns = get_count(message, "max_ns"),
                                   .samples_per_query = get_small(message, "samples_per_query"),
                                   .instances = get_small(message, "instances"),
                                   .max_batch = get_small(message, "max_batch"),
                                   .timeout_ns = get_count(message, "timeout_ns"),
                                   .seed = get_count(message, "seed")};
  if (hl_load_scenario_from_name(name, &ret_request->scenario)) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "load: no scenario '%s'", name);
}

static hl_status make_ready(hl_worker_load *load, const hl_inference *inference,
                            const hl_load_request *request, json_t *reply, hl_error *error) {
  if (load->is_ready && load->instances == request->instances &&
      load->max_batch == request->max_batch)
    return HL_OK;
  if (load->is_ready) hl_load_inference_release(&load->server);
  load->is_ready = false;
  uint64_t start = hl_clock_ns();
  hl_status status = hl_load_inference_init(inference, request->instances, request->max_batch,
                                            &load->server, error);
  if (status != HL_OK) return status;
  hl_json_set_int(reply, "prepare_ns", hl_clock_ns() - start);
  load->is_ready = true;
  load->instances = request->instances;
  load->max_batch = request->max_batch;
  return HL_OK;
}

static hl_status pack(const hl_load_result *r, json_t *reply, void **ret_bytes,
                      size_t *ret_byte_count, hl_error *error) {
  size_t words = r->latency_count + (size_t)HL_LOAD_PARTS * HL_HISTOGRAM_BUCKETS;
  uint64_t *bytes = malloc(words * sizeof *bytes), *to = bytes;
  if (!bytes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for latencies");
  if (r->latency_count) memcpy(to, r->latencies, r->latency_count * sizeof *to);
  to += r->latency_count;
  for (size_t i = 0; i < HL_LOAD_PARTS; i++, to += HL_HISTOGRAM_BUCKETS) {
    const hl_histogram *h = &r->parts[i];
    memcpy(to, h->buckets, HL_HISTOGRAM_BUCKETS * sizeof *to);
    json_t *facts = json_object();
    hl_json_set_int(facts, "min", h->count ? h->min : 0);
    hl_json_set_int(facts, "max", h->max);
    hl_json_set_real(facts, "sum", h->sum);
    if (json_object_set_new(reply, hl_load_part_name((hl_load_part)i), facts) != 0) {
      free(bytes);
      return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a reply");
    }
  }
  hl_json_set_int(reply, "queries", r->queries);
  hl_json_set_int(reply, "unserved", r->unserved);
  hl_json_set_int(reply, "batches", r->batches);
  hl_json_set_int(reply, "duration_ns", r->duration_ns);
  hl_json_set_int(reply, "arrivals_ns", r->arrivals_ns);
  hl_json_set_int(reply, "behind_ns", r->behind_ns);
  hl_json_set_int(reply, "serve_ns", r->serve_ns);
  hl_json_set_int(reply, "latency_count", r->latency_count);
  *ret_bytes = bytes;
  *ret_byte_count = words * sizeof *bytes;
  return HL_OK;
}

hl_status hl_worker_load_run(hl_worker_load *load, const hl_inference *inference,
                             hl_worker_noise *noise, hl_worker_energy *energy,
                             const json_t *request, json_t *reply, void **ret_bytes,
                             size_t *ret_byte_count, hl_error *error) {
  hl_load_request wanted;
  hl_load_result result;
  hl_status status = read_request(request, &wanted, error);
  if (status == HL_OK) status = make_ready(load, inference, &wanted, reply, error);
  if (status != HL_OK) return status;
  hl_worker_noise_prepare(noise);
  const hl_worker_compilations before =
      hl_worker_compilations_begin(&inference->ops, inference->engine);
  hl_worker_energy_begin(energy);
  hl_worker_noise_begin(noise);
  status = hl_load_run(&load->server.server, &wanted, &result, error);
  hl_worker_noise_end(noise);
  hl_worker_energy_end(energy, reply);
  hl_worker_compilations_end(&before, reply);
  if (status != HL_OK) return status;
  status = hl_worker_noise_clock(noise, NULL, 0, reply, error);
  if (status != HL_OK) {
    hl_load_result_release(&result);
    return status;
  }
  hl_worker_noise_report(noise, result.duration_ns, reply);
  status = pack(&result, reply, ret_bytes, ret_byte_count, error);
  hl_load_result_release(&result);
  return status;
}
