// Six strided two-dimensional copies in one launch: the grid's second dimension picks the copy, and each
// picks the widest vector that its pointers, strides and width allow.
#include "check.cuh"

constexpr int kCopies = 6, kThreads = 128;

struct Copy {
  const uint8_t* from;
  uint8_t* to;
  int64_t from_stride, to_stride;  // in bytes
  int rows, width;
};
struct Copies {
  Copy copies[kCopies];
};

template <typename Vector>
__device__ void copy_as(const Copy& copy) {
  const int per_row = copy.width / static_cast<int>(sizeof(Vector)), all = copy.rows * per_row;
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < all; k += gridDim.x * blockDim.x) {
    const int row = k / per_row, column = k % per_row * static_cast<int>(sizeof(Vector));
    *reinterpret_cast<Vector*>(copy.to + row * copy.to_stride + column) =
        *reinterpret_cast<const Vector*>(copy.from + row * copy.from_stride + column);
  }
}

__global__ void copy_all(const __grid_constant__ Copies all) {
  const Copy& copy = all.copies[blockIdx.y];
  const uint64_t together = reinterpret_cast<uint64_t>(copy.from) | reinterpret_cast<uint64_t>(copy.to) |
                            static_cast<uint64_t>(copy.from_stride | copy.to_stride | copy.width);
  if (together % 16 == 0) {
    copy_as<uint4>(copy);
  } else if (together % 8 == 0) {
    copy_as<uint2>(copy);
  } else if (together % 4 == 0) {
    copy_as<uint32_t>(copy);
  } else if (together % 2 == 0) {
    copy_as<uint16_t>(copy);
  } else {
    copy_as<uint8_t>(copy);
  }
}

struct Shape {
  int rows, width, from_offset, to_offset;
  int64_t from_stride, to_stride;
};
const Shape kShapes[kCopies] = {{20, 256, 0, 32, 512, 320}, {9, 72, 8, 16, 128, 72}, {31, 36, 4, 0, 40, 44},
                                {5, 30, 2, 6, 64, 30},      {17, 13, 3, 1, 19, 13},  {0, 16, 0, 0, 16, 16}};

int main() {
  Report report("strided_copy");
  Random random(41);
  constexpr int kBytes = 11000;
  std::vector<uint8_t> source(kBytes), want(kCopies * kBytes, 0x33);
  for (uint8_t& byte : source) byte = static_cast<uint8_t>(random.next32());
  DeviceBuffer<uint8_t> input(source), output(want.size());
  output.fill_bytes(0x33);
  Copies all;
  for (int c = 0; c < kCopies; ++c) {
    const Shape& shape = kShapes[c];
    // Each copy starts 16-byte aligned in its own part of the output, plus its offset.
    const int64_t begin = static_cast<int64_t>(c) * (kBytes / 16 * 16) + shape.to_offset;
    all.copies[c] = {input.get() + shape.from_offset,
                     output.get() + begin,
                     shape.from_stride,
                     shape.to_stride,
                     shape.rows,
                     shape.width};
    for (int row = 0; row < shape.rows; ++row) {
      for (int k = 0; k < shape.width; ++k) {
        want[begin + row * shape.to_stride + k] = source[shape.from_offset + row * shape.from_stride + k];
      }
    }
  }
  copy_all<<<dim3(3, kCopies), kThreads>>>(all);
  LAUNCHED_OK();
  report.equal("copies", output.download(), want);
  return report.finish();
}
