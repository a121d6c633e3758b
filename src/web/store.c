#include "web/internal.h"

void hl__web_store_close(hl__web *web) {
  hl_store_free(web->store);
  web->store = NULL;
}

/* Whether it is the file that is open, in the state in which it is read. */
static bool is_same(const hl_store *store, const struct stat *a, const struct stat *b) {
  bool same = a->st_dev == b->st_dev && a->st_ino == b->st_ino;
  if (!hl_store_is_fixed(store)) return same;
  return same && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

hl_status hl__web_store(hl__web *web, hl_store **ret_store, hl_error *error) {
  const char *path = web->config->store;
  struct stat now = {0};
  bool there = stat(path, &now) == 0;
  if (web->store && (!there || !is_same(web->store, &now, &web->file))) {
    hl__web_store_close(web);
    web->version++;
  }
  if (!web->store) {
    hl_error inner = {0};
    hl_status status = hl_store_open(path, HL_STORE_WATCH, &web->store, &inner);
    if (status != HL_OK) {
      web->store = NULL;
      return hl_error_set(error, status == HL_OUT_OF_MEMORY ? status : HL_UNAVAILABLE, "%s",
                          inner.msg);
    }
    web->file = now; /* as before it was opened: replaced meanwhile, it is opened again */
    web->data_version = 0;
  }
  hl_store_time_limit(web->store, HL__WEB_QUERY_MS);
  *ret_store = web->store;
  return HL_OK;
}
