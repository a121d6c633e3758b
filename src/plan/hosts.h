/*
 * plan/hosts.h - machines that measure the same plan side by side: --hosts, or `hosts` of a plan.
 *
 *     hl_plan_host hosts[HL_HOSTS];
 *     size_t count;
 *     hl_status status = hl_hosts_read(&options, &arena, hosts, &count, error);
 */
#ifndef HL_PLAN_HOSTS_H
#define HL_PLAN_HOSTS_H

#include "base/arena.h"
#include "plan/options.h"

enum { HL_HOSTS = 32, HL_HOST_NAME = 64 };

typedef struct hl_plan_host {
  const char *name;     /* letters, digits and ".-_@", for lines and a directory */
  const char *launcher; /* of --launcher; NULL: this machine */
} hl_plan_host;

/* Every --hosts given: "a,b" are `ssh a` and `ssh b`, "local" is this machine, "gpu=srun -N1" is
 * one with a launcher of its own ("none": this machine). 0 where none is. INVALID_ARGUMENT for a
 * name that is none or is there twice, and for "a=X,b=Y", which may be one launcher or two; LIMIT.
 */
hl_status hl_hosts_read(const hl_options *options, hl_arena *arena,
                        hl_plan_host ret_hosts[HL_HOSTS], size_t *ret_count, hl_error *error);

#endif
