#include "module_parser.h"

namespace vgpu::ptx {

Module parse(const std::string& text) {
  return ModuleParser(text).parse();
}

}  // namespace vgpu::ptx
