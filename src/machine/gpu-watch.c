#include "machine/gpu-watch.h"

#include "base/clock.h"
#include "base/text.h"
#include "machine/nvml.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const long period_ns = 100000000;

struct hl_gpu_watch {
  hl_cuda *cuda;
  hl_nvml *nvml; /* NULL: what only it knows stays unknown */
  int ordinals[HL_GPU_MOST];
  unsigned indices[HL_GPU_MOST]; /* of the management library */
  size_t count;
  char *name;
  pid_t pid;
  bool started, stop;
  pthread_t thread;
  pthread_mutex_t lock; /* for all below */
  pthread_cond_t wake;
  uint64_t baseline_bytes, bytes, peak_bytes;
  bool of_process;
  double idle_w;
  /* of the slice */
  uint64_t begin_ns, begin_mj, reasons;
  double clock_sum, temperature_c;
  unsigned clock_count;
  bool reasons_known;
};

/* The devices as one: sums, but for the clock (a mean) and the temperature (the highest). */
static hl_gpu_sample look(const hl_gpu_watch *w) {
  hl_gpu_sample all = {.process_known = true, .reasons_known = true};
  all.temperature_c = (double)-INFINITY;
  for (size_t i = 0; i < w->count; i++) {
    hl_gpu_sample s;
    hl_nvml_sample(w->nvml, w->indices[i], w->pid, &s);
    all.process_known = all.process_known && s.process_known;
    all.reasons_known = all.reasons_known && s.reasons_known;
    all.reasons |= s.reasons;
    all.process_bytes += s.process_bytes;
    bool known = all.used_bytes != UINT64_MAX && s.used_bytes != UINT64_MAX;
    all.used_bytes = known ? all.used_bytes + s.used_bytes : UINT64_MAX;
    known = all.energy_mj != UINT64_MAX && s.energy_mj != UINT64_MAX;
    all.energy_mj = known ? all.energy_mj + s.energy_mj : UINT64_MAX;
    all.power_w += s.power_w;
    all.sm_clock_mhz += s.sm_clock_mhz / (double)w->count;
    all.temperature_c = fmax(all.temperature_c, s.temperature_c);
  }
  return all;
}

static void take_memory(hl_gpu_watch *w, const hl_gpu_sample *s) {
  w->bytes = UINT64_MAX;
  w->of_process = s->process_known;
  if (s->process_known)
    w->bytes = s->process_bytes;
  else if (s->used_bytes != UINT64_MAX && w->baseline_bytes != UINT64_MAX)
    w->bytes = s->used_bytes > w->baseline_bytes ? s->used_bytes - w->baseline_bytes : 0;
  if (w->bytes != UINT64_MAX && (w->peak_bytes == UINT64_MAX || w->bytes > w->peak_bytes))
    w->peak_bytes = w->bytes;
}

/* Called with the lock held. */
static hl_gpu_sample take(hl_gpu_watch *w) {
  hl_gpu_sample s = look(w);
  take_memory(w, &s);
  if (isfinite(s.sm_clock_mhz)) {
    w->clock_sum += s.sm_clock_mhz;
    w->clock_count++;
  }
  if (isfinite(s.temperature_c)) w->temperature_c = fmax(w->temperature_c, s.temperature_c);
  w->reasons |= s.reasons;
  w->reasons_known = w->reasons_known || s.reasons_known;
  return s;
}

static void *sample_all(void *context) {
  hl_gpu_watch *w = context;
  pthread_mutex_lock(&w->lock);
  while (!w->stop) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += period_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&w->wake, &w->lock, &until);
    if (!w->stop) take(w);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* "2 x A" where all have one name, else "A + B". */
static hl_status make_name(hl_gpu_watch *w, char (*names)[96], hl_error *error) {
  hl_text text = HL_TEXT_INIT;
  bool same = true;
  for (size_t i = 1; i < w->count; i++) same = same && strcmp(names[i], names[0]) == 0;
  if (same && w->count > 1) hl_text_format(&text, "%zu x ", w->count);
  for (size_t i = 0; i < (same ? 1 : w->count); i++)
    hl_text_format(&text, "%s%s", i ? " + " : "", names[i]);
  w->name = hl_text_take(&text);
  return w->name ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a name");
}

/* The management library's numbers of CUDA's devices; without them it is of no use. */
static void open_nvml(hl_gpu_watch *w, hl_cuda_device *devices) {
  if (hl_nvml_open(NULL, &w->nvml, NULL) != HL_OK) return;
  for (size_t i = 0; i < w->count; i++) {
    hl_status status = devices[i].bus_id[0]
                           ? hl_nvml_find(w->nvml, devices[i].bus_id, &w->indices[i], NULL)
                           : HL_NOT_FOUND;
    if (status == HL_OK) continue;
    hl_nvml_close(w->nvml);
    w->nvml = NULL;
    return;
  }
}

