// Device memory that lives as long as its owner, in the order of a stream: no call waits for the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

// `count` elements, allocated behind what is on the stream and freed behind what is put there until the
// buffer goes. Memory of a stream is handed on to its next buffer, so that only the first allocation costs
// anything. Inside a capture both become nodes of the graph.
template <typename T>
class StreamBuffer {
 public:
  StreamBuffer() = default;
  StreamBuffer(size_t count, cudaStream_t stream) : stream_(stream) {
    if (count > 0) {
      error_ = cudaMallocAsync(&data_, count * sizeof(T), stream);
      if (error_ != cudaSuccess) data_ = nullptr;
    }
  }
  ~StreamBuffer() { release(); }
  StreamBuffer(StreamBuffer&& other) noexcept { *this = std::move(other); }
  StreamBuffer& operator=(StreamBuffer&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, nullptr);
      stream_ = other.stream_;
      error_ = other.error_;
    }
    return *this;
  }
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;

  T* get() const { return data_; }
  cudaError_t error() const { return error_; }  // of the allocation

 private:
  void release() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
    data_ = nullptr;
  }

  T* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};
