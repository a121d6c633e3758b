#include "report/memory-markdown.h"

#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_training(const hl_record *r) {
  return hl_text_same(r->mode, "training");
}

/* Rows of one mode that passed, a line each; nothing where there are none. */
static void put_rows(const hl_records *records, bool training, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!hl_workload_is_memory(r->workload) || !hl_record_passed(r) || is_training(r) != training)
      continue;
    if (!any && training)
      hl_text_append(out,
                     "\n## Training Memory\n\n| Model | Engine | Batch | Weights | Optimiser | "
                     "Kept for backward | Gradients | Activations | Activations' gradients | "
                     "Workspace | Forward peak | Backward peak | Update peak | Peak, planned | "
                     "Peak, measured |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
                     "--:|--:|\n");
    else if (!any)
      hl_text_append(out,
                     "\n## Inference Memory\n\n| Model | Engine | Batch | Weights | Activations "
                     "| Workspace | Outputs | Peak, planned | Peak, measured | Allocated | "
                     "Reserved | Resident |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
                     "\n");
    any = true;
    hl_text_append(out, "| ");
    hl_markdown_text(out, r->model);
    hl_text_append(out, " | ");
    hl_markdown_text(out, r->engine);
    hl_text_format(out, " | %" PRId64 " |", r->batch_size);
    const double of_training[] = {
        r->weights_mb,       r->optimizer_state_mb,      r->saved_mb,          r->gradients_mb,
        r->activations_mb,   r->activation_gradients_mb, r->workspace_mb,      r->forward_peak_mb,
        r->backward_peak_mb, r->optimizer_peak_mb,       r->planned_memory_mb, r->memory_mb};
    const double of_inference[] = {r->weights_mb,   r->activations_mb,    r->workspace_mb,
                                   r->outputs_mb,   r->planned_memory_mb, r->memory_mb,
                                   r->allocated_mb, r->reserved_mb,       r->resident_mb};
    const double *values = training ? of_training : of_inference;
    size_t count = training ? HL_COUNT(of_training) : HL_COUNT(of_inference);
    hl__markdown_cells(out, values, count);
    hl_text_char(out, '\n');
  }
}

static void put_sentences(const hl_records *records, const hl_memory_analysis *a, hl_text *out) {
  hl_text line = HL_TEXT_INIT;
  if (a->pair_count) hl_text_append(out, "\n## Training Overhead\n\n");
  for (size_t i = 0; i < a->pair_count; i++) {
    hl_text_clear(&line);
    hl__memory_pair_sentence(records, &a->pairs[i], &line);
    hl_text_append(out, "- ");
    hl_markdown_text(out, line.data);
    hl_text_char(out, '\n');
  }
  if (a->growth_count + a->size_count)
    hl_text_format(
        out,
        "\n## Scaling\n\nThe cost of one more sample is constant where the largest is at "
        "most %.0f %% above the least; memory is linear where no point is farther than "
        "%.0f %% from the line. Memory divided by the batch is not constant where weights "
        "and workspace do not grow with it.\n\n",
        HL_MEMORY_CONSTANT * 100, HL_MEMORY_LINEAR * 100);
  for (size_t i = 0; i < a->growth_count + a->size_count; i++) {
    bool of_batch = i < a->growth_count;
    const hl_memory_growth *g = of_batch ? &a->growths[i] : &a->sizes[i - a->growth_count];
    hl_text_clear(&line);
    hl__memory_growth_sentence(records, g, of_batch, &line);
    hl_text_append(out, "- ");
    hl_markdown_text(out, line.data);
    if (of_batch) {
      char low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES];
      hl_text_format(out, "; memory / batch: %s to %s MB", hl_report_number(g->share_low, "—", low),
                     hl_report_number(g->share_high, "—", high));
    }
    hl_text_char(out, '\n');
  }
  hl_text_release(&line);
}

/* -- one row in full ----------------------------------------------------------------------------
 */