static hl_status open_devices(hl_gpu_watch *w, hl_error *error) {
  hl_cuda_device devices[HL_GPU_MOST] = {0};
  char names[HL_GPU_MOST][96] = {0};
  hl_status status = hl_cuda_open(NULL, &w->cuda, error);
  for (size_t i = 0; i < w->count && status == HL_OK; i++) {
    status = hl_cuda_describe(w->cuda, w->ordinals[i], &devices[i], error);
    if (status == HL_OK) memcpy(names[i], devices[i].name, sizeof names[i]);
  }
  if (status == HL_OK) status = make_name(w, names, error);
  if (status == HL_OK) open_nvml(w, devices);
  return status;
}

hl_status hl_gpu_watch_open(const int *ordinals, size_t count, hl_gpu_watch **ret_watch,
                            hl_error *error) {
  if (count < 1 || count > HL_GPU_MOST)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "%zu GPUs; 1 to %d can be watched", count,
                        HL_GPU_MOST);
  hl_gpu_watch *w = calloc(1, sizeof *w);
  if (!w) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to watch a GPU");
  memcpy(w->ordinals, ordinals, count * sizeof *ordinals);
  w->count = count;
  w->pid = getpid();
  w->baseline_bytes = w->bytes = w->peak_bytes = UINT64_MAX;
  w->idle_w = (double)NAN;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->wake, NULL);
  hl_status status = open_devices(w, error);
  if (status != HL_OK) {
    hl_gpu_watch_close(w);
    return status;
  }
  *ret_watch = w;
  return HL_OK;
}

void hl_gpu_watch_close(hl_gpu_watch *watch) {
  hl_gpu_watch *w = watch;
  if (!w) return;
  if (w->started) {
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
  }
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->lock);
  hl_nvml_close(w->nvml);
  hl_cuda_close(w->cuda);
  free(w->name);
  free(w);
}

const char *hl_gpu_watch_name(const hl_gpu_watch *watch) {
  return watch->name;
}

hl_cuda *hl_gpu_watch_cuda(hl_gpu_watch *watch) {
  return watch->cuda;
}

double hl_gpu_watch_idle_w(const hl_gpu_watch *watch) {
  return watch->idle_w;
}

/* Memory in use by CUDA's own word, for want of the management library; from one thread. */
static uint64_t used_by_cuda(hl_gpu_watch *w) {
  uint64_t all = 0;
  for (size_t i = 0; i < w->count; i++) {
    uint64_t bytes;
    if (hl_cuda_used_bytes(w->cuda, w->ordinals[i], &bytes, NULL) != HL_OK) return UINT64_MAX;
    all += bytes;
  }
  return all;
}

void hl_gpu_watch_start(hl_gpu_watch *watch) {
  hl_gpu_watch *w = watch;
  if (w->started) return;
  if (!w->nvml) {
    w->baseline_bytes = used_by_cuda(w);
    return;
  }
  hl_gpu_sample s = look(w);
  w->baseline_bytes = s.used_bytes;
  w->idle_w = s.power_w;
  w->started = pthread_create(&w->thread, NULL, sample_all, w) == 0;
}

void hl_gpu_watch_begin(hl_gpu_watch *watch) {
  hl_gpu_watch *w = watch;
  if (w->nvml) {
    pthread_mutex_lock(&w->lock);
    hl_gpu_sample s = take(w);
    w->begin_mj = s.energy_mj;
    w->reasons = 0; /* what held the clocks down before is not of this slice */
    w->reasons_known = false;
    w->clock_sum = 0;
    w->clock_count = 0;
    w->temperature_c = s.temperature_c;
    pthread_mutex_unlock(&w->lock);
  }
  w->begin_ns = hl_clock_ns();
}

void hl_gpu_watch_end(hl_gpu_watch *watch, hl_gpu_slice *ret_slice) {
  hl_gpu_watch *w = watch;
  hl_gpu_slice slice = {.seconds = (double)(hl_clock_ns() - w->begin_ns) / 1e9};
  slice.energy_j = slice.clock_mhz = slice.temperature_c = (double)NAN;
  if (w->nvml) {
    pthread_mutex_lock(&w->lock);
    hl_gpu_sample s = take(w);
    bool counted = s.energy_mj != UINT64_MAX && s.energy_mj >= w->begin_mj;
    if (counted) slice.energy_j = (double)(s.energy_mj - w->begin_mj) / 1000;
    if (w->clock_count) slice.clock_mhz = w->clock_sum / w->clock_count;
    if (isfinite(w->temperature_c)) slice.temperature_c = w->temperature_c;
    slice.reasons = w->reasons;
    slice.reasons_known = w->reasons_known;
    pthread_mutex_unlock(&w->lock);
  }
  *ret_slice = slice;
}

void hl_gpu_watch_memory(hl_gpu_watch *watch, hl_gpu_memory *ret_memory) {
  hl_gpu_watch *w = watch;
  pthread_mutex_lock(&w->lock);
  if (w->nvml) {
    hl_gpu_sample s = look(w);
    take_memory(w, &s);
  } else {
    hl_gpu_sample s = {.used_bytes = used_by_cuda(w)};
    take_memory(w, &s);
  }
  *ret_memory = (hl_gpu_memory){w->bytes, w->peak_bytes, w->of_process};
  pthread_mutex_unlock(&w->lock);
}
