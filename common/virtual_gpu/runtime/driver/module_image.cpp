#include "driver/module_image.h"

#include <fatbinary_section.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "connection.h"
#include "driver/driver.h"
#include "fatbin.h"

namespace vgpu {

namespace {

constexpr uint32_t kFatbinContainer = 0xBA55ED50, kElf = 0x464c457f, kNoContainer = 0;
constexpr char kLinkedMark[8] = {'V', 'G', 'P', 'U', 'L', 'I', 'N', 'K'};

}  // namespace

CUresult image_text(const void* image, std::string* text) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* const characters = static_cast<const char*>(image);
  // Text ends at its first zero byte, and no container begins with one.
  if (characters[0] == 0) return CUDA_ERROR_INVALID_IMAGE;
  uint32_t mark = kNoContainer;
  if (strnlen(characters, sizeof mark) == sizeof mark) std::memcpy(&mark, image, sizeof mark);
  if (mark == kElf) {
    say("a module of machine code (a cubin) cannot run here: load PTX, which nvcc -ptx makes");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (strncmp(characters, kLinkedMark, sizeof kLinkedMark) == 0) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, characters + sizeof kLinkedMark, sizeof bytes);
    text->assign(characters + sizeof kLinkedMark + sizeof bytes, bytes);
    return CUDA_SUCCESS;
  }
  if (mark != kFatbinContainer && mark != static_cast<uint32_t>(FATBINC_MAGIC)) {
    text->assign(characters);
    return CUDA_SUCCESS;
  }
  __fatBinC_Wrapper_t wrapper{};
  wrapper.magic = FATBINC_MAGIC;
  wrapper.version = FATBINC_VERSION;
  wrapper.data = static_cast<const unsigned long long*>(image);
  const wire::DeviceInfo& device = Connection::get().device();
  const PtxChoice ptx =
      choose_ptx(mark == kFatbinContainer ? &wrapper : image, device.cc_major * 10 + device.cc_minor);
  if (ptx.text.empty()) {
    say("%s", ptx.problem.c_str());
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  text->assign(ptx.text);
  return CUDA_SUCCESS;
}

std::string linked_image(const std::string& text) {
  const uint64_t bytes = text.size();
  std::string image(kLinkedMark, sizeof kLinkedMark);
  image.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return image + text;
}

CUresult read_image(const char* path, std::string* bytes) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  bytes->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  bytes->push_back(0);  // PTX in a file need not end in one
  return CUDA_SUCCESS;
}

}  // namespace vgpu
