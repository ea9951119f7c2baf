// Drives a target where there is no libFuzzer: damages the files of a corpus, for some seconds of CPU time.
//
//   target CORPUS SECONDS SEED CURRENT     CURRENT holds the input being tried, for whoever finds us dead
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;
using Random = std::mt19937_64;

constexpr size_t kLongest = 1 << 16;

std::vector<Input> read_corpus(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

size_t below(Random& random, size_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

// A number that tends to be at an edge of something, in one to eight bytes.
void put_number(Input& input, size_t at, Random& random) {
  static constexpr uint64_t kEdges[] = {0, 1, 2, 16, 255, 1 << 16, 1u << 31, ~0u, 1ull << 40, ~0ull};
  uint64_t number = kEdges[below(random, std::size(kEdges))] + below(random, 3) - 1;
  if (below(random, 3) == 0) number = random();
  const size_t bytes = std::min<size_t>(size_t{1} << below(random, 4), input.size() - at);
  std::memcpy(&input[at], &number, bytes);
}

void damage(Input& input, const std::vector<Input>& corpus, Random& random) {
  for (size_t left = 1 + below(random, 5); left > 0 && !input.empty(); --left) {
    const size_t at = below(random, input.size());
    const auto here = input.begin() + static_cast<ptrdiff_t>(at);
    const Input& other = corpus[below(random, corpus.size())];
    const size_t from = below(random, other.size());
    const size_t bytes = below(random, std::min<size_t>(other.size() - from, 512) + 1);
    const auto piece = other.begin() + static_cast<ptrdiff_t>(from);
    switch (below(random, 6)) {
      case 0:
        input[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        input[at] ^= static_cast<uint8_t>(1u << below(random, 8));
        break;
      case 2:
        input.erase(here,
                    here + static_cast<ptrdiff_t>(below(random, std::min<size_t>(input.size() - at, 64))));
        break;
      case 3:
        input.insert(here, piece, piece + static_cast<ptrdiff_t>(bytes));
        break;
      case 4:
        std::copy_n(piece, std::min(bytes, input.size() - at), here);
        break;
      default:
        put_number(input, at, random);
    }
  }
  if (input.size() > kLongest) input.resize(kLongest);
}

// Of CPU time: an input that takes so long is a finding, and ends us.
void limit_seconds(time_t seconds) {
  const itimerval limit{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::vector<Input> corpus = read_corpus(argv[1]);
  const double seconds = std::atof(argv[2]);
  Random random(std::strtoull(argv[3], nullptr, 10));
  const int file = open(argv[4], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (corpus.empty() || file < 0) return 2;
  size_t tried = 0;
  while (static_cast<double>(std::clock()) / CLOCKS_PER_SEC < seconds) {
    Input input = corpus[tried % corpus.size()];
    if (tried >= corpus.size()) damage(input, corpus, random);
    if (ftruncate(file, 0) != 0 || pwrite(file, input.data(), input.size(), 0) < 0) return 2;
    limit_seconds(60);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    ++tried;
  }
  std::printf("%zu\n", tried);
  return 0;
}
