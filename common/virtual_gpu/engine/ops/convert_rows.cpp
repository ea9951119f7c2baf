#include "ops/convert_rows.h"

namespace vgpu::ops {

void add_conversion_rows(FormTable& t, const std::string& name, int dst_type_width, int src_type_width,
                         std::span<const ConversionRow> rows) {
  t.count_as(InstrClass::kConvert);
  for (const ConversionRow& row : rows) {
    const std::string dst = std::to_string(row.dst_width), src = std::to_string(row.src_width);
    const bool exact = row.dst_width == dst_type_width && row.src_width == src_type_width;
    std::string full_name = name;
    if (!exact) full_name.append("#").append(dst).append(".").append(src);
    t.add(full_name, dst + " " + src, row.masked, row.full);
  }
}

}  // namespace vgpu::ops
