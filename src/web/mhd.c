#include "web/mhd.h"

#include <dlfcn.h>

hl_status hl__web_mhd_open(const hl_web_mhd **ret_mhd, hl_error *error) {
  static hl_web_mhd mhd;
  void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return hl_error_set(error, HL_UNAVAILABLE,
                        "the dashboard needs libmicrohttpd: %s. Debian: apt install "
                        "libmicrohttpd12",
                        dlerror());
#define X(name)                                                                                    \
  *(void **)&mhd.name = dlsym(library, "MHD_" #name);                                              \
  if (!mhd.name)                                                                                   \
    return hl_error_set(error, HL_UNAVAILABLE,                                                     \
                        "libmicrohttpd.so.12 has no function MHD_%s: it is too old", #name);
  HL_WEB_MHD_FUNCTIONS(X)
#undef X
  *ret_mhd = &mhd;
  return HL_OK;
}
