// Interleaved tensors, NC/8HWC8 and NC/16HWC16: 16 or 32 bytes of channels of a pixel lie together, and the
// pixels of a slice of channels follow each other. A copy takes boxes or pixels of one slice.
#include "pixels.cuh"

using namespace hopper;

constexpr int kWidth = 12, kHeight = 6, kSlices = 3, kImages = 2, kBoxWidth = 8, kBoxHeight = 2;
constexpr int kElements = kBoxWidth * kBoxHeight;

__global__ void fetch(const __grid_constant__ CUtensorMap map, At at, bool pixels, int dx, int dy, int bytes,
                      uint16_t* out) {
  __shared__ __align__(1024) uint8_t tile[kElements * 32];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, static_cast<uint32_t>(bytes));
    if (pixels)
      load_pixels_4d(tile, &map, at, dx, dy, &barrier);
    else
      load_box_4d(tile, &map, at, &barrier);
  }
  wait(&barrier, 0);
  // Of 32 bytes, the two halves are exchanged by the swizzle.
  const int width = bytes == kElements * 32 ? 32 : 16;
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 2; i += static_cast<int>(blockDim.x))
    out[i] = *reinterpret_cast<const uint16_t*>(tile + swizzled(static_cast<uint32_t>(i) * 2, width));
}

__global__ void put(const __grid_constant__ CUtensorMap map, At at, bool pixels) {
  __shared__ __align__(128) uint16_t tile[kElements * 8];
  for (int i = static_cast<int>(threadIdx.x); i < kElements * 8; i += static_cast<int>(blockDim.x))
    tile[i] = static_cast<uint16_t>(i + 1);
  fence_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (pixels)
    store_pixels_4d(&map, tile, at);
  else
    store_box_4d(&map, tile, at);
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// A tensor of halves with `channels` of them in an element.
TensorLayout layout_of(int channels) {
  const auto pixel = static_cast<cuuint64_t>(channels) * 2;
  TensorLayout t{CU_TENSOR_MAP_DATA_TYPE_UINT16,
                 {kWidth, kHeight, kSlices, kImages},
                 {pixel * kWidth, pixel * kWidth * kHeight, pixel * kWidth * kHeight * kSlices}};
  t.interleave = channels == 8 ? CU_TENSOR_MAP_INTERLEAVE_16B : CU_TENSOR_MAP_INTERLEAVE_32B;
  t.swizzle = channels == 8 ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_32B;
  return t;
}

int index_of(int channels, int x, int y, int slice, int n) {
  return (((n * kSlices + slice) * kHeight + y) * kWidth + x) * channels;
}

// The places of an element's copy, in order: of a box, or of pixels from a place in a bounding box on.
struct Place {
  int x, y, n;
};
std::vector<Place> box_places(const At& at) {
  std::vector<Place> places;
  for (int i = 0; i < kElements; ++i)
    places.push_back({at.c[0] + i % kBoxWidth, at.c[1] + i / kBoxWidth, at.c[3]});
  return places;
}
std::vector<Place> pixel_places(const At& at, int low, int width, int height, int dx, int dy) {
  std::vector<Place> places;
  const int first = ((at.c[3] * height) + at.c[1] - low) * width + at.c[0] - low;
  for (int i = first; i < first + kElements; ++i)
    places.push_back({i % width + low + dx, i / width % height + low + dy, i / width / height});
  return places;
}
bool inside(const Place& p) {
  return p.x >= 0 && p.x < kWidth && p.y >= 0 && p.y < kHeight && p.n < kImages;
}

void loads(Report& report, Random& random, const char* name, int channels) {
  std::vector<uint16_t> values(static_cast<size_t>(kWidth * kHeight * kSlices * kImages * channels));
  for (uint16_t& value : values) value = static_cast<uint16_t>(random.below(65535) + 1);
  DeviceBuffer<uint16_t> tensor(values), out(static_cast<size_t>(kElements * channels));
  const TensorLayout layout = layout_of(channels);
  const CUtensorMap boxes = box_map(layout, tensor.get(), {kBoxWidth, kBoxHeight, 1, 1});
  const CUtensorMap columns = pixel_map(layout, tensor.get(), {{-1, -1}, {-1, -1}, 16, kElements});
  std::vector<uint16_t> got, want;
  auto fetched = [&](const CUtensorMap& map, const At& at, bool pixels, int dx, int dy,
                     const std::vector<Place>& places) {
    fetch<<<1, 64>>>(map, at, pixels, dx, dy, kElements * channels * 2, out.get());
    LAUNCHED_OK();
    const std::vector<uint16_t> part = out.download();
    got.insert(got.end(), part.begin(), part.end());
    for (const Place& p : places)
      for (int c = 0; c < channels; ++c)
        want.push_back(inside(p) ? values[static_cast<size_t>(index_of(channels, p.x, p.y, at.c[2], p.n) + c)]
                                 : uint16_t{0});
  };
  for (const At& at : {At{{0, 0, 0, 0}}, At{{2, 3, 1, 1}}, At{{-3, -1, 2, 0}}, At{{9, 5, 1, 1}}})
    fetched(boxes, at, false, 0, 0, box_places(at));
  // The bounding box is as large as the tensor, one to the left of and above it.
  for (const At& at : {At{{-1, -1, 0, 0}}, At{{5, 4, 1, 0}}, At{{0, 4, 2, 1}}})
    for (const int tap : {0, 1, 2})
      fetched(columns, at, true, tap, 2 - tap, pixel_places(at, -1, kWidth, kHeight, tap, 2 - tap));
  report.equal(name, got, want);
}

void stores(Report& report, const char* name, bool pixels) {
  constexpr int kChannels = 8;
  const TensorLayout layout = layout_of(kChannels);
  std::vector<uint16_t> want(static_cast<size_t>(kWidth * kHeight * kSlices * kImages * kChannels), 0);
  DeviceBuffer<uint16_t> tensor(want);
  const CUtensorMap map = pixels ? pixel_map(layout, tensor.get(), {{0, 0}, {0, 0}, 16, kElements})
                                 : box_map(layout, tensor.get(), {kBoxWidth, kBoxHeight, 1, 1});
  const At at{{6, 5, 1, 0}};  // some of the elements are in the next image, or outside of the tensor
  put<<<1, 64>>>(map, at, pixels);
  LAUNCHED_OK();
  const std::vector<Place> places = pixels ? pixel_places(at, 0, kWidth, kHeight, 0, 0) : box_places(at);
  for (int i = 0; i < kElements; ++i) {
    const Place& p = places[static_cast<size_t>(i)];
    if (!inside(p)) continue;
    for (int c = 0; c < kChannels; ++c)
      want[static_cast<size_t>(index_of(kChannels, p.x, p.y, at.c[2], p.n) + c)] =
          static_cast<uint16_t>(i * kChannels + c + 1);
  }
  report.equal(name, tensor.download(), want);
}

int main() {
  Report report("tensor_interleaved");
  Random random(133);
  loads(report, random, "slices_of_16_bytes", 8);
  loads(report, random, "slices_of_32_bytes", 16);
  stores(report, "stored_boxes", false);
  stores(report, "stored_pixels", true);
  return report.finish();
}