static void put_head(hl_text *out, const char *what) {
  hl_text_format(out, "\n| %s |", what);
  for (int k = 0; k < HL_MEMORY_KINDS; k++)
    hl_text_format(out, " %c%s |", hl__memory_names[k][0] - 'a' + 'A', hl__memory_names[k] + 1);
  hl_text_append(out, " MB |\n|---|");
  for (int k = 0; k <= HL_MEMORY_KINDS; k++) hl_text_append(out, "--:|");
  hl_text_char(out, '\n');
}

static void put_kinds(hl_text *out, const char *name, const uint64_t *kinds, uint64_t total) {
  hl_text_append(out, "| ");
  hl_markdown_text(out, name);
  hl_text_append(out, " |");
  char text[HL_NUMBER_BYTES];
  for (int k = 0; k < HL_MEMORY_KINDS; k++)
    hl_text_format(out, " %s |", hl__memory_mb(kinds[k], text));
  hl_text_format(out, " %s |\n", hl__memory_mb(total, text));
}

static void put_layers(const hl_memory_layer *layers, size_t count, size_t most, hl_text *out) {
  hl_memory_layer rest = {0};
  put_head(out, "Layer, at the fullest step");
  for (size_t i = 0; i < count; i++) {
    if (i < most || count == most + 1) {
      put_kinds(out, layers[i].name[0] ? layers[i].name : "(no layer)", layers[i].kinds,
                layers[i].bytes);
      continue;
    }
    for (int k = 0; k < HL_MEMORY_KINDS; k++) rest.kinds[k] += layers[i].kinds[k];
    rest.bytes += layers[i].bytes;
  }
  if (count <= most + 1) return;
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%zu more", count - most);
  put_kinds(out, name, rest.kinds, rest.bytes);
}

static void put_map(const hl_record *r, size_t most, hl_text *out) {
  hl_memory_sums sums;
  hl_memory_layer *layers = NULL;
  size_t count = 0;
  hl_text name = HL_TEXT_INIT;
  hl__memory_name(r, &name);
  hl_text_append(out, "\n### ");
  hl_markdown_text(out, name.data);
  hl_text_char(out, '\n');
  hl_text_release(&name);
  if (hl_memory_map_sum(r->memory_map, &sums, NULL) != HL_OK ||
      hl_memory_map_layers(r->memory_map, &sums, &layers, &count, NULL) != HL_OK) {
    hl_text_append(out, "\nno memory to add it up\n");
    return;
  }
  put_head(out, "Fullest step of");
  for (int p = 0; p < HL_PHASE_COUNT; p++)
    if (sums.has_phase[p])
      put_kinds(out, hl_phase_name((hl_phase)p), sums.phase_kinds[p], sums.phase_peak[p]);
  put_layers(layers, count, most, out);
  free(layers);
  hl_text_format(out, "\nArena %.4g MB, of which %.4g MB are not used at the fullest step.\n",
                 r->arena_mb, r->arena_gap_mb);
}

/* -- planned and measured -----------------------------------------------------------------------
 */

static void put_differences(const hl_records *records, hl_text *out) {
  hl_text_append(out, "\n## Planned and Measured\n\n| Model | Mode | Batch | Planned | Engine's "
                      "account | Resident | Resident / planned | Difference |\n"
                      "|---|---|--:|--:|--:|--:|--:|---|\n");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!hl_workload_is_memory(r->workload) || !hl_record_passed(r)) continue;
    hl_text_append(out, "| ");
    hl_markdown_text(out, r->model);
    hl_text_append(out, " | ");
    hl_markdown_text(out, r->mode);
    hl_text_format(out, " | %" PRId64 " |", r->batch_size);
    hl__markdown_cell(out, r->planned_memory_mb);
    hl__markdown_cell(out, r->engine_memory_mb);
    hl__markdown_cell(out, r->resident_mb);
    hl__markdown_cell(out, 1 + r->plan_error_percent / 100);
    hl_text_char(out, ' ');
    if (r->plan_difference || !isfinite(r->plan_error_percent))
      hl_markdown_text(out, r->plan_difference);
    else
      hl_text_append(out, "within 5 %");
    hl_text_append(out, " |\n");
  }
}

