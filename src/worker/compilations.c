#include "worker/compilations.h"

#include "protocol/channel.h"

static bool look(const hl_worker_compilations *c, hl_compilations *ret) {
  *ret = (hl_compilations){.size = sizeof *ret};
  return c->ops->compilations && c->ops->compilations(c->engine, ret, NULL) == HL_OK;
}

hl_worker_compilations hl_worker_compilations_begin(const hl_engine_ops *ops, hl_engine *engine) {
  hl_worker_compilations c = {.ops = ops, .engine = engine};
  c.known = look(&c, &c.before);
  return c;
}

void hl_worker_compilations_end(const hl_worker_compilations *before, json_t *reply) {
  hl_compilations now;
  if (!before->known || !look(before, &now)) return;
  hl_json_set_int(reply, "compilations", now.count - before->before.count);
  hl_json_set_int(reply, "compilations_ns", now.duration_ns - before->before.duration_ns);
}
