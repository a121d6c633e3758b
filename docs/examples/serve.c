/*
 * A service's loop with libhotlap: the batch that `hotlap tune` found best, a log of every
 * inference, and a batch that follows the memory there is. docs/monitoring.md says what each does.
 *
 *     cc -std=c17 serve.c $(pkg-config --cflags --libs hotlap) -o serve
 *     ./serve settings.json inference.jsonl 200
 *     hotlap monitor inference.jsonl
 */
#define _POSIX_C_SOURCE 200809L
#include <hotlap/hotlap.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* In the place of your network. */
static void infer(uint32_t batch_size) {
  nanosleep(&(struct timespec){.tv_nsec = 20000 * (long)batch_size}, NULL);
}

/* Called in the monitor's thread. */
static void on_event(void *context, const hl_monitor_event *event) {
  (void)context;
  fprintf(stderr, "%s\n", event->message);
}

static int fail(const hl_error *error) {
  fprintf(stderr, "serve: %s\n", error->msg);
  return EXIT_FAILURE;
}

int main(int count, char **words) {
  if (count != 4) return fputs("usage: serve SETTINGS.json LOG.jsonl BATCHES\n", stderr), 2;
  hl_error error = {0};
  hl_tuned tuned = {.size = sizeof tuned};
  if (hl_tuned_read(words[1], NULL, &tuned, &error)) return fail(&error); /* its first preset */

  hl_tuner_config tuning = HL_TUNER_CONFIG;
  tuning.initial = (uint32_t)tuned.batch_size;
  tuning.most = tuning.initial; /* more would not be faster */
  hl_tuner *tuner = NULL;
  if (hl_tuner_new(&tuning, &tuner, &error)) return fail(&error);

  hl_monitor_config logging = HL_MONITOR_CONFIG;
  logging.path = words[2];
  logging.on_event = on_event;
  hl_monitor *monitor = NULL;
  if (hl_monitor_new(&logging, &monitor, &error)) {
    hl_tuner_free(tuner);
    return fail(&error);
  }

  for (long left = strtol(words[3], NULL, 10); left > 0; left--) {
    const uint32_t batch_size = hl_tuner_batch_size(tuner);
    const double begun = seconds();
    infer(batch_size);
    hl_monitor_log_inference(monitor, batch_size, seconds() - begun, NAN); /* memory: not known */
    double pressure = NAN;
    hl_pressure_read(HL_PRESSURE_AUTO, 0, &pressure, NULL);
    hl_tuner_adapt(tuner, pressure);
  }

  hl_monitor_stats stats = {.size = sizeof stats};
  hl_monitor_flush(monitor, NULL);
  hl_monitor_get_stats(monitor, &stats);
  printf("%llu batches logged, %llu slow; expected were %.1f images/s\n",
         (unsigned long long)stats.written, (unsigned long long)stats.slow, tuned.throughput_ips);
  hl_monitor_free(monitor);
  hl_tuner_free(tuner);
  return EXIT_SUCCESS;
}
