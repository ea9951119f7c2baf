// Copies of every form between every kind of memory, sizes that do not fit one piece, and fills.
#include "expect.cuh"

namespace {

std::vector<unsigned char> pattern(size_t count, unsigned seed) {
  std::vector<unsigned char> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>((i * 2654435761u + seed) >> 13);
  return bytes;
}

void round_trip(size_t count) {
  const std::vector<unsigned char> sent = pattern(count, 1);
  std::vector<unsigned char> back(count);
  void *one = nullptr, *two = nullptr;
  OK(cudaMalloc(&one, count));
  OK(cudaMalloc(&two, count));
  OK(cudaMemcpy(one, sent.data(), count, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(two, one, count, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(back.data(), two, count, cudaMemcpyDeviceToHost));
  HOLDS(back == sent);
  OK(cudaFree(one));
  OK(cudaFree(two));
}

void rows(size_t width, size_t height, size_t device_pitch, size_t host_pitch) {
  const std::vector<unsigned char> sent = pattern(host_pitch * height, 2);
  std::vector<unsigned char> back(host_pitch * height, 0xEE);
  void* device = nullptr;
  OK(cudaMalloc(&device, device_pitch * height));
  OK(cudaMemcpy2D(device, device_pitch, sent.data(), host_pitch, width, height, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DAsync(back.data(), host_pitch, device, device_pitch, width, height, cudaMemcpyDeviceToHost));
  OK(cudaDeviceSynchronize());
  bool same = true, untouched = true;
  for (size_t y = 0; y < height; ++y) {
    same = same && std::memcmp(&sent[y * host_pitch], &back[y * host_pitch], width) == 0;
    for (size_t x = width; x < host_pitch; ++x) untouched = untouched && back[y * host_pitch + x] == 0xEE;
  }
  HOLDS(same);
  HOLDS(untouched);
  OK(cudaFree(device));
}

void blocks() {
  const cudaExtent extent = make_cudaExtent(30, 4, 3);
  std::vector<unsigned char> sent = pattern(40 * 5 * 3, 3), back(40 * 5 * 3, 0);
  cudaPitchedPtr device{};
  OK(cudaMalloc3D(&device, extent));
  OK(cudaMemset3D(device, 9, extent));
  cudaMemcpy3DParms there{};
  there.srcPtr = make_cudaPitchedPtr(sent.data(), 40, 40, 5);
  there.dstPtr = device;
  there.dstPos = make_cudaPos(10, 1, 1);
  there.extent = make_cudaExtent(20, 3, 2);
  there.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&there));
  cudaMemcpy3DParms back_again{};
  back_again.srcPtr = device;
  back_again.dstPtr = make_cudaPitchedPtr(back.data(), 40, 40, 5);
  back_again.extent = extent;
  back_again.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&back_again));
  bool right = true;
  for (size_t z = 0; z < 3; ++z) {
    for (size_t y = 0; y < 4; ++y) {
      for (size_t x = 0; x < 30; ++x) {
        const bool inside = x >= 10 && y >= 1 && z >= 1;
        const unsigned char wanted = inside ? sent[((z - 1) * 5 + (y - 1)) * 40 + (x - 10)] : 9;
        right = right && back[(z * 5 + y) * 40 + x] == wanted;
      }
    }
  }
  HOLDS(right);
  OK(cudaFree(device.ptr));
}

void host_memory() {
  unsigned char *pinned = nullptr, *managed = nullptr, *device = nullptr;
  std::vector<unsigned char> pageable = pattern(64, 4);
  OK(cudaMallocHost(&pinned, 64));
  OK(cudaMallocManaged(&managed, 64));
  OK(cudaMalloc(&device, 64));
  OK(cudaMemcpy(pinned, pageable.data(), 64, cudaMemcpyHostToHost));
  OK(cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice));
  OK(cudaMemcpyAsync(managed, device, 64, cudaMemcpyDefault));
  OK(cudaDeviceSynchronize());
  HOLDS(std::memcmp(managed, pageable.data(), 64) == 0);
  std::vector<unsigned char> other(64);
  OK(cudaMemcpy(other.data(), pageable.data(), 64, cudaMemcpyDefault));
  HOLDS(other == pageable);
  OK(cudaMemset(managed, 3, 64));
  OK(cudaDeviceSynchronize());
  HOLDS(managed[0] == 3 && managed[63] == 3);
  // With unified addressing a kind is looked at only where pageable memory is concerned.
  OK(cudaMemcpy(device, pinned, 64, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(pinned, device, 64, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(device + 32, device, 32, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(device, pageable.data(), 64, cudaMemcpyHostToHost));
  OK(cudaMemcpyPeer(device, 0, device + 32, 0, 32));
  GIVES(cudaErrorInvalidDevice, cudaMemcpyPeer(device, 0, device + 32, 1, 32));
  OK(cudaFreeHost(pinned));
  OK(cudaFree(managed));
  OK(cudaFree(device));
}

void fills() {
  unsigned char* device = nullptr;
  std::vector<unsigned char> back(256);
  OK(cudaMalloc(&device, 256));
  OK(cudaMemset(device, 0x1AB, 256));
  OK(cudaMemset2D(device, 16, 5, 4, 8));
  OK(cudaMemset2D(device + 200, 2, 6, 8, 1));
  OK(cudaMemcpy(back.data(), device, 256, cudaMemcpyDeviceToHost));
  HOLDS(back[0] == 5 && back[3] == 5 && back[4] == 0xAB && back[16] == 5 && back[115] == 5 &&
        back[128] == 0xAB);
  HOLDS(back[199] == 0xAB && back[200] == 6 && back[207] == 6 && back[208] == 0xAB);
  OK(cudaMemsetAsync(nullptr, 0, 0));
  OK(cudaMemset(back.data(), 0, 0));
  OK(cudaFree(device));
}

}  // namespace

int main() {
  for (const size_t count : {1, 3, 4096, 65536, 65537, (8 << 20) - 1, (8 << 20) + 1, 20 << 20})
    round_trip(count);
  rows(7, 5, 16, 9);
  rows(1 << 20, 19, (1 << 20) + 512, 1 << 20);  // several rows at a time
  rows((8 << 20) + 5, 2, 9 << 20, 9 << 20);     // not even one
  blocks();
  host_memory();
  fills();
  return finish();
}
