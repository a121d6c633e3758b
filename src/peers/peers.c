#include "peers/peers.h"

#include "base/text.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hl_peers {
  const hl_transport_ops *ops;
  int64_t rank, count;
  hl_peer *members;
  int64_t *statuses; /* room for one of each */
};

static hl_status meet(hl_peers *p, hl_error *error) {
  hl_peer me = {.pid = getpid()};
  hl_status status = p->ops->join(&p->rank, &p->count, error);
  if (status != HL_OK) return status;
  p->members = calloc((size_t)p->count, sizeof *p->members);
  p->statuses = calloc((size_t)p->count, sizeof *p->statuses);
  if (!p->members || !p->statuses)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the ranks");
  if (gethostname(me.host, sizeof me.host - 1) != 0) snprintf(me.host, sizeof me.host, "?");
  return p->ops->gather(&me, sizeof me, p->members, error);
}

hl_status hl_peers_join_by(const hl_transport_ops *ops, hl_peers **ret_peers, hl_error *error) {
  if (ops->abi != HL_TRANSPORT_ABI || ops->size < sizeof *ops)
    return hl_error_set(error, HL_UNAVAILABLE, "the transport is of another version of hotlap");
  hl_peers *p = calloc(1, sizeof *p);
  if (!p) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the ranks");
  p->ops = ops;
  hl_status status = meet(p, error);
  if (status == HL_OK)
    *ret_peers = p;
  else
    hl_peers_free(p);
  return status;
}

hl_status hl_peers_join(const char *path, hl_peers **ret_peers, hl_error *error) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return hl_error_set(error, HL_UNAVAILABLE, "cannot open %s", dlerror());
  void *symbol = dlsym(object, "hl_transport_entry");
  if (!symbol) return hl_error_set(error, HL_UNAVAILABLE, "%s exports no hl_transport_entry", path);
  hl_transport_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function pointer */
  return hl_peers_join_by(entry(), ret_peers, error);
}

void hl_peers_free(hl_peers *peers) {
  if (!peers) return;
  free(peers->members);
  free(peers->statuses);
  free(peers);
}

int64_t hl_peers_rank(const hl_peers *peers) {
  return peers->rank;
}

int64_t hl_peers_count(const hl_peers *peers) {
  return peers->count;
}

const hl_peer *hl_peers_member(const hl_peers *peers, int64_t rank) {
  return &peers->members[rank];
}

const hl_transport_ops *hl_peers_ops(const hl_peers *peers) {
  return peers->ops;
}

hl_status hl_peers_tell(hl_peers *peers, char **text, hl_error *error) {
  bool speaks = peers->rank == 0;
  uint64_t length = speaks ? strlen(*text) : 0;
  hl_status status = peers->ops->broadcast(&length, sizeof length, error);
  if (status != HL_OK) return status;
  if (!speaks) *text = malloc((size_t)length + 1);
  if (!*text) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a message");
  (*text)[length] = '\0';
  return peers->ops->broadcast(*text, (size_t)length, error);
}

hl_status hl_peers_gather(hl_peers *peers, const void *mine, size_t bytes, void *ret_all,
                          hl_error *error) {
  return peers->ops->gather(mine, bytes, ret_all, error);
}

/* The first rank with a failure of its own, or the first with any; -1: all are fine. */
static int64_t first_failure(const hl_peers *p) {
  int64_t any = -1;
  for (int64_t r = 0; r < p->count; r++) {
    if (p->statuses[r] == HL_OK) continue;
    if (p->statuses[r] != HL_INTERRUPTED) return r;
    if (any < 0) any = r;
  }
  return any;
}

static bool all_say_the_same(const hl_peers *p, const hl_error *all) {
  for (int64_t r = 1; r < p->count; r++)
    if (p->statuses[r] != p->statuses[0] || strcmp(all[r].msg, all[0].msg) != 0) return false;
  return true;
}

hl_status hl_peers_agree(hl_peers *peers, hl_status status, hl_error *error) {
  hl_peers *p = peers;
  int64_t mine = status;
  hl_status sent = p->ops->gather(&mine, sizeof mine, p->statuses, error);
  if (sent != HL_OK) return sent;
  int64_t failed = first_failure(p);
  if (failed < 0) return HL_OK;
  hl_error own = {0}, *all = calloc((size_t)p->count, sizeof *all);
  if (!all) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the ranks");
  if (error && status != HL_OK) own = *error;
  sent = p->ops->gather(&own, sizeof own, all, error);
  if (sent == HL_OK) {
    const hl_peer *member = &p->members[failed];
    status = (hl_status)p->statuses[failed];
    for (int64_t r = 0; r < p->count; r++) all[r].msg[sizeof all[r].msg - 1] = '\0';
    if (!all_say_the_same(p, all))
      hl_error_set(error, status, "rank %" PRId64 " (process %" PRId64 " on %s): %.380s", failed,
                   member->pid, member->host, all[failed].msg);
    else
      hl_error_set(error, status, "%s", all[failed].msg);
  }
  free(all);
  return sent == HL_OK ? status : sent;
}
