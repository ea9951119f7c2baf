#include "device/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace vgpu {
namespace {

// A freed range stays unused until this much has been freed after it, by count or by size.
constexpr uint64_t kQuarantineFrees = 64;
constexpr uint64_t kQuarantineBytes = 64ull << 20;

uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

SharedFile::SharedFile(const char* name, uint64_t address, uint64_t bytes, uint64_t least) {
  std::string why;
  for (uint64_t size = bytes; size >= least; size /= 2)
    if (open_and_map(name, address, size, &why)) return;
  throw std::runtime_error(std::string("cannot map shared memory for the ") + name + " (" + why +
                           "): raise the address-space and file-size limits (ulimit -v, ulimit -f)");
}

bool SharedFile::open_and_map(const char* name, uint64_t address, uint64_t bytes, std::string* why) {
  fd_ = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void* wanted = reinterpret_cast<void*>(address);
  const int fixed = address == 0 ? 0 : MAP_FIXED_NOREPLACE;
  void* mapped = MAP_FAILED;
  if (fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(bytes)) == 0 &&
      fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    mapped = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, fd_, 0);
  // A kernel that does not know MAP_FIXED_NOREPLACE takes the address as a hint.
  if (mapped != MAP_FAILED && address != 0 && mapped != wanted) {
    munmap(mapped, bytes);
    mapped = MAP_FAILED;
    errno = EEXIST;
  }
  if (mapped == MAP_FAILED) {
    *why = std::strerror(errno);
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    return false;
  }
  data_ = static_cast<uint8_t*>(mapped);
  bytes_ = bytes;
  return true;
}

SharedFile::~SharedFile() {
  munmap(data_, bytes_);
  close(fd_);
}

void SharedFile::discard(uint64_t address, uint64_t bytes) {
  const off_t offset = static_cast<off_t>(address - this->address());
  if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(bytes)) != 0)
    std::memset(reinterpret_cast<void*>(address), 0, bytes);
}

Arena::Arena(const char* name, uint64_t address, uint64_t bytes)
    : file_(name, address, bytes, 1ull << 30), next_(file_.address() + kGuardBytes) {}

uint64_t Arena::footprint(uint64_t bytes, uint64_t guard) {
  return round_up(bytes, kGuardBytes) + round_up(guard, kGuardBytes);
}

uint64_t Arena::take(uint64_t bytes, uint64_t align) {
  if (bytes > file_.bytes() || align > file_.bytes()) return 0;
  const uint64_t step = align < kGuardBytes ? kGuardBytes : align;
  uint64_t guard = std::max(bytes, kWideGuardBytes);
  uint64_t address = take_with_guard(bytes, step, guard);
  if (address == 0) address = take_with_guard(bytes, step, guard = kGuardBytes);
  if (address != 0) taken_[address] = footprint(bytes, guard);
  return address;
}

uint64_t Arena::take_with_guard(uint64_t bytes, uint64_t align, uint64_t guard) {
  const uint64_t wanted = footprint(bytes, guard);
  end_quarantine(false);
  if (const uint64_t address = take_from_hole(wanted, align)) return address;
  const uint64_t address = round_up(next_, align);
  if (address + wanted <= file_.address() + file_.bytes()) {
    if (address > next_) add_hole(next_, address - next_);
    next_ = address + wanted;
    return address;
  }
  end_quarantine(true);
  return take_from_hole(wanted, align);
}

uint64_t Arena::take_from_hole(uint64_t bytes, uint64_t align) {
  for (const auto& hole : holes_) {
    const uint64_t start = hole.first, size = hole.second;
    const uint64_t address = round_up(start, align);
    if (address + bytes > start + size) continue;
    holes_.erase(start);
    if (address > start) add_hole(start, address - start);
    if (address + bytes < start + size) add_hole(address + bytes, start + size - address - bytes);
    return address;
  }
  return 0;
}

void Arena::give_back(uint64_t address, uint64_t bytes) {
  file_.discard(address, bytes);
  frees_ += 1;
  freed_bytes_ += bytes;
  const auto taken = taken_.find(address);
  quarantine_.push_back({address, taken->second, frees_, freed_bytes_});
  taken_.erase(taken);
}

void Arena::end_quarantine(bool all) {
  while (!quarantine_.empty()) {
    const Freed& oldest = quarantine_.front();
    if (!all && frees_ - oldest.frees_before < kQuarantineFrees &&
        freed_bytes_ - oldest.bytes_before < kQuarantineBytes)
      return;
    add_hole(oldest.address, oldest.bytes);
    quarantine_.pop_front();
  }
}

void Arena::add_hole(uint64_t address, uint64_t bytes) {
  auto after = holes_.lower_bound(address);
  if (after != holes_.end() && after->first == address + bytes) {
    bytes += after->second;
    after = holes_.erase(after);
  }
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += bytes;
      return;
    }
  }
  holes_[address] = bytes;
}

}  // namespace vgpu
