#include "ops/convert_rows.h"

namespace vgpu::ops {

void convert_resized(Warp& w, const Op& op, LaneConversion resize_source, LaneConversion convert,
                     LaneConversion resize_result) {
  uint64_t narrow_source[kLanes], result[kLanes];  // room for lanes of any width
  const void* in = w.regs + op.src[0];
  void* out = w.regs + op.dst;
  if (resize_source != nullptr) {
    resize_source(in, narrow_source);
    in = narrow_source;
  }
  if (resize_result == nullptr) {
    convert(in, out);
  } else {
    convert(in, result);
    resize_result(result, out);
  }
}

void add_conversion_rows(FormTable& t, Modifiers modifiers, std::string_view dst_type,
                         std::string_view src_type, int dst_type_width, int src_type_width,
                         std::span<const ConversionRow> rows) {
  t.count_as(InstrClass::kConvert);
  std::string name("cvt");
  for (const char* modifier : modifiers) name.append(modifier);
  name.append(".").append(dst_type).append(".").append(src_type);
  for (const ConversionRow& row : rows) {
    const std::string dst = std::to_string(row.dst_width), src = std::to_string(row.src_width);
    const bool exact = row.dst_width == dst_type_width && row.src_width == src_type_width;
    std::string full_name = name;
    if (!exact) full_name.append("#").append(dst).append(".").append(src);
    t.add(full_name, dst + " " + src, row.masked, row.full);
  }
}

}  // namespace vgpu::ops
