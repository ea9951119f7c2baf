// Operand values that arithmetic gets wrong most easily, followed by random bit patterns.
#pragma once

#include "check.cuh"

template <typename T>
std::vector<T> with_random(std::vector<T> values, int random_count, uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < random_count; ++i) {
    const uint64_t bits = random.next64();
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    values.push_back(value);
  }
  return values;
}

inline std::vector<uint32_t> edge_values_u32(int random_count) {
  return with_random<uint32_t>(
      {0u,          1u,          2u,          3u,          7u,         31u,         32u,
       33u,         127u,        128u,        255u,        256u,       0x7fffu,     0x8000u,
       0xffffu,     0x10000u,    0x7fffffu,   0x800000u,   0xffffffu,  0x7fffffffu, 0x80000000u,
       0x80000001u, 0xaaaaaaaau, 0x55555555u, 0xfffffffeu, 0xffffffffu},
      random_count, 32);
}

inline std::vector<uint64_t> edge_values_u64(int random_count) {
  return with_random<uint64_t>({0ull,
                                1ull,
                                2ull,
                                5ull,
                                31ull,
                                32ull,
                                63ull,
                                64ull,
                                65ull,
                                0xffffull,
                                0x7fffffffull,
                                0x80000000ull,
                                0xffffffffull,
                                0x100000000ull,
                                0x1ffffffffull,
                                0x7fffffffffffffffull,
                                0x8000000000000000ull,
                                0x8000000000000001ull,
                                0xfffffffffffffffeull,
                                0xffffffffffffffffull},
                               random_count, 64);
}

inline std::vector<float> edge_values_f32(int random_count) {
  const float inf = INFINITY;
  return with_random<float>({0.0f,
                             -0.0f,
                             1.0f,
                             -1.0f,
                             0.5f,
                             1.5f,
                             -2.5f,
                             3.0f,
                             1.0f / 3.0f,
                             16777216.0f,
                             -16777218.0f,
                             0x1p-149f,
                             -0x1p-149f,
                             0x1.fffffcp-127f,
                             0x1p-126f,
                             0x1.000002p-126f,
                             0x1.fffffep127f,
                             -0x1.fffffep127f,
                             0x1p-75f,
                             0x1p64f,
                             inf,
                             -inf,
                             NAN,
                             0x1.000002p0f,
                             0x1.fffffep-1f},
                            random_count, 132);
}

inline std::vector<double> edge_values_f64(int random_count) {
  const double inf = INFINITY;
  return with_random<double>({0.0,
                              -0.0,
                              1.0,
                              -1.0,
                              0.5,
                              1.5,
                              -2.5,
                              3.0,
                              1.0 / 3.0,
                              0x1p53,
                              -0x1.0000000000001p53,
                              0x1p-1074,
                              -0x1p-1074,
                              0x1.ffffffffffffep-1023,
                              0x1p-1022,
                              0x1.0000000000001p-1022,
                              0x1.fffffffffffffp1023,
                              -0x1.fffffffffffffp1023,
                              0x1p-540,
                              0x1p512,
                              inf,
                              -inf,
                              static_cast<double>(NAN),
                              0x1.0000000000001p0,
                              0x1.fffffffffffffp-1},
                             random_count, 164);
}
