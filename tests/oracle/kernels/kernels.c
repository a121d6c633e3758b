/*
 * kernels - random networks on the native engine against the reference functions.
 *
 *     kernels --isa auto|avx512|avx2|baseline [--dtype float32|bfloat16|int8] [--cases N]
 *             [--seconds S] [--first N] [--only N] [--verbose] [--expect KIND]...
 *
 * Case number N is the same network on every machine: its family, its shapes, whether it is
 * compared in inference, with its gradients (weights that change) or in a step of training, the
 * engine's threads and options. Cases from --first (0) on: --cases of them (400), or until
 * --seconds are over. One that fails is tried with two other draws of its numbers; what fails with
 * each is printed with its number, to be repeated with --only. --expect: fails unless a step of
 * that kind was among those that ran, so that a kernel is not left out unseen; --verbose prints how
 * often each was. Exit status 77 where the processor lacks what --isa or --dtype needs, 2 for
 * arguments that are none, 1 also where no case ran.
 */
#include "cases.h"
#include "run.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DRAWS = 3, MOST_KINDS = 256, MOST_EXPECTED = 32 };

typedef enum mode { INFERENCE, GRADIENTS, TRAINING, MODES } mode;

typedef hl_value_id (*family)(maker *m);

typedef struct arguments {
  const char *isa;
  hl_dtype dtype;
  bool quantized, verbose;
  long cases, first, only;
  double seconds;
  const char *expected[MOST_EXPECTED];
  size_t expected_count;
} arguments;

static const struct {
  const char *name;
  family make;
  int weight;
  bool learns; /* has weights to train */
} families[] = {
    {"convolution", case_convolution, 6, true},
    {"winograd", case_winograd, 4, true},
    {"transposed", case_transposed, 3, true},
    {"head", case_head, 4, true},
    {"generator", case_generator, 3, true},
    {"product", case_product, 5, true},
    {"matmul", case_matmul, 3, false},
    {"attention", case_attention, 3, false},
    {"pool", case_pool, 3, false},
    {"norm", case_norm, 3, true},
    {"reduce", case_reduce, 2, false},
    {"elements", case_elements, 2, false},
    {"move", case_move, 3, false},
    {"chain", case_picture_chain, 4, true},
};

typedef struct tally {
  long ran[MODES], skipped, failed;
  double worst[MODES];
  long worst_case[MODES];
} tally;

static struct {
  const char *kind;
  long count;
} kinds[MOST_KINDS];
static size_t kind_count;

