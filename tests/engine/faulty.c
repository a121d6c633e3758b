/*
 * A plug-in that misbehaves as its option asks, at the hook named: fault=HOOK:KIND with HOOK one of
 * probe, load, prepare, submit and KIND one of segv, kill, hang, exit, garbage, oom, allocate,
 * unimplemented, chatty; fault=none:wrong and none:nan are outputs; `after=N` lets N steps pass
 * first; step_us=N sleeps in each step; only_batch=N leaves other batches alone;
 * fault=submit:allocate allocates (and touches) bytes_per_image for each image in `prepare`;
 * lock=FILE has memory only where no other process with the same FILE is prepared.
 *
 * With FAULTY_HANG=FILE in the environment, which holds "STEPS BATCH", a program of that batch
 * hangs after so many steps, once it has written "hangs" there.
 */
#include <hotlap/engine.h>

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

struct hl_engine {
  char hook[32], kind[32];
  long after, bytes_per_image, step_us, only_batch;
  char lock[256];
};
struct hl_model {
  hl_engine *engine;
};
struct hl_program {
  hl_engine *engine;
  void *memory;
  size_t bytes;
  long batch, hang_after;
};
struct hl_request {
  hl_program *program;
  long steps;
};

/* As any process would that waits for what does not come: until it is killed. */
static void hang(void) {
  for (;;) pause();
}

static hl_status fail(hl_error *error, hl_status status, const char *message) {
  if (!error) return status;
  error->status = status;
  error->sys_errno = 0;
  snprintf(error->msg, sizeof error->msg, "faulty: %s", message);
  return status;
}

/* Writes to every descriptor that is open for writing: the protocol's among them. */
static void write_garbage(void) {
  static const char garbage[] = "{\"id\": 1, \"ok\": maybe}\n\0\377 not a message\n";
  for (int fd = 1; fd < 64; fd++)
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) {
      ssize_t ignored = write(fd, garbage, sizeof garbage);
      (void)ignored;
    }
}

static hl_status misbehave(const hl_engine *engine, const char *hook, hl_error *error) {
  if (strcmp(engine->hook, hook) != 0) return HL_OK;
  const char *kind = engine->kind;
  if (strcmp(kind, "segv") == 0) {
    fputs("faulty: about to crash\n", stderr);
    raise(SIGSEGV);
  }
  if (strcmp(kind, "kill") == 0) raise(SIGKILL);
  if (strcmp(kind, "exit") == 0) _exit(3);
  if (strcmp(kind, "hang") == 0) hang();
  if (strcmp(kind, "garbage") == 0) write_garbage();
  if (strcmp(kind, "chatty") == 0) puts("I write to standard output"), fflush(stdout);
  if (strcmp(kind, "oom") == 0) return fail(error, HL_OUT_OF_MEMORY, "no memory, it says");
  if (strcmp(kind, "unimplemented") == 0)
    return fail(error, HL_UNIMPLEMENTED, "operator Frobnicate (node 'f1')");
  return HL_OK;
}

static const char *version(void) {
  return "faulty 1";
}

static hl_status probe(const hl_host *host, hl_error *error) {
  (void)host;
  const char *why = getenv("FAULTY_UNAVAILABLE");
  return why ? fail(error, HL_UNAVAILABLE, "not here; set FAULTY_UNAVAILABLE= to use it") : HL_OK;
}

static hl_status open_engine(const hl_host *host, const hl_engine_config *config,
                             hl_engine **ret_engine, hl_error *error) {
  (void)host;
  hl_engine *engine = calloc(1, sizeof *engine);
  if (!engine) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  for (size_t i = 0; i < config->option_count; i++) {
    const char *key = config->options[i].key, *value = config->options[i].value;
    if (strcmp(key, "fault") == 0)
      sscanf(value, "%31[^:]:%31s", engine->hook, engine->kind);
    else if (strcmp(key, "after") == 0)
      engine->after = atol(value);
    else if (strcmp(key, "only_batch") == 0)
      engine->only_batch = atol(value);
    else if (strcmp(key, "step_us") == 0)
      engine->step_us = atol(value);
    else if (strcmp(key, "lock") == 0)
      snprintf(engine->lock, sizeof engine->lock, "%s", value);
    else if (strcmp(key, "bytes_per_image") == 0)
      engine->bytes_per_image = atol(value);
    else {
      free(engine);
      return fail(error, HL_INVALID_ARGUMENT, "unknown option");
    }
  }
  *ret_engine = engine;
  return HL_OK;
}

static hl_status load(hl_engine *engine, const hl_model_source *source, hl_model **ret_model,
                      hl_error *error) {
  (void)source;
  hl_status status = misbehave(engine, "load", error);
  if (status != HL_OK) return status;
  hl_model *model = calloc(1, sizeof *model);
  if (!model) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  model->engine = engine;
  *ret_model = model;
  return HL_OK;
}

