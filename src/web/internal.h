/*
 * web/internal.h - what the parts of the dashboard share (inside src/web only).
 */
#ifndef HL_WEB_INTERNAL_H
#define HL_WEB_INTERNAL_H

#include "base/text.h"
#include "store/store.h"
#include "web/listen.h"
#include "web/mhd.h"
#include "web/monitor-view.h"
#include "web/target.h"
#include "web/web.h"
#include <sys/stat.h>

enum {
  HL__WEB_CLIENTS = 2048,         /* connections */
  HL__WEB_CLIENTS_OF_ONE = 1200,  /* of one address */
  HL__WEB_HEADERS = 8 << 10,      /* bytes of a request */
  HL__WEB_REQUEST = 20 << 10,     /* and with what MHD keeps of it, 64 bytes of each header and
                                     cookie, and the cookies again: what a connection costs, also
                                     an idle one. A hundred cookies fit; of so many that they do
                                     not, MHD 0.9.75 hangs up without a word */
  HL__WEB_STREAMS = 64,           /* connections that follow events */
  HL__WEB_STREAM_BYTES = 1 << 18, /* that a slow one may leave untaken */
  HL__WEB_PAGE_BYTES = 32 << 20,
  HL__WEB_RUN_ROWS = 500, /* of a run that is shown as a report, or compared */
  HL__WEB_QUERY_MS = 3000 /* of one request in the store */
};

typedef struct hl__web hl__web;
typedef struct hl__web_client hl__web_client;

/* What a stream of events tells of. */
typedef enum hl__web_topic { HL__WEB_RUNS, HL__WEB_RUN, HL__WEB_MONITOR } hl__web_topic;

typedef struct hl__web_answer {
  unsigned status;   /* of HTTP */
  const char *type;  /* a constant, as all texts without an owner here */
  const char *cache; /* NULL: no-store */
  hl_text body;
  const void *fixed; /* in place of `body`: bytes of the program itself */
  size_t fixed_bytes;
  char *location, *cookie, *file; /* of a redirection; to be set; to be saved as; owned or NULL */
  bool stream;                    /* a stream of events instead */
  hl__web_topic topic;
  char *run; /* of HL__WEB_RUN; owned */
} hl__web_answer;

/* A connection. It waits for a whole request, answers it, or follows events. */
struct hl__web_client {
  hl__web *web;
  hl__web_client *next, **back;
  struct MHD_Connection *connection;
  int fd;
  enum { HL__WEB_WAITING, HL__WEB_ANSWERING, HL__WEB_STREAMING } state;
  uint64_t since_ns;     /* of that state */
  const char *broken;    /* why the target is no good; NULL: it is good */
  bool is_long;          /* the target: more than HL_WEB_URI */
  hl_web_target *target; /* of a request; NULL between two */
  /* Of a stream. */
  hl__web_topic topic;
  char *run;
  int64_t seen, seen_count; /* the last row told of, and how many there were */
  size_t told;              /* rows at once */
  bool behind;              /* more rows are there than were told */
  char state_told[16];
  uint64_t told_ns, version; /* when something was told, and of which change */
  hl_text pending;
  size_t taken; /* of `pending` */
  bool suspended, ended;
};

struct hl__web {
  const hl_web_config *config;
  const hl_web_mhd *mhd;
  struct MHD_Daemon *daemon;
  hl__web_place place;
  char host[256]; /* this machine's name, in small letters */
  char session[65], cookie[32];
  hl__web_client *clients;
  size_t client_count, stream_count;
  uint64_t requests;
  /* The store, and which file it is. */
  hl_store *store;
  struct stat file;
  /* The monitor's log, where there is one. */
  hl_log_reader *log;
  hl_summary *summary;
  uint64_t log_version; /* grows when something was read */
  bool log_behind;      /* more of it is there already */
  uint64_t version;     /* grows with each change that was seen */
  int64_t data_version;
};

/* ---- client.c: connections ---- */
void hl__web_client_notify(void *web, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode code);
/* It may ask again. */
void hl__web_client_rest(hl__web_client *client);
/* Of a connection. */
hl__web_client *hl__web_client_of(hl__web *web, struct MHD_Connection *connection);
/* Ends the connections that have kept it waiting for too long. */
void hl__web_clients_sweep(hl__web *web, uint64_t now_ns);

/* ---- events.c: streams ---- */
/* Makes the client follow what the answer says; MHD's response for it, NULL without memory. */
struct MHD_Response *hl__web_stream_begin(hl__web_client *client, const hl__web_answer *answer);
/* Looks for what is new and tells those who follow. */
void hl__web_streams_tell(hl__web *web, uint64_t now_ns);
void hl__web_streams_end(hl__web *web);

/* ---- gate.c: who may ask ---- */
/* Whether the request may be answered; else the answer says why not. */
bool hl__web_admit(hl__web *web, struct MHD_Connection *connection, const char *method,
                   const hl_web_target *target, hl__web_answer *ret_answer);

/* ---- answer.c ---- */
void hl__web_answer_release(hl__web_answer *answer);
/* A page with one sentence. */
void hl__web_refuse(hl__web_answer *ret_answer, unsigned status, const char *sentence);
/* Sends it; the answer is empty then. */
enum MHD_Result hl__web_send(hl__web_client *client, hl__web_answer *answer);

/* ---- store.c ---- */
/* The store, opened again where it is another file now. UNAVAILABLE: it cannot be read. */
hl_status hl__web_store(hl__web *web, hl_store **ret_store, hl_error *error);
void hl__web_store_close(hl__web *web);

/* ---- monitor.c: the log of a monitor ---- */
hl_status hl__web_monitor_begin(hl__web *web, hl_error *error);
/* Reads what is new, for some milliseconds at most. */
void hl__web_monitor_read(hl__web *web);
void hl__web_monitor_end(hl__web *web);
hl_web_monitor hl__web_monitor_view(hl__web *web);

/* ---- routes.c ---- */
/* Answers what is asked for; an error becomes a page. */
void hl__web_route(hl__web *web, const hl_web_target *target, hl__web_answer *ret_answer);

typedef hl_status hl__web_page(hl__web *web, const hl_web_target *target, hl__web_answer *answer,
                               hl_error *error);
hl__web_page hl__web_api_runs, hl__web_api_run, hl__web_metrics, hl__web_health, hl__web_login,
    hl__web_runs_events, hl__web_run_events, hl__web_page_runs, hl__web_page_run,
    hl__web_page_history, hl__web_api_history, hl__web_asset, hl__web_page_compare,
    hl__web_api_compare, hl__web_page_monitor, hl__web_api_monitor, hl__web_monitor_events;

/* The page of a run that goes on. */
hl_status hl__web_page_live(hl__web *web, hl_store *store, const char *id,
                            const hl_store_standing *standing, hl__web_answer *answer,
                            hl_error *error);

#endif
