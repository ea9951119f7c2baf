// Runs rows of the engine's arithmetic tables on register files that come on stdin, until it ends.
//
// A request is eight 32-bit words: what ("list" or "run"), row, whether the form for full warps is wanted,
// the immediate (two words), register files, slots of a file, repeats. A run is followed by the slot of each
// operand, by each file's mask of active lanes, and by the files; the answer is the seconds it took, as a
// double, and the files. The answer to a list is its length and a line of text for each row.
//
// An operand is a slot of 256 bytes, enough for 32 lanes of 64 bits; the slots come in the order of the
// row's signature, both halves of p|p apart, the elements of a vector apart, and for carries first the slot
// that is read, then the one that is written.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "exec/warp.h"
#include "ops/tables.h"

namespace {

constexpr uint32_t kSlotBytes = 256;

struct alignas(64) Slot {
  uint8_t bytes[kSlotBytes];
};

const std::vector<vgpu::OpForm>& all_forms() {
  static const std::vector<vgpu::OpForm> forms = [] {
    std::vector<vgpu::OpForm> all;
    for (auto table :
         {vgpu::integer_forms(), vgpu::float_forms(), vgpu::half_forms(), vgpu::convert_forms(),
          vgpu::compare_forms(), vgpu::bit_forms(), vgpu::move_forms(), vgpu::special_function_forms()}) {
      all.insert(all.end(), table.begin(), table.end());
    }
    return all;
  }();
  return forms;
}

// An Op for the row, its operands in the given slots. `list` must outlive the Op.
vgpu::Op bind_operands(const vgpu::OpForm& form, const uint32_t* slots, uint64_t imm,
                       std::vector<uint32_t>& list) {
  vgpu::Op op;
  op.fn[0] = form.masked;
  op.fn[1] = form.full;
  op.table.imm = form.imm | imm;
  const bool uses_list = std::string(form.signature).find('x') != std::string::npos;
  uint32_t sources = 0;
  bool destination = true;
  const auto next = [&] { return *slots++ * kSlotBytes; };
  std::istringstream tokens(form.signature);
  for (std::string token; tokens >> token;) {
    if (token == "#") continue;
    if (token == "p|p") {
      op.dst = next();
      op.dst2 = next();
    } else if (token.back() == 'c') {
      if (token != "+c") op.src[3] = next();
      if (token != "-c") op.dst2 = next();
    } else if (uses_list) {
      const size_t x = token.find('x');
      const int count = x == std::string::npos ? 1 : std::stoi(token.substr(x + 1));
      for (int i = 0; i < count; ++i) list.push_back(next());
    } else if (destination) {
      op.dst = next();
    } else {
      op.src[sources++] = next();
    }
    destination = false;
  }
  op.list = list.data();
  return op;
}

struct Request {
  uint32_t what, row, full, imm_low, imm_high, files, slots_a_file, repeats;
};

enum : uint32_t { kList, kRun };

bool read_all(void* to, size_t bytes) {
  return std::fread(to, 1, bytes, stdin) == bytes;
}

void write_all(const void* from, size_t bytes) {
  if (std::fwrite(from, 1, bytes, stdout) != bytes) std::exit(1);
}

void answer_list() {
  std::string text;
  for (const vgpu::OpForm& form : all_forms()) {
    text.append(form.name).append("\t").append(form.signature).append("\n");
  }
  const uint64_t length = text.size();
  write_all(&length, sizeof length);
  write_all(text.data(), text.size());
}

bool answer_run(const Request& request) {
  const vgpu::OpForm& form = all_forms().at(request.row);
  std::vector<uint32_t> slots(request.slots_a_file), exec(request.files), list;
  const size_t file_bytes = size_t{request.slots_a_file} * kSlotBytes;
  // Register files are aligned to vectors, as in the engine.
  std::vector<Slot> files(size_t{request.files} * request.slots_a_file);
  if (!read_all(slots.data(), slots.size() * 4) || !read_all(exec.data(), exec.size() * 4) ||
      !read_all(files.data(), request.files * file_bytes)) {
    return false;
  }
  const vgpu::Op op =
      bind_operands(form, slots.data(), uint64_t{request.imm_high} << 32 | request.imm_low, list);
  const vgpu::OpFn fn = op.fn[request.full];
  vgpu::Warp warp;
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t k = 0; k < request.repeats; ++k) {
    for (uint32_t i = 0; i < request.files; ++i) {
      warp.regs = files[size_t{i} * request.slots_a_file].bytes;
      warp.exec = exec[i];
      fn(warp, op);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write_all(&seconds, sizeof seconds);
  write_all(files.data(), request.files * file_bytes);
  return true;
}

}  // namespace

int main() {
  Request request;
  while (read_all(&request, sizeof request)) {
    if (request.what == kList) {
      answer_list();
    } else if (!answer_run(request)) {
      return 1;
    }
    std::fflush(stdout);
  }
}
