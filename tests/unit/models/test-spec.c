/* Specifications: canonical forms and refusals. */
#include "base/error.h"
#include "models/models.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void canonical_forms(void **state) {
  (void)state;
  static const struct {
    const char *spec, *canonical;
  } cases[] = {
      {"ptychopinn", "ptychopinn"},
      {"ptychopinn:N=64,gridsize=1,probe_big=off", "ptychopinn"},
      {"ptychopinn:gridsize=2,N=128", "ptychopinn:N=128,gridsize=2"},
      {"ptychopinn:probe_big=1", "ptychopinn:probe_big=on"},
      {"ptychopinn:probe_big=true", "ptychopinn:probe_big=on"},
      {"ptychopinn:probe_big=false", "ptychopinn"},
      {"ptychopinn-memory", "ptychopinn-memory"},
      {"ptychopinn-memory:N=128,gridsize=1", "ptychopinn-memory:gridsize=1"},
      {"resnet50", "resnet50"},
      {"mlp:dims=1024-4096-4096-1024", "mlp"},
      {"mlp:dims=0784-100-10", "mlp:dims=784-100-10"},
      {"mlp:hidden_dim=512", "mlp:hidden_dim=512"},
      {"mlp:hidden_dim=4096,input_dim=1024", "mlp"},
      {"transformer_encoder:feed_forward=1024,hidden_dim=256",
       "transformer_encoder:hidden=256,ff=1024"},
      {"dynunet:patch=16x32x32", "dynunet"},
      {"dynunet:patch=64x64,dims=2", "dynunet:dims=2"},
      {"dynunet:patch=32x64,dims=2", "dynunet:dims=2,patch=32x64"},
      {"dynunet:patch=auto", "dynunet"},
      {"gaussian:phi=16.0", "gaussian"},
      {"gaussian:phi=2.50", "gaussian:phi=2.5"},
      {"activation:kind=gelu", "activation:kind=gelu"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_error error = {0};
    char *canonical = NULL, *again = NULL;
    if (hl_models_canonical(cases[i].spec, &canonical, &error) != HL_OK)
      fail_msg("%s: %s", cases[i].spec, error.msg);
    assert_string_equal(canonical, cases[i].canonical);
    assert_int_equal(hl_models_canonical(canonical, &again, NULL), HL_OK);
    assert_string_equal(again, canonical);
    assert_true(hl_models_has(cases[i].spec));
    free(canonical);
    free(again);
  }
}

