// A slip of the keyboard.
extern "C" int fused_store_kv_async(int tokens) {
  return tokens +;
}
