/* What a training run asks for: from the command line to the worker and back to a command line. */
#include "protocol/channel.h"
#include "protocol/train-message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { most_words = 48 };

/* Splits at spaces; the text lives as long as the caller's buffer. */
static int split(char *text, char **words) {
  int count = 0;
  words[count++] = "train";
  for (char *word = strtok(text, " "); word && count < most_words; word = strtok(NULL, " "))
    words[count++] = word;
  return count;
}

typedef struct parsed {
  char text[400];
  hl_options options;
  hl_arena arena;
  hl_train_spec *spec;
  hl_status status;
  hl_error error;
} parsed;

static void parse(const char *command, parsed *p) {
  char *words[most_words];
  *p = (parsed){0};
  hl_arena_init(&p->arena, 1 << 16);
  snprintf(p->text, sizeof p->text, "%s", command);
  int count = split(p->text, words);
  p->status = hl_options_parse('T', count, words, &p->options, &p->error);
  if (p->status == HL_OK)
    p->status = hl_train_spec_read(&p->options, &p->arena, &p->spec, &p->error);
}

static void release(parsed *p) {
  hl_options_release(&p->options);
  hl_arena_release(&p->arena);
}

static const char *const commands[] = {
    "--epochs 3",
    ("--steps 20 --trainer ddp --ranks 4 --loader-threads 0 --loss l1 --optimizer sgd --momentum "
     "0.9 "
     "--nesterov --weight-decay 0.0001 --learning-rate 0.1"),
    ("--epochs 100 --loss dice-ce --optimizer adamw --beta1 0.8 --beta2 0.99 --epsilon 1e-06 "
     "--clip-norm 2.5 --accumulate 4 --recompute --schedule cosine --warmup-steps 10 "
     "--min-learning-rate 1e-06"),
    ("--epochs 9 --loss cross-entropy --schedule plateau --decay 0.5 --patience 3 --early-stop 7 "
     "--checkpoint a.onnx --checkpoint-steps 50 --resume-from b.onnx --transform "
     "zoom=0.25,flips=yx"),
    "--schedule exponential --drop-last --max-time 2.5",
};

/* The options that a specification appends ask for the same specification. */
static void every_option_goes_to_the_worker_and_back(void **state) {
  (void)state;
  for (size_t i = 0; i < HL_COUNT(commands); i++) {
    parsed p, again;
    hl_text first = HL_TEXT_INIT, second = HL_TEXT_INIT, third = HL_TEXT_INIT;
    hl_error error = {0};
    const hl_train_spec *spec = NULL;
    parse(commands[i], &p);
    if (p.status != HL_OK) fail_msg("%s: %s", commands[i], p.error.msg);
    hl_train_spec_options(p.spec, &first);
    json_t *message = hl_train_message(p.spec);
    assert_int_equal(hl_train_message_read(message, &p.arena, &spec, &error), HL_OK);
    hl_train_spec_options(spec, &second);
    assert_string_equal(first.data, second.data);
    parse(first.data, &again);
    if (again.status != HL_OK) fail_msg("%s: %s", first.data, again.error.msg);
    hl_train_spec_options(again.spec, &third);
    assert_string_equal(first.data, third.data);
    json_decref(message);
    hl_text_release(&first);
    hl_text_release(&second);
    hl_text_release(&third);
    release(&again);
    release(&p);
  }
}

static void defaults_are_those_of_the_authors(void **state) {
  (void)state;
  parsed p;
  parse("", &p);
  assert_int_equal(p.status, HL_OK);
  const hl_train_spec *s = p.spec;
  assert_true(s->epochs == 3 && s->steps == 0 && s->loss_is_auto && s->ranks == 1);
  assert_true(s->optimizer == HL_OPTIMIZER_ADAM && s->learning_rate == 0.001 && s->beta1 == 0.9 &&
              s->beta2 == 0.999 && s->epsilon == 1e-8 && s->weight_decay == 0);
  assert_true(s->accumulate == 1 && s->loader_threads == 1 && s->clip_norm == 0);
  release(&p);
}

/* A worker takes no message on trust. */
static void members_out_of_range_are_named(void **state) {
  (void)state;
  static const struct {
    const char *key, *value;
  } cases[] = {{"epochs", "-1"},        {"epochs", "\"x\""},  {"epochs", "0"},
               {"accumulate", "0"},     {"ranks", "0"},       {"loader_threads", "257"},
               {"learning_rate", "-1"}, {"beta1", "null"},    {"loss", "\"hinge\""},
               {"schedule", "7"},       {"optimizer", "null"}};
  parsed p;
  parse("--epochs 3", &p);
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_error error = {0};
    const hl_train_spec *spec = NULL;
    json_t *message = hl_train_message(p.spec);
    json_object_set_new(message, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
    if (hl_train_message_read(message, &p.arena, &spec, &error) != HL_INVALID_ARGUMENT)
      fail_msg("%s = %s was taken", cases[i].key, cases[i].value);
    assert_non_null(strstr(error.msg, cases[i].key));
    json_decref(message);
  }
  release(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_option_goes_to_the_worker_and_back),
                                     cmocka_unit_test(defaults_are_those_of_the_authors),
                                     cmocka_unit_test(members_out_of_range_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
