// Runs vectors.c natively: vectors FOLDER, that of the vectors.

#include "vectors.c"

#include "native.h"

static char *file(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "rb");
  if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
    perror(path);
    exit(1);
  }
  long n = ftell(f);
  char *text = calloc(1, (size_t)n + 1);
  rewind(f);
  if (text == NULL || fread(text, 1, (size_t)n, f) != (size_t)n) exit(1);
  fclose(f);
  return text;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  start(LOW, (BerthHost){0});
  CHECK(berth_abi() == BERTH_ABI_VERSION);
  char *regions = file(argv[1], "regions.json"), *pods = file(argv[1], "pods.json"), *json = file(argv[1], "json.json");
  char *names = file(argv[1], "names.json");
  BerthText config = berth_keep_text(berth_concat("{\"regions\": ", regions, ", \"pods\": ", pods, ", \"json\": ", json, ", \"names\": ", names, "}"));
  free(regions);
  free(pods);
  free(json);
  free(names);
  if (berth_configure(berth__address(config.at), config.n) == 0) return 0;
  fprintf(stderr, "%s\n", logged);
  return 1;
}
