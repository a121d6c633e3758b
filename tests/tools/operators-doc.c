/*
 * Prints docs/operators.md from the operator table, or checks that a file is what it would print.
 *
 *     operators-doc > docs/operators.md
 *     operators-doc --check docs/operators.md
 */
#include "base/file.h"
#include "base/text.h"
#include "graph/operator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  hl_operator_group group;
  const char *title, *flops;
} groups[] = {
    {HL_OPERATORS_CONVOLUTION, "Convolution", "2 per multiply-add, padding taps counted"},
    {HL_OPERATORS_MATRIX, "Matrix product",
     "2 per multiply-add; of recurrent cells those of both matrices"},
    {HL_OPERATORS_ELEMENTWISE, "Element-wise", "1 per output element; Cast and Identity 0"},
    {HL_OPERATORS_NORMALISE, "Normalisation",
     "Softmax and LogSoftmax 5 per element; Layer-, Instance- and GroupNormalization 7; "
     "BatchNormalization 2; Dropout 0"},
    {HL_OPERATORS_POOL, "Pools and reductions",
     "1 per tap of a window and output element; global pools, reductions, ArgMax and ArgMin 1 per "
     "input element"},
    {HL_OPERATORS_QUANTIZE, "Quantisation", "2 per element; of the products 2 per multiply-add"},
    {HL_OPERATORS_RESAMPLE, "Resampling and signals",
     "linear and cubic 2 per tap and output element; nearest, DFT, windows and AffineGrid 0"},
    {HL_OPERATORS_SHAPE, "Shapes and moves", "0"},
};

static void print_group(hl_text *out, size_t index) {
  hl_text_format(
      out,
      "\n## %s\n\nFLOPs: %s.\n\n| operator | opsets | gradient | remarks |\n|---|---|---|---|\n",
      groups[index].title, groups[index].flops);
  const hl_operator *row;
  for (size_t i = 0; (row = hl_operator_at(i)); i++)
    if (row->group == groups[index].group)
      hl_text_format(out, "| %s | %d–%d | %s | %s |\n", row->name, row->since, row->last,
                     row->gradient ? "yes" : "", hl_operator_note(row));
}

static void print_all(hl_text *out) {
  size_t count = 0;
  while (hl_operator_at(count)) count++;
  hl_text_format(
      out,
      "# ONNX operators\n\n"
      "<!-- Printed by `tools/operators` from the table in src/graph; do not edit. -->\n\n"
      "hotlap reads ONNX models of opset 7 to 21 with these %zu operators, and older models as "
      "far as the column of opsets goes. For each it "
      "infers shapes, counts nominal FLOPs and has a reference function that computes it "
      "by its definition, in double; where the column says so, also a rule for its gradient. "
      "Attributes that became inputs, and defaults that "
      "changed between opsets, are read as the model's opset means them. Not read: model-local "
      "functions, subgraphs (If, Loop, Scan), sparse tensors, sequences, maps, strings, and "
      "tensors of more than %d dimensions.\n",
      count, HL_MAX_RANK);
  for (size_t i = 0; i < HL_COUNT(groups); i++) print_group(out, i);
}

static int check(const char *path, const char *expected) {
  hl_error error;
  HL_CLEANUP(hl_free_pointer) char *text = NULL;
  if (hl_file_read(path, 1 << 20, &text, NULL, &error) != HL_OK) {
    fprintf(stderr, "operators-doc: %s\n", error.msg);
    return 1;
  }
  if (strcmp(text, expected) == 0) return 0;
  fprintf(stderr, "operators-doc: '%s' is not what the operator table says; run tools/operators\n",
          path);
  return 1;
}

int main(int count, char **arguments) {
  bool checking = count == 3 && strcmp(arguments[1], "--check") == 0;
  if (count != 1 && !checking) {
    fprintf(stderr, "usage: operators-doc [--check FILE]\n");
    return 2;
  }
  hl_text out = HL_TEXT_INIT;
  print_all(&out);
  int result = 0;
  if (checking)
    result = check(arguments[2], out.data);
  else
    fputs(out.data, stdout);
  hl_text_release(&out);
  return result;
}
