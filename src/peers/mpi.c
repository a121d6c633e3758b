/* The transport of MPI: a shared object of its own, built where there is an MPI to build with. */
#include "peers/transport.h"

#include "base/clock.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_per_sum = 1 << 30, warning_tag = 1, cache_line = 64 };

/* Messages of control and sums never wait for each other. */
static MPI_Comm control, sums, node;
static int my_rank, rank_count;
static MPI_Request *pending;
static size_t pending_count, pending_capacity;

static hl_status check(int code, const char *what, hl_error *error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return HL_OK;
  MPI_Error_string(code, text, &length);
  return hl_error_set(error, HL_IO, "MPI cannot %s: %.300s", what, text);
}

static hl_status finish(MPI_Request *request, const char *what, hl_error *error) {
  uint64_t start = hl_clock_ns();
  for (;;) {
    int done = 0;
    hl_status status = check(MPI_Test(request, &done, MPI_STATUS_IGNORE), what, error);
    if (status != HL_OK || done) return status;
    hl_clock_pause_since(start);
  }
}

static hl_status join(int64_t *ret_rank, int64_t *ret_count, hl_error *error) {
  int provided = 0;
  hl_status status =
      check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "start", error);
  if (status != HL_OK) return status;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  status = check(MPI_Comm_dup(MPI_COMM_WORLD, &control), "make a communicator", error);
  if (status == HL_OK)
    status = check(MPI_Comm_dup(MPI_COMM_WORLD, &sums), "make a communicator", error);
  *ret_rank = my_rank;
  *ret_count = rank_count;
  return status;
}

static const char *version(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, ",\n")] = '\0'; /* "Open MPI v4.1.4, package: ..." */
  return text;
}

static hl_status broadcast(void *bytes, size_t count, hl_error *error) {
  MPI_Request request;
  if (count > most_per_sum)
    return hl_error_set(error, HL_LIMIT, "a message of %zu bytes is too long", count);
  hl_status status =
      check(MPI_Ibcast(bytes, (int)count, MPI_BYTE, 0, control, &request), "broadcast", error);
  return status == HL_OK ? finish(&request, "broadcast", error) : status;
}

static hl_status gather(const void *mine, size_t bytes, void *ret_all, hl_error *error) {
  MPI_Request request;
  if (bytes > most_per_sum)
    return hl_error_set(error, HL_LIMIT, "a message of %zu bytes is too long", bytes);
  hl_status status = check(
      MPI_Iallgather(mine, (int)bytes, MPI_BYTE, ret_all, (int)bytes, MPI_BYTE, control, &request),
      "gather", error);
  return status == HL_OK ? finish(&request, "gather", error) : status;
}

static hl_status sum_begin(float *values, size_t count, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t at = 0; at < count && status == HL_OK; at += most_per_sum) {
    size_t some = count - at < most_per_sum ? count - at : most_per_sum;
    if (pending_count == pending_capacity) {
      size_t capacity = pending_capacity ? 2 * pending_capacity : 64;
      MPI_Request *more = realloc(pending, capacity * sizeof *more);
      if (!more) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for sums");
      pending = more;
      pending_capacity = capacity;
    }
    status = check(MPI_Iallreduce(MPI_IN_PLACE, values + at, (int)some, MPI_FLOAT, MPI_SUM, sums,
                                  &pending[pending_count]),
                   "sum up gradients", error);
    if (status == HL_OK) pending_count++;
  }
  return status;
}

static hl_status sum_test(bool *ret_done, hl_error *error) {
  int done = 1;
  *ret_done = true;
  if (pending_count == 0) return HL_OK;
  hl_status status = check(MPI_Testall((int)pending_count, pending, &done, MPI_STATUSES_IGNORE),
                           "sum up gradients", error);
  if (done) pending_count = 0;
  *ret_done = done;
  return status;
}

static hl_status warn(hl_error *error) {
  static char nothing;
  hl_status status = HL_OK;
  for (int rank = 0; rank < rank_count && status == HL_OK; rank++) {
    MPI_Request request;
    if (rank == my_rank) continue;
    status = check(MPI_Isend(&nothing, 1, MPI_BYTE, rank, warning_tag, control, &request),
                   "tell of a failure", error);
    if (status == HL_OK) MPI_Request_free(&request);
  }
  return status;
}

static hl_status warned(bool *ret_warned, hl_error *error) {
  int found = 0;
  hl_status status =
      check(MPI_Iprobe(MPI_ANY_SOURCE, warning_tag, control, &found, MPI_STATUS_IGNORE),
            "ask for failures", error);
  *ret_warned = found;
  return status;
}

static hl_status share(size_t bytes, void **ret_memory, hl_error *error) {
  MPI_Win window;
  MPI_Aint size = 0;
  int unit = 0, count = 0;
  void *own = NULL;
  hl_status status = check(
      MPI_Comm_split_type(control, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "split", error);
  if (status != HL_OK) return status;
  MPI_Comm_size(node, &count);
  if (count != rank_count)
    return hl_error_set(error, HL_UNAVAILABLE, "the ranks are on several hosts");
  MPI_Aint whole = my_rank == 0 ? (MPI_Aint)(bytes + cache_line - 1) : 0;
  status = check(MPI_Win_allocate_shared(whole, 1, MPI_INFO_NULL, node, &own, &window),
                 "share memory", error);
  if (status == HL_OK)
    status =
        check(MPI_Win_shared_query(window, 0, &size, &unit, ret_memory), "share memory", error);
  if (status != HL_OK) return status;
  /* A mapping begins with a page, so that this is the same place for each rank. */
  *ret_memory = (char *)*ret_memory + -(uintptr_t)*ret_memory % cache_line;
  if (my_rank == 0) memset(*ret_memory, 0, bytes);
  char mine = 0, *all = malloc((size_t)rank_count);
  status = all ? gather(&mine, 1, all, error)
               : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the ranks");
  free(all);
  return status;
}

__attribute__((visibility("default"))) const hl_transport_ops *hl_transport_entry(void);

const hl_transport_ops *hl_transport_entry(void) {
  static const hl_transport_ops ops = {.abi = HL_TRANSPORT_ABI,
                                       .size = sizeof ops,
                                       .join = join,
                                       .version = version,
                                       .broadcast = broadcast,
                                       .gather = gather,
                                       .sum_begin = sum_begin,
                                       .sum_test = sum_test,
                                       .warn = warn,
                                       .warned = warned,
                                       .share = share};
  return &ops;
}