static hl_status describe(hl_model *model, hl_model_info *ret_info, hl_error *error) {
  (void)model, (void)error;
  *ret_info = (hl_model_info){.size = sizeof *ret_info};
  return HL_OK;
}

/* Kept until the process ends, as what it stands for. */
static hl_status take_lock(const hl_engine *engine, hl_error *error) {
  if (!engine->lock[0]) return HL_OK;
  int fd = open(engine->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return HL_OK;
  return fail(error, HL_OUT_OF_MEMORY, "no memory beside another");
}

/* After how many steps a program is to hang: read once, as reading takes memory. */
static long hang_after(long batch) {
  const char *path = getenv("FAULTY_HANG");
  FILE *file = path ? fopen(path, "r") : NULL;
  long steps = LONG_MAX, of_batch = 0;
  if (!file) return steps;
  bool told = fscanf(file, "%ld %ld", &steps, &of_batch) == 2 && of_batch == batch;
  fclose(file);
  return told ? steps : LONG_MAX;
}

static void hang_as_told(void) {
  FILE *file = fopen(getenv("FAULTY_HANG"), "w");
  if (file) {
    fputs("hangs", file);
    fclose(file);
  }
  hang();
}

static hl_status prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                         hl_error *error) {
  hl_status status = misbehave(model->engine, "prepare", error);
  if (status == HL_OK) status = take_lock(model->engine, error);
  if (status != HL_OK) return status;
  hl_program *program = calloc(1, sizeof *program);
  if (!program) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  program->engine = model->engine;
  program->batch = (long)spec->inputs[0].dims[0];
  program->hang_after = hang_after(program->batch);
  program->bytes = (size_t)spec->inputs[0].dims[0] * (size_t)model->engine->bytes_per_image;
  if (program->bytes) {
    program->memory =
        mmap(NULL, program->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (program->memory == MAP_FAILED) {
      free(program);
      return fail(error, HL_OUT_OF_MEMORY, "mmap failed");
    }
    memset(program->memory, 1, program->bytes);
  }
  *ret_program = program;
  return HL_OK;
}

static hl_status make_request(hl_program *program, hl_request **ret_request, hl_error *error) {
  hl_request *request = calloc(1, sizeof *request);
  if (!request) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  request->program = program;
  *ret_request = request;
  return HL_OK;
}

static hl_status bind(hl_request *request, size_t input, const hl_tensor_view *view,
                      hl_error *error) {
  (void)request, (void)input, (void)view, (void)error;
  return HL_OK;
}

static hl_status submit(hl_request *request, hl_error *error) {
  if (request->steps >= request->program->hang_after) hang_as_told();
  if (request->program->engine->step_us) usleep((unsigned)request->program->engine->step_us);
  if (request->steps++ < request->program->engine->after) return HL_OK;
  const hl_engine *engine = request->program->engine;
  if (engine->only_batch && engine->only_batch != request->program->batch) return HL_OK;
  return misbehave(engine, "submit", error);
}

static hl_status wait_done(hl_request *request, hl_error *error) {
  (void)request, (void)error;
  return HL_OK;
}

static hl_status output(hl_request *request, size_t index, hl_tensor_view *ret_view,
                        hl_error *error) {
  int nan = strcmp(request->program->engine->kind, "nan") == 0;
  if (!nan && strcmp(request->program->engine->kind, "wrong") != 0)
    return fail(error, HL_UNIMPLEMENTED, "no outputs");
  static float values[1024];
  values[7] = nan ? NAN : 0;
  (void)index;
  *ret_view = (hl_tensor_view){.name = "output",
                               .dtype = HL_FLOAT32,
                               .rank = 2,
                               .dims = {1, 1024},
                               .data = values,
                               .bytes = sizeof values};
  return HL_OK;
}

static void request_free(hl_request *request) {
  free(request);
}
static void program_free(hl_program *program) {
  if (program && program->bytes) munmap(program->memory, program->bytes);
  free(program);
}
static void model_free(hl_model *model) {
  free(model);
}
static void close_engine(hl_engine *engine) {
  free(engine);
}

__attribute__((visibility("default"))) const hl_engine_ops *hl_engine_entry(void);

const hl_engine_ops *hl_engine_entry(void) {
  static const hl_engine_ops ops = {.abi = HL_ENGINE_ABI,
                                    .size = sizeof(hl_engine_ops),
                                    .name = "faulty",
                                    .version = version,
                                    .probe = probe,
                                    .open = open_engine,
                                    .load = load,
                                    .describe = describe,
                                    .prepare = prepare,
                                    .request = make_request,
                                    .bind = bind,
                                    .submit = submit,
                                    .wait = wait_done,
                                    .output = output,
                                    .request_free = request_free,
                                    .program_free = program_free,
                                    .model_free = model_free,
                                    .close = close_engine};
  return &ops;
}