static void put_limits(const hl_records *records, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    bool told = i > 0 && records->items[i - 1].max_batch_size == r->max_batch_size &&
                strcmp(records->items[i - 1].mode ? records->items[i - 1].mode : "",
                       r->mode ? r->mode : "") == 0 &&
                strcmp(records->items[i - 1].model, r->model) == 0;
    if (r->max_batch_size == HL_INT_NULL || told || !hl_workload_is_memory(r->workload)) continue;
    if (!any) hl_text_append(out, "\n## Largest Batch\n\n");
    any = true;
    hl_text_append(out, "- ");
    hl_markdown_text(out, r->model);
    hl_text_format(out, ", %s, within ", r->mode ? r->mode : "?");
    hl_markdown_text(out, r->memory_limit);
    hl_text_format(out, ": %" PRId64 " runs, %" PRId64 " does not\n", r->max_batch_size,
                   r->max_batch_size + 1);
  }
}

static void put_failed(const hl_records *records, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!hl_workload_is_memory(r->workload) || hl_record_passed(r)) continue;
    if (!any) hl_text_append(out, "\n## Failed Rows\n\n");
    any = true;
    hl_text name = HL_TEXT_INIT;
    hl__memory_name(r, &name);
    hl_text_append(out, "- ");
    hl_markdown_text(out, name.data);
    hl_text_format(out, ": %s: ", r->outcome ? r->outcome : "FAILED");
    hl_markdown_text(out, r->reason);
    hl_text_char(out, '\n');
    hl_text_release(&name);
  }
}

static void put_definitions(hl_text *out) {
  static const char *const keys[] = {"plan_peak_mb",
                                     "weights_mb",
                                     "optimizer_state_mb",
                                     "activations_mb",
                                     "saved_mb",
                                     "gradients_mb",
                                     "activation_gradients_mb",
                                     "workspace_mb",
                                     "outputs_mb",
                                     "planned_memory_mb",
                                     "memory_mb",
                                     "engine_memory_mb",
                                     "allocated_mb",
                                     "reserved_mb",
                                     "resident_mb",
                                     NULL};
  hl_text_char(out, '\n');
  hl__markdown_definitions(keys, out);
}

static void put_pictures(const char *pictures, hl_text *out) {
  while (*pictures) {
    size_t length = strcspn(pictures, "\n");
    hl_text_format(out, "\n![%.*s](%.*s)\n", (int)length, pictures, (int)length, pictures);
    pictures += length + (pictures[length] == '\n');
  }
}

static void put_unknown(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < records->count; i++) {
    const char *reason = records->items[i].memory_reason;
    const char *before = i ? records->items[i - 1].memory_reason : NULL;
    if (!reason || (before && strcmp(before, reason) == 0)) continue;
    hl_text_append(out, "\nUnknown: ");
    hl_markdown_text(out, reason);
    hl_text_char(out, '\n');
  }
}

void hl__markdown_memory(const hl_report_input *input, size_t layers, const char *pictures,
                         hl_text *out) {
  const hl_records *records = input->records;
  hl_memory_analysis a;
  size_t count = 0;
  hl_text_append(out, "# Memory Report\n\n");
  if (input->info->cpu) {
    hl_markdown_text(out, input->info->cpu);
    hl_text_format(out, ", %s, hotlap %s. ", input->info->created ? input->info->created : "",
                   input->info->hotlap_version ? input->info->hotlap_version : "");
  }
  hl_text_append(out,
                 "MB is 10^6 bytes. Each row ran in a process of its own; measured memory is the "
                 "peak resident memory less what was resident before the model was loaded.\n");
  put_rows(records, false, out);
  put_rows(records, true, out);
  put_unknown(records, out);
  if (hl_memory_analyse(records, &a, NULL) == HL_OK) {
    put_sentences(records, &a, out);
    hl_memory_analysis_release(&a);
  }
  put_limits(records, out);
  put_differences(records, out);
  HL_CLEANUP(hl_free_pointer) size_t *rows = hl__memory_largest(records, &count);
  if (rows && count) hl_text_append(out, "\n## By Phase and by Layer\n");
  for (size_t i = 0; rows && i < count; i++) put_map(&records->items[rows[i]], layers, out);
  if (pictures[0]) hl_text_append(out, "\n## Pictures\n");
  put_pictures(pictures, out);
  put_failed(records, out);
  put_definitions(out);
}
