// Berth's C SDK, of which only the version matters here.
#ifndef BERTH_H
#define BERTH_H
#define BERTH_SDK_VERSION "0.2.0"
#endif
