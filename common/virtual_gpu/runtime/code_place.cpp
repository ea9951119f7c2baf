#include "code_place.h"

#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace vgpu {

thread_local const void* api_caller = nullptr;
thread_local wire::Api api_called = wire::Api::kRuntime;

namespace {

struct Search {
  uint64_t address;
  LoadedCode found;
};

int holds_address(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search.address - begin >= segment.p_memsz) continue;
    search.found = {object->dlpi_name, object->dlpi_addr, begin, begin + segment.p_memsz};
    return 1;
  }
  return 0;
}

}  // namespace

LoadedCode find_code(uint64_t address) {
  Search search{address, {}};
  dl_iterate_phdr(holds_address, &search);
  return search.found;
}

std::string path_of(const LoadedCode& code) {
  const bool is_program = code.file[0] == '\0';  // the loader leaves the program's own name out
  char path[PATH_MAX];
  return realpath(is_program ? "/proc/self/exe" : code.file, path) != nullptr ? path : code.file;
}

}  // namespace vgpu
