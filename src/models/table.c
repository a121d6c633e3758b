/*
 * The table of built-in networks. To add one: write its builder (and check), declare them in
 * models/network.h, add its row here, add its counts to tests/unit/models/test-models.c.
 */
#include "models/network.h"

#include <string.h>

#define SIZE(name, size, text)                                                                     \
  { .key = name, .value = size, .doc = text, .kind = HL_MODEL_INT, .min = 1, .max = 65536 }
#define HIDDEN                                                                                     \
  {                                                                                                \
    .key = "hidden", .alias = "hidden_dim", .value = "512", .doc = "width", .kind = HL_MODEL_INT,  \
    .min = 1, .max = 65536                                                                         \
  }
#define TOKENS SIZE("tokens", "128", "tokens of an input")
#define HEADS                                                                                      \
  {                                                                                                \
    .key = "heads", .value = "8", .doc = "attention heads, a divisor of hidden", .min = 1,         \
    .max = 1024                                                                                    \
  }
#define FEED_FORWARD                                                                               \
  {                                                                                                \
    .key = "ff", .alias = "feed_forward", .value = "2048",                                         \
    .doc = "width of the feed-forward part", .min = 1, .max = 65536                                \
  }
#define PTYCHOPINN(size, grid)                                                                     \
  {                                                                                                \
    {.key = "N",                                                                                   \
     .value = size,                                                                                \
     .doc = "width of a diffraction pattern: 64 or 128",                                           \
     .kind = HL_MODEL_CHOICE,                                                                      \
     .choices = "64, 128"},                                                                        \
        {.key = "gridsize",                                                                        \
         .value = grid,                                                                            \
         .doc = "1 or 2: an input has gridsize^2 overlapping patterns",                            \
         .kind = HL_MODEL_CHOICE,                                                                  \
         .choices = "1, 2"},                                                                       \
        {.key = "probe_big",                                                                       \
         .value = "off",                                                                           \
         .doc = "on or off: a second head fills the border outside the central square",            \
         .kind = HL_MODEL_SWITCH},                                                                 \
    {                                                                                              \
      0                                                                                            \
    }                                                                                              \
  }

static const hl_model_parameter ptychopinn[] = PTYCHOPINN("64", "1");
static const hl_model_parameter ptychopinn_memory[] = PTYCHOPINN("128", "2");
static const hl_model_parameter none[] = {{0}};
static const hl_model_parameter dynunet[] = {
    {.key = "dims",
     .value = "3",
     .doc = "3 for volumes, 2 for pictures",
     .kind = HL_MODEL_CHOICE,
     .choices = "3, 2"},
    {.key = "patch",
     .value = "auto",
     .doc = "DxHxW or HxW, multiples of 4; auto is 16x32x32 or 64x64",
     .kind = HL_MODEL_SIZES,
     .choices = "auto",
     .min = 4,
     .max = 4096,
     .joint = 'x'},
    {0}};
static const hl_model_parameter transformer_encoder[] = {
    {.key = "layers", .value = "6", .doc = "encoder layers", .min = 1, .max = 128},
    TOKENS,
    HIDDEN,
    HEADS,
    FEED_FORWARD,
    {0}};
static const hl_model_parameter transformer_layer[] = {TOKENS, HIDDEN, HEADS, FEED_FORWARD, {0}};
static const hl_model_parameter mlp[] = {
    {.key = "dims",
     .value = "1024-4096-4096-1024",
     .doc = "widths from input to output",
     .kind = HL_MODEL_SIZES,
     .min = 1,
     .max = 65536,
     .joint = '-'},
    SIZE("input_dim", "1024", "width of input and output, instead of dims"),
    SIZE("hidden_dim", "4096", "width of both hidden layers, instead of dims"),
    {0}};
static const hl_model_parameter linear[] = {SIZE("input_dim", "1024", "width of the input"),
                                            SIZE("hidden_dim", "512", "width of the output"),
                                            {0}};
static const hl_model_parameter hidden[] = {HIDDEN, {0}};
static const hl_model_parameter activation[] = {{.key = "kind",
                                                 .value = "relu",
                                                 .doc = "relu, gelu, tanh or sigmoid",
                                                 .kind = HL_MODEL_CHOICE,
                                                 .choices = "relu, gelu, tanh, sigmoid"},
                                                HIDDEN,
                                                {0}};
