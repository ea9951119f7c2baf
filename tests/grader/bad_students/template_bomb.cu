// Asks the compiler for more than there is.
template <int kDepth, int kWidth>
struct Bomb {
  static constexpr long value = Bomb<kDepth - 1, 2 * kWidth>::value + Bomb<kDepth - 1, 2 * kWidth + 1>::value;
};
template <int kWidth>
struct Bomb<0, kWidth> {
  static constexpr long value = kWidth;
};

extern "C" int fused_store_kv_async() {
  return static_cast<int>(Bomb<26, 1>::value);
}
