/*
 * monitor/tuner.h - the state machine behind hl_tuner (hotlap/hotlap.h), without memory of its own.
 *
 *     hl_tuner_state tuner;
 *     if ((status = hl_tuner_init(&tuner, &config, error))) return status;
 *     uint32_t batch_size = hl_tuner_step(&tuner, pressure);
 *
 * The rule: above `high` the batch is halved, below `low` doubled. Alone it oscillates: with a
 * pressure of 0.48 at a batch of 32 and 0.95 at 64 it would go up and down for ever. Hence
 *
 *   - a doubling that had to be taken back is not tried again for `hold` observations, and for
 *     twice as many each time it happens, up to HL_TUNER_HOLD_MOST; nor after that while the
 *     pressure to be expected there, the one that was met less what the pressure here has fallen
 *     since, is above `high`. What was met is forgotten after HL_TUNER_FORGET holds;
 *   - it does not double where the pressure that the last doubling foretells is above 0.95: the
 *     next adds twice as much, and a quarter more, since memory may grow faster than the batch.
 *     The first doubling has no evidence: it goes by the rule alone.
 */
#ifndef HL_MONITOR_TUNER_H
#define HL_MONITOR_TUNER_H

#include <hotlap/hotlap.h>

enum { HL_TUNER_SIZES = 32, HL_TUNER_HOLD_MOST = 4096, HL_TUNER_FORGET = 16 };

/* What is known of a batch size, by its logarithm. */
typedef struct hl_tuner_size {
  double added;        /* pressure that a doubling to it has added; NaN: none was seen */
  double before, met;  /* pressure before a doubling to it, and the one that took it back; NaN */
  uint64_t taken_back; /* observation at which it was; 0: never */
  uint64_t hold;       /* observations for which it is not tried again */
} hl_tuner_size;

typedef struct hl_tuner_state {
  hl_tuner_config config;
  uint32_t batch_size;
  uint64_t observations;
  bool is_trial; /* the batch was doubled, and has been seen too seldom since to be trusted */
  uint64_t trial_start;
  hl_tuner_size sizes[HL_TUNER_SIZES];
} hl_tuner_state;

hl_status hl_tuner_init(hl_tuner_state *tuner, const hl_tuner_config *config, hl_error *error);
uint32_t hl_tuner_step(hl_tuner_state *tuner, double pressure);
uint32_t hl_tuner_step_out_of_memory(hl_tuner_state *tuner);

#endif
