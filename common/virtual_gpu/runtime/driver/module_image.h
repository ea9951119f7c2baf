// The PTX inside what a program gives the driver API to load.
#pragma once

#include <cuda.h>

#include <string>

namespace vgpu {

// PTX text, a fat binary, its wrapper, or what cuLinkComplete made. What is none of these is refused with a
// sentence.
CUresult image_text(const void* image, std::string* text);
// Several texts as one image, for image_text; the engine links them.
std::string linked_image(const std::string& text);
CUresult read_image(const char* path, std::string* bytes);

}  // namespace vgpu
