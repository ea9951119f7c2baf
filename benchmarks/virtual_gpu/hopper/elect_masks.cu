// elect.sync in parts of a warp: each part has one leader, which is one of its own lanes.
#include "../programs/check.cuh"

__device__ uint32_t elected(uint32_t members) {
  uint32_t leader, is_leader;
  asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p;}"
               : "=r"(leader), "=r"(is_leader)
               : "r"(members));
  return leader * 2 + is_leader;
}

__global__ void elect(uint32_t* out) {
  const uint32_t lane = threadIdx.x % 32;
  uint32_t seen;
  if (lane < 7)
    seen = elected(0x7f);
  else if (lane % 2 == 0)
    seen = elected(0x55555500);
  else
    seen = elected(0xaaaaaa80);
  __syncwarp();
  out[threadIdx.x] = seen;
}

int main() {
  Report report("elect_masks");
  const int threads = 64;
  DeviceBuffer<uint32_t> out(threads);
  elect<<<1, threads>>>(out.get());
  LAUNCHED_OK();
  const std::vector<uint32_t> got = out.download();
  for (int warp = 0; warp < threads / 32; ++warp)
    for (const uint32_t members : {0x7fu, 0x55555500u, 0xaaaaaa80u}) {
      uint32_t first = 0, leaders = 0;
      while (!(members >> first & 1)) ++first;
      const uint32_t leader = got[warp * 32 + first] / 2;
      report.check(leader < 32 && (members >> leader & 1), "the leader is one of the members");
      for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(members >> lane & 1)) continue;
        const uint32_t seen = got[warp * 32 + lane];
        leaders += seen & 1;
        report.check(seen / 2 == leader, "all members know the leader");
        report.check((seen & 1) == (lane == leader), "the leader alone has the predicate");
      }
      report.check(leaders == 1, "there is one leader");
    }
  return report.finish();
}
