// An image of four-byte pixels rotated by 90, 180 and 270 degrees through shared memory.
#include "../programs/check.cuh"

constexpr int kSize = 40, kTile = 8;

__global__ void turn(const uchar4* in, uchar4* out) {
  __shared__ uchar4 tile[kTile][kTile + 1];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * kSize + x];
  __syncthreads();
  const int to_x = kSize - 1 - (blockIdx.y * kTile + threadIdx.x), to_y = blockIdx.x * kTile + threadIdx.y;
  out[to_y * kSize + to_x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  Report report("image_rotation");
  std::vector<uchar4> image(kSize * kSize), next(kSize * kSize);
  for (int i = 0; i < kSize * kSize; ++i)
    image[i] = make_uchar4(static_cast<unsigned char>(i), static_cast<unsigned char>(i / 7),
                           static_cast<unsigned char>(i * 3), 255);
  DeviceBuffer<uchar4> a(image), b(kSize * kSize);
  const dim3 grid(kSize / kTile, kSize / kTile), block(kTile, kTile);
  for (int quarter = 0; quarter < 3; ++quarter) {
    turn<<<grid, block>>>((quarter % 2 == 0 ? a : b).get(), (quarter % 2 == 0 ? b : a).get());
    LAUNCHED_OK();
    for (int y = 0; y < kSize; ++y)
      for (int x = 0; x < kSize; ++x) next[x * kSize + kSize - 1 - y] = image[y * kSize + x];
    image = next;
    const std::vector<uchar4> got = (quarter % 2 == 0 ? b : a).download();
    report.check(std::memcmp(got.data(), image.data(), image.size() * sizeof(uchar4)) == 0, "a quarter turn");
  }
  return report.finish();
}