static void count_kind(const char *kind) {
  for (size_t i = 0; i < kind_count; i++)
    if (strcmp(kinds[i].kind, kind) == 0) {
      kinds[i].count++;
      return;
    }
  char *copy = strdup(kind);
  if (!copy || kind_count == MOST_KINDS) {
    free(copy);
    return;
  }
  kinds[kind_count].kind = copy;
  kinds[kind_count++].count = 1;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* -- one case -------------------------------------------------------------------------------- */

static size_t choose_family(hl_random *random) {
  int total = 0;
  for (size_t i = 0; i < HL_COUNT(families); i++) total += families[i].weight;
  int at = (int)hl_random_below(random, (uint64_t)total);
  for (size_t i = 0;; i++)
    if ((at -= families[i].weight) < 0) return i;
}

static mode choose_mode(hl_random *random, const arguments *a, bool learns) {
  if (a->quantized) return INFERENCE;
  uint64_t dice = hl_random_below(random, 10);
  return dice < 4 ? INFERENCE : dice < 7 || !learns ? GRADIENTS : TRAINING;
}

/* Something that is left out now and then: outputs are right without. */
static void choose_setting(hl_random *random, const arguments *a, setting *ret) {
  static const char *const left_out[] = {
      "posts",       "winograd",   "narrow",    "posts,mask",
      "panels",      "matvec",     "threads",   "taps",
      "pixel",       "all",        "padding",   "functions,layer-norm,attention",
      "sums,matvec", "batch-norm", "transpose", "mask"};
  *ret = (setting){.dtype = a->dtype, .threads = 1 + (int)hl_random_below(random, 3)};
  ret->options[ret->option_count++] = (hl_option){.key = "isa", .value = a->isa};
  uint64_t dice = hl_random_below(random, 10);
  if (dice < 3)
    ret->options[ret->option_count++] = (hl_option){
        .key = "disable", .value = left_out[hl_random_below(random, HL_COUNT(left_out))]};
  else if (dice < 6)
    ret->options[ret->option_count++] = (hl_option){.key = "winograd", .value = "on"};
  if (hl_random_below(random, 2)) /* else small networks have one thread whatever is asked for */
    ret->options[ret->option_count++] = (hl_option){.key = "disable", .value = "threads"};
  for (size_t i = 1; i < ret->option_count; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(ret->options[i].key, "winograd") == 0 && strcmp(ret->options[k].value, "all") == 0)
        ret->option_count = 1;
}

/* float32: of max|reference|. 8 bits: two steps of a scale, of results of deviation 1. bfloat16: it
 * takes some numbers to the other side of a ReLU's kink, which is no error of a kernel, so that
 * gradients are judged by root mean squares: one channel of 50 that is wrong is 0.14. */
static bool is_good(const arguments *a, mode how, const outcome *o) {
  if (o->status != HL_OK) return false;
  if (a->quantized) return o->error <= 0.07;
  if (a->dtype == HL_BFLOAT16) return how == INFERENCE ? o->error <= 2e-2 : o->spread <= 0.1;
  return o->error <= (how == TRAINING ? 1e-3 : 2e-5);
}

typedef struct told {
  mode how;
  const char *family;
  setting with;
  char words[512];
} told;

static outcome run_draw(const arguments *a, long number, uint64_t draw, told *ret) {
  hl_random random;
  hl_random_init(&random, 3, (uint64_t)number);
  size_t which = choose_family(&random);
  ret->how = choose_mode(&random, a, families[which].learns);
  choose_setting(&random, a, &ret->with);
  ret->family = a->quantized ? "quantized" : families[which].name;
  maker m;
  outcome o = {.status = HL_OUT_OF_MEMORY};
  if (!maker_init(&m, (uint64_t)number, draw,
                  ret->how == GRADIENTS ? MAKER_VARIABLE : MAKER_CONSTANT))
    return o;
  hl_value_id result = a->quantized ? case_quantized(&m) : families[which].make(&m);
  if (result < 0) {
    hl_graph_free(m.graph);
    o = (outcome){.status = HL_INTERNAL, .text = "the case makes no network"};
  } else {
    o = ret->how == TRAINING ? run_training(&m, result, &ret->with)
                             : run_network(&m, result, ret->how == GRADIENTS, &ret->with);
  }
  snprintf(ret->words, sizeof ret->words, "%s", m.words.data);
  maker_release(&m);
  return o;
}

static const char *const mode_names[] = {"inference", "gradients", "training"};

static void show(long number, const told *what, const outcome *o) {
  printf("case %ld: %s, %s: %s\n  %d threads", number, mode_names[what->how], what->family,
         what->words, what->with.threads);
  for (size_t i = 0; i < what->with.option_count; i++)
    printf(", %s=%s", what->with.options[i].key, what->with.options[i].value);
  printf("\n  error %.3g, root mean square %.3g: %s\n", o->error, o->spread, o->text);
  fflush(stdout);
}

static void run_case(const arguments *a, long number, tally *t) {
  told what;
  outcome o = {.status = HL_OK};
  bool good = false;
  for (uint64_t draw = 0; draw < DRAWS && !good; draw++) {
    o = run_draw(a, number, draw, &what);
    if (o.status == HL_UNIMPLEMENTED || o.status == HL_UNAVAILABLE) {
      if (a->verbose) show(number, &what, &o);
      t->skipped++;
      return;
    }
    good = is_good(a, what.how, &o);
    if (o.status != HL_OK) break; /* no matter of numbers */
  }
  t->ran[what.how]++;
  if (good && o.error > t->worst[what.how]) {
    t->worst[what.how] = o.error;
    t->worst_case[what.how] = number;
  }
  if (a->only >= 0) show(number, &what, &o);
  if (good) return;
  t->failed++;
  if (a->only < 0) show(number, &what, &o);
}

/* -- the whole -------------------------------------------------------------------------------- */

/* Can the engine do this here? */
static bool is_possible(const arguments *a) {
  maker m;
  setting with = {.dtype = a->dtype, .threads = 1, .options = {{"isa", a->isa}}, .option_count = 1};
  if (!maker_init(&m, 0, 0, MAKER_CONSTANT)) return true;
  hl_value_id x = maker_input(&m, 2, (int64_t[]){2, 3});
  outcome o = run_network(&m, maker_apply(&m, "Relu", x, -1, -1), false, &with);
  maker_release(&m);
  if (o.status == HL_UNAVAILABLE || o.status == HL_UNIMPLEMENTED) printf("%s\n", o.text);
  return o.status != HL_UNAVAILABLE && o.status != HL_UNIMPLEMENTED;
}

/* A whole word. Case numbers stay below 2^62, so that none overflows. */
static bool read_count(const char *text, long least, long *ret) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno || end == text || *end || value < least || value > LONG_MAX / 2) return false;
  *ret = value;
  return true;
}