static const hl_model_parameter attention[] = {TOKENS, HIDDEN, HEADS, {0}};
static const hl_model_parameter gaussian[] = {HIDDEN,
                                              {.key = "phi",
                                               .value = "16",
                                               .doc = "width of the bell",
                                               .kind = HL_MODEL_REAL,
                                               .min = 1e-3,
                                               .max = 1e6},
                                              {0}};
static const hl_model_parameter gru[] = {
    SIZE("input_dim", "512", "width of the input"),
    SIZE("hidden_dim", "512", "width of each layer and the output"),
    {.key = "layers", .value = "2", .doc = "one on the other", .min = 1, .max = 128},
    TOKENS,
    {0}};
static const hl_model_parameter fft[] = {
    {.key = "size", .value = "7", .doc = "elements along each axis", .min = 1, .max = 128}, {0}};
static const hl_model_parameter prism_generator[] = {
    {.key = "size",
     .value = "512",
     .doc = "width of the picture, a power of two",
     .min = 4,
     .max = 4096},
    {.key = "object",
     .value = "128",
     .doc = "width of what it shows, a power of two",
     .min = 4,
     .max = 4096},
    {.key = "activation",
     .value = "none",
     .doc = "none or sigmoid: of the last layer",
     .kind = HL_MODEL_CHOICE,
     .choices = "none, sigmoid"},
    {0}};

static const hl_model_row rows[] = {
    {{"ptychopinn",
      "PtychoPINN's autoencoder: diffraction amplitudes, divided by intensity_scale first, to "
      "amplitude and phase",
      ptychopinn},
     NULL,
     hl_build_ptychopinn},
    {{"ptychopinn-memory", "ptychopinn with N=128 and gridsize=2", ptychopinn_memory},
     NULL,
     hl_build_ptychopinn},
    {{"resnet50", "ResNet-50 v1.5, 224 x 224 pictures to 1000 classes", none},
     NULL,
     hl_build_resnet50},
    {{"vit_b_16", "vision transformer, base size, patches of 16 x 16", none},
     NULL,
     hl_build_vit_b_16},
    {{"dynunet", "MONAI's DynUNet, filters 16/32/64: segmentation and label-free prediction",
      dynunet},
     hl_check_dynunet,
     hl_build_dynunet},
    {{"transformer_encoder", "torch's transformer encoder layers, normalised after each sum",
      transformer_encoder},
     hl_check_transformer,
     hl_build_transformer_encoder},
    {{"transformer_encoder_layer", "one layer of transformer_encoder", transformer_layer},
     hl_check_transformer_layer,
     hl_build_transformer_encoder_layer},
    {{"mlp", "linear layers with ReLU between them", mlp}, hl_check_mlp, hl_build_mlp},
    {{"linear", "one linear layer", linear}, hl_check_linear, hl_build_linear},
    {{"layer_norm", "one layer normalisation", hidden}, NULL, hl_build_layer_norm},
    {{"activation", "one activation function", activation}, NULL, hl_build_activation},
    {{"multihead_attention", "one self-attention with its projections", attention},
     hl_check_attention,
     hl_build_multihead_attention},
    {{"weighted_sum", "0.4 a + 0.3 b + 0.2 c + 0.1 d of four inputs", hidden},
     NULL,
     hl_build_weighted_sum},
    {{"gaussian", "exp(-|x|^2 / (2 phi^2))", gaussian}, NULL, hl_build_gaussian},
    {{"soft_product", "a b / sqrt(1 + a^2 + b^2)", hidden}, NULL, hl_build_soft_product},
    {{"gru", "torch's gated recurrent units", gru}, hl_check_gru, hl_build_gru},
    {{"fft", "the Fourier transform of a cube of complex numbers", fft}, NULL, hl_build_fft},
    {{"prism_generator", "PRISM's generator: a picture from a learnable vector and noise",
      prism_generator},
     hl_check_prism_generator,
     hl_build_prism_generator},
};

const hl_model_row *hl_model_row_at(size_t index) {
  return index < HL_COUNT(rows) ? &rows[index] : NULL;
}

const hl_model_row *hl_model_row_find(const char *spec) {
  if (!spec) return NULL;
  size_t length = strcspn(spec, ":");
  for (size_t i = 0; i < HL_COUNT(rows); i++) {
    const char *name = rows[i].model.name;
    if (strlen(name) == length && memcmp(name, spec, length) == 0) return &rows[i];
  }
  return NULL;
}
