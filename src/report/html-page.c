#include "report/html-page.h"

static const char *const style = "hotlap.css", *const charts = "chart.js",
                         *const script = "page.js";

/* A digest of what is within the page, as the policy names it. */
static void allow(hl_text *policy, const char *name) {
  const hl_asset *asset = hl_asset_find(name);
  if (asset) hl_text_format(policy, " 'sha256-%s'", asset->sha256);
}

static void put_policy(hl_html *html, const hl_page *page) {
  hl_text policy = HL_TEXT_INIT;
  hl_text_append(&policy, "default-src 'none'; img-src data:; style-src");
  allow(&policy, style);
  hl_text_append(&policy, "; script-src");
  if (page->has_charts) allow(&policy, charts);
  allow(&policy, script);
  hl_text_append(&policy, "; base-uri 'none'; form-action 'none'");
  hl_html_void(html, "meta", "http-equiv", "Content-Security-Policy", "content", policy.data, NULL);
  html->out->failed = html->out->failed || policy.failed;
  hl_text_release(&policy);
}

static void put_asset(hl_html *html, const char *name) {
  const hl_asset *asset = hl_asset_find(name);
  if (asset) hl_html_asset(html, asset);
}

void hl_page_head(hl_html *html, const char *title) {
  hl_html_doctype(html);
  hl_html_open(html, "html", "lang", "en", NULL);
  hl_html_open(html, "head", NULL);
  hl_html_void(html, "meta", "charset", "utf-8", NULL);
  hl_html_void(html, "meta", "name", "viewport", "content", "width=device-width, initial-scale=1",
               NULL);
  hl_html_void(html, "meta", "name", "color-scheme", "content", "light dark", NULL);
  hl_html_open(html, "title", NULL);
  hl_html_format(html, "%s - hotlap", title ? title : "");
  hl_html_close(html);
}

void hl_page_begin(hl_html *html, const hl_page *page) {
  hl_page_head(html, page->title);
  put_policy(html, page);
  hl_html_void(html, "meta", "name", "generator", "content", "hotlap " HL_VERSION, NULL);
  put_asset(html, style);
  hl_html_close(html);
  hl_html_open(html, "body", NULL);
  hl_html_open(html, "main", NULL);
}

void hl_page_end(hl_html *html, const hl_page *page) {
  while (html->depth > 2) hl_html_close(html); /* body and html stay */
  if (page->has_charts) put_asset(html, charts);
  put_asset(html, script);
  hl_html_close_to(html, 0);
  hl_text_char(html->out, '\n');
}