static bool read_seconds(const char *text, double *ret) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value > 0) || !isfinite(value)) return false;
  *ret = value;
  return true;
}

static bool read_isa(const char *text, const char **ret) {
  static const char *const names[] = {"auto", "baseline", "avx2", "avx512"};
  for (size_t i = 0; i < HL_COUNT(names); i++)
    if (strcmp(names[i], text) == 0) {
      *ret = names[i];
      return true;
    }
  return false;
}

static bool read_dtype(const char *text, arguments *a) {
  a->quantized = strcmp(text, "int8") == 0;
  a->dtype = strcmp(text, "bfloat16") == 0 ? HL_BFLOAT16 : HL_FLOAT32;
  return a->quantized || a->dtype == HL_BFLOAT16 || strcmp(text, "float32") == 0;
}

static bool read_value(const char *key, const char *value, arguments *a) {
  if (strcmp(key, "--isa") == 0) return read_isa(value, &a->isa);
  if (strcmp(key, "--dtype") == 0) return read_dtype(value, a);
  if (strcmp(key, "--cases") == 0) return read_count(value, 1, &a->cases);
  if (strcmp(key, "--first") == 0) return read_count(value, 0, &a->first);
  if (strcmp(key, "--only") == 0) return read_count(value, 0, &a->only);
  if (strcmp(key, "--seconds") == 0) return read_seconds(value, &a->seconds);
  if (strcmp(key, "--expect") != 0 || a->expected_count == MOST_EXPECTED) return false;
  a->expected[a->expected_count++] = value;
  return true;
}

/* False, with a line on standard error, where a word is none of the usage or its value is wrong. */
static bool read_arguments(int count, char **words, arguments *a) {
  *a = (arguments){.isa = "auto", .dtype = HL_FLOAT32, .cases = 400, .only = -1};
  for (int i = 1; i < count; i++) {
    if (strcmp(words[i], "--verbose") == 0) {
      a->verbose = true;
      continue;
    }
    const char *value = i + 1 < count ? words[i + 1] : "";
    if (i + 1 == count || !read_value(words[i], value, a)) {
      fprintf(stderr, "kernels: '%s %s' is not what it takes\n", words[i], value);
      return false;
    }
    i++;
  }
  return true;
}

static long missing(const arguments *a) {
  long count = 0;
  for (size_t i = 0; i < a->expected_count; i++) {
    bool found = false;
    for (size_t k = 0; k < kind_count; k++)
      found = found || strcmp(kinds[k].kind, a->expected[i]) == 0;
    if (!found) printf("no step of the kind '%s' ran\n", a->expected[i]);
    count += !found;
  }
  return count;
}

static int report(const arguments *a, const tally *t) {
  for (size_t i = 0; a->verbose && i < kind_count; i++)
    printf("%7ld %s\n", kinds[i].count, kinds[i].kind);
  for (int i = 0; i < MODES; i++)
    if (t->ran[i])
      printf("%s: %ld cases, worst error %.2g (case %ld)\n", mode_names[i], t->ran[i], t->worst[i],
             t->worst_case[i]);
  long absent = missing(a);
  printf("isa %s, %s: %ld failed, %ld not possible\n", a->isa,
         a->quantized              ? "int8"
         : a->dtype == HL_BFLOAT16 ? "bfloat16"
                                   : "float32",
         t->failed, t->skipped);
  long ran = 0;
  for (int i = 0; i < MODES; i++) ran += t->ran[i];
  if (!ran) printf("no case ran\n");
  return t->failed || absent || !ran ? 1 : 0;
}

int main(int count, char **words) {
  arguments a;
  if (!read_arguments(count, words, &a)) {
    fprintf(stderr,
            "usage: kernels [--isa NAME] [--dtype NAME] [--cases N] [--seconds S] [--first N] "
            "[--only N] [--verbose] [--expect KIND]...\n");
    return 2;
  }
  setenv("GOMP_SPINCOUNT", "0", 0); /* tiny steps; others want the cores */
  if (!is_possible(&a)) return 77;
  run_count = count_kind;
  tally t = {.failed = 0};
  if (a.only >= 0) {
    run_case(&a, a.only, &t);
    return report(&a, &t);
  }
  double end = now_s() + a.seconds;
  for (long i = a.first; a.seconds > 0 ? now_s() < end : i < a.first + a.cases; i++)
    run_case(&a, i, &t);
  return report(&a, &t);
}
