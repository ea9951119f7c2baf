// Stencils: each output is a mean of its neighbours.
#include "bench.cuh"

namespace {

template <int kRadius>
__global__ void line(const float* from, float* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kRadius || i >= n - kRadius) return;
  float sum = 0;
#pragma unroll
  for (int k = -kRadius; k <= kRadius; ++k) sum += from[i + k];
  to[i] = sum / (2 * kRadius + 1);
}

template <int kRadius>
__global__ void line_shared(const float* from, float* to, int n) {
  __shared__ float part[256 + 2 * kRadius];
  const int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x + kRadius] = from[i];
  if (threadIdx.x < kRadius) {
    part[threadIdx.x] = i >= kRadius ? from[i - kRadius] : 0.0f;
    part[threadIdx.x + 256 + kRadius] = i + 256 < n ? from[i + 256] : 0.0f;
  }
  __syncthreads();
  if (i < kRadius || i >= n - kRadius) return;
  float sum = 0;
#pragma unroll
  for (int k = -kRadius; k <= kRadius; ++k) sum += part[threadIdx.x + kRadius + k];
  to[i] = sum / (2 * kRadius + 1);
}

__global__ void plane(const float* from, float* to, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int at = y * n + x;
  to[at] = 0.2f * (from[at] + from[at - 1] + from[at + 1] + from[at - n] + from[at + n]);
}

// Threads of a warp lie below each other: every load touches 32 lines.
__global__ void plane_down_columns(const float* from, float* to, int n) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x, x = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int at = y * n + x;
  to[at] = 0.2f * (from[at] + from[at - 1] + from[at + 1] + from[at - n] + from[at + n]);
}

__global__ void plane_shared(const float* from, float* to, int n) {
  __shared__ float tile[10][34];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const int at = y * n + x, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  tile[ty][tx] = from[at];
  if (threadIdx.x == 0 && x > 0) tile[ty][0] = from[at - 1];
  if (threadIdx.x == 31 && x < n - 1) tile[ty][33] = from[at + 1];
  if (threadIdx.y == 0 && y > 0) tile[0][tx] = from[at - n];
  if (threadIdx.y == 7 && y < n - 1) tile[9][tx] = from[at + n];
  __syncthreads();
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  to[at] = 0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}

__global__ void space(const float* from, float* to, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  const int at = (z * n + y) * n + x;
  to[at] = (from[at] + from[at - 1] + from[at + 1] + from[at - n] + from[at + n] + from[at - n * n] +
            from[at + n * n]) /
           7.0f;
}

// Each thread goes through a column of the volume and keeps the plane before and behind in registers.
__global__ void space_marching(const float* __restrict__ from, float* __restrict__ to, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  float before = from[y * n + x], here = from[(n + y) * n + x];
  for (int z = 1; z < n - 1; ++z) {
    const int at = (z * n + y) * n + x;
    const float behind = from[at + n * n];
    to[at] = (here + from[at - 1] + from[at + 1] + from[at - n] + from[at + n] + before + behind) / 7.0f;
    before = here;
    here = behind;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  auto add = [&](const std::string& family, const char* name, size_t count, int n, auto kernel, dim3 grid,
                 dim3 block) {
    cases.push_back({family,
                     name,
                     {{4 * count, bench::Fill::kFloats}, {4 * count, bench::Fill::kZero}},
                     [=](const bench::Pointers& p) {
                       kernel<<<grid, block>>>(static_cast<const float*>(p[0]), static_cast<float*>(p[1]), n);
                     }});
  };
  constexpr int kLine = 1 << 21, kPlane = 1536, kSpace = 128;
  add("stencil_line", "stencil_line_3", kLine, kLine, line<3>, kLine / 256, 256);
  add("stencil_line", "stencil_line_3_shared", kLine, kLine, line_shared<3>, kLine / 256, 256);
  add("stencil_line", "stencil_line_16", kLine, kLine, line<16>, kLine / 256, 256);
  add("stencil_line", "stencil_line_16_shared", kLine, kLine, line_shared<16>, kLine / 256, 256);
  constexpr size_t kPlaneCount = size_t{kPlane} * kPlane;
  add("stencil_plane", "stencil_plane", kPlaneCount, kPlane, plane, dim3(kPlane / 32, kPlane / 8),
      dim3(32, 8));
  add("stencil_plane", "stencil_plane_down_columns", kPlaneCount, kPlane, plane_down_columns,
      dim3(kPlane / 32, kPlane / 8), dim3(32, 8));
  add("stencil_plane", "stencil_plane_shared", kPlaneCount, kPlane, plane_shared,
      dim3(kPlane / 32, kPlane / 8), dim3(32, 8));
  constexpr size_t kSpaceCount = size_t{kSpace} * kSpace * kSpace;
  add("stencil_space", "stencil_space", kSpaceCount, kSpace, space, dim3(kSpace / 32, kSpace / 8, kSpace),
      dim3(32, 8));
  add("stencil_space", "stencil_space_marching", kSpaceCount, kSpace, space_marching,
      dim3(kSpace / 32, kSpace / 8), dim3(32, 8));
  return bench::main_of(argc, argv, cases);
}
