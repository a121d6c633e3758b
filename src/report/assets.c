#include "report/assets.h"

#include <string.h>

const hl_asset *hl_asset_find(const char *name) {
  for (size_t i = 0; i < hl_asset_count; i++)
    if (strcmp(hl_assets[i].name, name) == 0) return &hl_assets[i];
  return NULL;
}
