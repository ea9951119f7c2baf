// Compiles, but has no such entry point.
extern "C" int fused_store(int) {
  return 0;
}