static void refusals(void **state) {
  (void)state;
  static const struct {
    const char *spec;
    hl_status status;
    const char *says[3]; /* parts of the message */
  } cases[] = {
      {"resnet5", HL_NOT_FOUND, {"'resnet5'", "resnet50"}},
      {"ptychopin:N=64", HL_NOT_FOUND, {"'ptychopin'", "ptychopinn"}},
      {"vit", HL_NOT_FOUND, {"nearest", "hotlap models"}},
      {"", HL_NOT_FOUND, {"''"}},
      {"ptychopinn:Q=1", HL_INVALID_ARGUMENT, {"'Q'", "N, gridsize, probe_big"}},
      {"ptychopinn:n=64", HL_INVALID_ARGUMENT, {"'n'", "N, gridsize, probe_big"}},
      {"ptychopinn:N=96", HL_INVALID_ARGUMENT, {"N cannot be '96'", "64, 128"}},
      {"ptychopinn:N=6", HL_INVALID_ARGUMENT, {"N cannot be '6'", "64, 128"}},
      {"ptychopinn:N=64,N=64", HL_INVALID_ARGUMENT, {"N is given more than once"}},
      {"transformer_encoder:hidden=64,hidden_dim=64",
       HL_INVALID_ARGUMENT,
       {"hidden is given more than once"}},
      {"ptychopinn:N", HL_INVALID_ARGUMENT, {"N has no value", "N=VALUE", "64, 128"}},
      {"ptychopinn:N=", HL_INVALID_ARGUMENT, {"N cannot be ''"}},
      {"ptychopinn:N=64,", HL_INVALID_ARGUMENT, {"no parameter ''"}},
      {"ptychopinn:", HL_INVALID_ARGUMENT, {"no parameter ''"}},
      {"ptychopinn:gridsize=3", HL_INVALID_ARGUMENT, {"gridsize cannot be '3'", "1, 2"}},
      {"ptychopinn:probe_big=maybe", HL_INVALID_ARGUMENT, {"probe_big", "on, off"}},
      {"resnet50:x=1", HL_INVALID_ARGUMENT, {"'x'", "takes no parameters"}},
      {"mlp:hidden_dim=0", HL_INVALID_ARGUMENT, {"hidden_dim", "from 1 to 65536"}},
      {"mlp:hidden_dim=1e3", HL_INVALID_ARGUMENT, {"hidden_dim", "whole number"}},
      {"mlp:dims=5", HL_INVALID_ARGUMENT, {"dims", "joined by '-'"}},
      {"mlp:dims=5--5", HL_INVALID_ARGUMENT, {"dims"}},
      {"mlp:dims=5-5-", HL_INVALID_ARGUMENT, {"dims"}},
      {"mlp:dims=5x5", HL_INVALID_ARGUMENT, {"dims"}},
      {"mlp:dims=1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1",
       HL_INVALID_ARGUMENT,
       {"dims", "2 to 32"}},
      {"mlp:dims=8-8,input_dim=8", HL_INVALID_ARGUMENT, {"dims", "input_dim"}},
      {"mlp:dims=65536-65536", HL_LIMIT, {"million weights", "smaller"}},
      {"transformer_encoder:heads=7", HL_INVALID_ARGUMENT, {"heads", "divisor of hidden"}},
      {"transformer_encoder:layers=128,hidden=8192", HL_LIMIT, {"million weights"}},
      {"dynunet:dims=2,patch=16x32x32", HL_INVALID_ARGUMENT, {"patch", "HxW"}},
      {"dynunet:patch=16x30x32", HL_INVALID_ARGUMENT, {"patch", "multiples of 4"}},
      {"gaussian:phi=0", HL_INVALID_ARGUMENT, {"phi", "a number from 0.001"}},
      {"gaussian:phi=nan", HL_INVALID_ARGUMENT, {"phi"}},
      {"activation:kind=swish", HL_INVALID_ARGUMENT, {"kind", "relu, gelu, tanh, sigmoid"}},
      {"activation:kind=relu gelu", HL_INVALID_ARGUMENT, {"kind"}},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_error error = {0};
    char *canonical = NULL;
    hl_graph *graph = NULL;
    hl_status status = hl_models_canonical(cases[i].spec, &canonical, &error);
    if (status != cases[i].status)
      fail_msg("'%s': %s, %s", cases[i].spec, hl_status_name(status), error.msg);
    assert_null(canonical);
    for (size_t j = 0; j < HL_COUNT(cases[i].says) && cases[i].says[j]; j++)
      if (!strstr(error.msg, cases[i].says[j]))
        fail_msg("'%s': \"%s\" does not say \"%s\"", cases[i].spec, error.msg, cases[i].says[j]);
    assert_int_equal(hl_models_build(cases[i].spec, 1, &graph, NULL), cases[i].status);
    assert_null(graph);
  }
}

static void long_specifications(void **state) {
  (void)state;
  char spec[4096];
  memset(spec, 'a', sizeof spec - 1);
  spec[sizeof spec - 1] = '\0';
  char *canonical = NULL;
  hl_error error = {0};
  assert_int_equal(hl_models_canonical(spec, &canonical, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(hl_models_canonical(NULL, &canonical, &error), HL_INVALID_ARGUMENT);
  spec[1000] = '\0';
  assert_int_equal(hl_models_canonical(spec, &canonical, &error), HL_NOT_FOUND);
  memcpy(spec, "mlp:dims=", 9);
  assert_int_equal(hl_models_canonical(spec, &canonical, &error), HL_INVALID_ARGUMENT);
}

/* What the table says of itself is right: defaults are canonical, and canonical is bare. */
static void table(void **state) {
  (void)state;
  assert_non_null(hl_models_at(0));
  for (size_t i = 0; hl_models_at(i); i++) {
    const hl_builtin_model *model = hl_models_at(i);
    assert_true(hl_models_has(model->name));
    assert_non_null(model->doc);
    char *canonical = NULL;
    assert_int_equal(hl_models_canonical(model->name, &canonical, NULL), HL_OK);
    assert_string_equal(canonical, model->name);
    free(canonical);
    for (const hl_model_parameter *p = model->parameters; p->key; p++) {
      char spec[256];
      assert_non_null(p->doc);
      snprintf(spec, sizeof spec, "%s:%s=%s", model->name, p->key, p->value);
      assert_int_equal(hl_models_canonical(spec, &canonical, NULL), HL_OK);
      assert_string_equal(canonical, model->name);
      free(canonical);
    }
  }
  assert_false(hl_models_has("ptycho"));
  assert_false(hl_models_has("./resnet50.onnx"));
  assert_int_equal(hl_models_patterns_per_input("ptychopinn"), 1);
  assert_int_equal(hl_models_patterns_per_input("ptychopinn:gridsize=2"), 4);
  assert_int_equal(hl_models_patterns_per_input("ptychopinn-memory"), 4);
  assert_int_equal(hl_models_patterns_per_input("resnet50"), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(canonical_forms),
      cmocka_unit_test(refusals),
      cmocka_unit_test(long_specifications),
      cmocka_unit_test(table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
