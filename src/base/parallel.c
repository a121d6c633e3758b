#include "base/parallel.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct share {
  void (*work)(void *context, int part, int parts);
  void *context;
  int part, parts;
  pthread_t thread;
  bool started;
} share;

static void *enter(void *argument) {
  share *s = argument;
  s->work(s->context, s->part, s->parts);
  return NULL;
}

void hl_parallel(int parts, void (*work)(void *context, int part, int parts), void *context) {
  if (parts > HL_PARALLEL_MAX) parts = HL_PARALLEL_MAX;
  if (parts < 1) parts = 1;
  share shares[HL_PARALLEL_MAX];
  for (int i = 0; i < parts; i++)
    shares[i] = (share){.work = work, .context = context, .part = i, .parts = parts};
  for (int i = 1; i < parts; i++)
    shares[i].started = pthread_create(&shares[i].thread, NULL, enter, &shares[i]) == 0;
  work(context, 0, parts);
  for (int i = 1; i < parts; i++)
    if (shares[i].started)
      pthread_join(shares[i].thread, NULL);
    else
      work(context, i, parts);
}
