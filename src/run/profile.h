/*
 * run/profile.h - a configuration profiled by a worker: where the time of its steps goes.
 *
 *     hl_profile_request request = {.configuration = &c, .max_steps = 100, .max_s = 5, ...};
 *     hl_profile *profile;
 *     status = hl_profile_run(&environment, &request, &profile, error);
 *     ... profile->complete, profile->reason ...
 *     hl_profile_free(profile);
 */
#ifndef HL_RUN_PROFILE_H
#define HL_RUN_PROFILE_H

#include "record/profile.h"
#include "run/run.h"

typedef struct hl_profile_request {
  const hl_configuration *configuration;
  int64_t max_steps; /* ends after so many profiled steps, */
  double max_s;      /* or after the one in which this is over */
  int64_t warmup;    /* steps before */
  bool compares;     /* with steps that are not profiled, by turns: the profile's `overhead` */
  double setup_s;    /* for configuring, loading and preparing, each */
  double step_s;     /* what all steps may take beyond max_s before they are given up */
} hl_profile_request;

/* `ret_profile` is there whatever happens, but without memory (then NULL); after a failure it is
 * not `complete`, has what was recorded before, and its reason is the error's message. */
hl_status hl_profile_run(const hl_run_environment *environment, const hl_profile_request *request,
                         hl_profile **ret_profile, hl_error *error);

/* Sets the limits of the roofline for the profile's type, as measured here or behind the launcher
 * (NULL: here); nothing where they cannot be measured. */
void hl_profile_measure_limits(const hl_run_environment *environment, const hl_launcher *launcher,
                               hl_profile *profile);

#endif
