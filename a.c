typedef unsigned u32;
__attribute__((import_module("berth"), import_name("log"))) void host_log(int level, const char *at, u32 n);
static void maybe_log(int level, const char *at, u32 n) __attribute__((weakref("host_log")));
__asm__(".section .rodata.berth_manifest,\"\",@\n.globl berth_manifest\n.hidden berth_manifest\nberth_manifest:\n.incbin \"manifest.json\"\n.Lend:\n.size berth_manifest, .Lend-berth_manifest\n"
".section .rodata.berth_manifest_size,\"\",@\n.globl berth_manifest_size\nberth_manifest_size:\n.int32 .Lend-berth_manifest\n.size berth_manifest_size,4\n"
".section .custom_section.berth.manifest,\"\",@\n.incbin \"manifest.json\"\n.text\n");
extern const char berth_manifest[]; extern const u32 berth_manifest_size;
__attribute__((noinline,cold)) static void panic(const char *t, u32 n) { maybe_log(3, t, n); __builtin_trap(); }
#ifdef LOG
__attribute__((export_name("l"))) void l(void) { host_log(1, "hi", 2); }
#endif
__attribute__((export_name("f"))) u32 f(u32 i) { if (i >= berth_manifest_size) panic("bad", 3); return berth_manifest[i]; }
