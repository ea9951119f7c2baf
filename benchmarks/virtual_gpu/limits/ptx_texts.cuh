// PTX that the driver compiles when a program loads it: what it takes, and what starts.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>
#include <string>

#include "answer.cuh"

template <class Function>
Function* driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status);
  return reinterpret_cast<Function*>(found);
}

const char* name_of(CUresult result) {
  const char* name = "?";
  driver<CUresult(CUresult, const char**)>("cuGetErrorName")(result, &name);
  return name;
}

void module_of(const char* question, const std::string& ptx, unsigned threads = 32, unsigned blocks = 2) {
  CUmodule module = nullptr;
  const auto load = driver<CUresult(CUmodule*, const void*)>("cuModuleLoadData");
  if (const CUresult error = load(&module, ptx.c_str()); error != CUDA_SUCCESS) {
    answer(question, (std::string("not loaded, ") + name_of(error)).c_str());
    return;
  }
  CUfunction kernel = nullptr;
  if (const CUresult error =
          driver<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(&kernel, module, "k");
      error != CUDA_SUCCESS) {
    answer(question, (std::string("loaded, no kernel, ") + name_of(error)).c_str());
    return;
  }
  static char zeros[1 << 16];
  size_t bytes = sizeof zeros;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, zeros, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  const bool takes = ptx.find(".param") != std::string::npos;
  const auto launch = driver<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      unsigned, CUstream, void**, void**)>("cuLaunchKernel");
  const CUresult refused =
      launch(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, nullptr, takes ? extra : nullptr);
  if (refused != CUDA_SUCCESS) {
    answer(question, (std::string("loaded, not launched, ") + name_of(refused)).c_str());
    return;
  }
  const CUresult after = driver<CUresult()>("cuCtxSynchronize")();
  answer(question, after == CUDA_SUCCESS ? "runs" : (std::string("fails with ") + name_of(after)).c_str());
}

std::string text(const std::string& directives, const std::string& body = "", const std::string& before = "",
                 const char* target = "sm_90", const char* version = "8.0",
                 const std::string& arguments = "") {
  return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" + before +
         "\n.visible .entry k(" + arguments + ")\n" + directives + "\n{\n" + body + "\n  ret;\n}\n";
}

void texts() {
  cudaFree(nullptr);
  module_of("PTX", text(""));
  module_of("PTX for sm_80", text("", "", "", "sm_80"));
  module_of("PTX for sm_90a", text("", "", "", "sm_90a"));
  module_of("PTX for sm_100", text("", "", "", "sm_100", "8.6"));
  module_of("PTX for sm_100a", text("", "", "", "sm_100a", "8.6"));
  module_of("PTX for sm_12", text("", "", "", "sm_12"));
  module_of("PTX of version 9.9", text("", "", "", "sm_90", "9.9"));
  module_of("PTX of version 1.0 for sm_90", text("", "", "", "sm_90", "1.0"));
  module_of("PTX of version 7.0 for sm_90", text("", "", "", "sm_90", "7.0"));
  module_of(".address_size 32",
            ".version 8.0\n.target sm_90\n.address_size 32\n.visible .entry k()\n{\n ret;\n}\n");
  module_of("an unknown instruction", text("", "  fly.away.u32;"));
  module_of("an unknown label", text("", "  bra NOWHERE;"));
  module_of("an unknown function", text("", "  call there;", ".extern .func there();"));
  module_of("an unknown variable",
            text("", "  .reg .b64 %a;\n  mov.u64 %a, there;", ".extern .global .b32 there;"));
  module_of("no kernel k",
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry other()\n{\n ret;\n}\n");
  module_of("nothing", "");
  module_of("two kernels k", text("") + "\n.visible .entry k()\n{\n ret;\n}\n");
  const std::string to_shared = "  .reg .b32 %a;\n  mov.u32 %a, 1;\n  st.shared.b32 [s], %a;";
  module_of("static shared of 48 KB", text("", to_shared, ".shared .align 4 .b8 s[49152];"));
  module_of("static shared of 48 KB + 1", text("", to_shared, ".shared .align 4 .b8 s[49153];"));
  const std::string of_constant = "  .reg .b32 %a;\n  ld.const.b32 %a, [c];";
  module_of("constants of 64 KB", text("", of_constant, ".const .align 4 .b8 c[65536];"));
  module_of("constants of 64 KB + 1", text("", of_constant, ".const .align 4 .b8 c[65537];"));
  module_of("a parameter of 4,352 bytes", text("", "", "", "sm_90", "8.0", ".param .align 4 .b8 p[4352]"));
  module_of("a parameter of 4,353 bytes", text("", "", "", "sm_90", "8.0", ".param .align 4 .b8 p[4353]"));
  module_of("PTX 8.1, a parameter of 32,764 bytes",
            text("", "", "", "sm_90", "8.1", ".param .align 4 .b8 p[32764]"));
  module_of("PTX 8.1, a parameter of 32,765 bytes",
            text("", "", "", "sm_90", "8.1", ".param .align 4 .b8 p[32765]"));
  const auto of_local = [](const char* bytes) {
    return text("", std::string("  .local .align 4 .b8 l[") + bytes +
                        "];\n  .reg .b64 %l;\n  .reg .b32 %i;\n  mov.u64 %l, l;\n  mov.u32 %i, %tid.x;\n"
                        "  st.volatile.local.b32 [%l], %i;\n  ld.volatile.local.b32 %i, [%l];");
  };
  module_of("512 KB of local memory", of_local("524288"));
  module_of("1 MB of local memory", of_local("1048576"));
  module_of("16 MB of local memory", of_local("16777216"));
  module_of("1 GB of local memory", of_local("1073741824"));
  module_of(".maxntid 1024", text(".maxntid 1024, 1, 1"));
  module_of(".maxntid 1025", text(".maxntid 1025, 1, 1"));
  module_of(".maxntid 4, 4, 4 with 64 threads in a row", text(".maxntid 4, 4, 4"), 64);
  module_of(".maxntid 4, 4, 4 with 65 threads", text(".maxntid 4, 4, 4"), 65);
  module_of(".reqntid 64 with 32 threads", text(".reqntid 64, 1, 1"));
  module_of(".reqntid 64 with 64 threads", text(".reqntid 64, 1, 1"), 64);
  module_of(".reqntid 1, 1, 65", text(".reqntid 1, 1, 65"));
  module_of(".maxntid and .reqntid", text(".maxntid 64, 1, 1\n.reqntid 64, 1, 1"), 64);
  module_of(".minnctapersm alone", text(".minnctapersm 4"));
  module_of(".maxnreg 300", text(".maxnreg 300"));
  module_of(".maxnreg 0", text(".maxnreg 0"));
  module_of(".reqnctapercluster 2", text(".reqnctapercluster 2, 1, 1"));
  module_of(".reqnctapercluster 2, 3 blocks", text(".reqnctapercluster 2, 1, 1"), 32, 3);
  module_of(".reqnctapercluster 16", text(".reqnctapercluster 16, 1, 1"), 32, 16);
  module_of(".reqnctapercluster 32", text(".reqnctapercluster 32, 1, 1"), 32, 32);
  module_of(".reqnctapercluster for sm_80", text(".reqnctapercluster 2, 1, 1", "", "", "sm_80"));
  module_of(".explicitcluster", text(".explicitcluster"));
  module_of(".explicitcluster .reqnctapercluster 2", text(".explicitcluster\n.reqnctapercluster 2, 1, 1"));
  module_of(".maxclusterrank 4", text(".maxclusterrank 4"));
  module_of(".maxclusterrank 32", text(".maxclusterrank 32"));
  module_of(".maxclusterrank with .reqnctapercluster", text(".maxclusterrank 4\n.reqnctapercluster 2, 1, 1"));
  module_of("wgmma for sm_90", text("", "  wgmma.fence.sync.aligned;"));
  module_of("wgmma for sm_90a", text("", "  wgmma.fence.sync.aligned;", "", "sm_90a"));
  module_of("setmaxnreg for sm_90",
            text(".maxntid 128, 1, 1\n.maxnreg 64", "  setmaxnreg.dec.sync.aligned.u32 40;"), 128);
  module_of("setmaxnreg for sm_90a",
            text(".maxntid 128, 1, 1\n.maxnreg 64", "  setmaxnreg.dec.sync.aligned.u32 40;", "", "sm_90a"),
            128);
  module_of("setmaxnreg of 41",
            text(".maxntid 128, 1, 1\n.maxnreg 64", "  setmaxnreg.dec.sync.aligned.u32 41;", "", "sm_90a"),
            128);
  module_of("setmaxnreg of 264",
            text(".maxntid 128, 1, 1\n.maxnreg 64", "  setmaxnreg.inc.sync.aligned.u32 264;", "", "sm_90a"),
            128);
  module_of("setmaxnreg without a number of registers",
            text("", "  setmaxnreg.dec.sync.aligned.u32 40;", "", "sm_90a"), 128);
  module_of("cluster barrier for sm_80",
            text("", "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;", "", "sm_80"));
  module_of("barrier 15", text("", "  barrier.sync 15;"));
  module_of(
      "mma for sm_70",
      text("",
           "  .reg .b32 %a<12>;\n  mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%a0, %a1}, {%a2, %a3, "
           "%a4, %a5}, {%a6, %a7}, {%a0, %a1};",
           "", "sm_70", "7.0"));
  module_of("cp.async for sm_75", text("", "  cp.async.wait_all;", "", "sm_75", "7.0"));
  module_of("a register used as another type",
            text("", "  .reg .b32 %a;\n  .reg .b64 %b;\n  add.u64 %b, %a, %b;"));
  module_of("a register nobody declared", text("", "  add.u64 %b, %b, %b;"));
  module_of("static shared of 64 KB in one kernel of two, the other launched",
            text("") + "\n.shared .align 4 .b8 s[65536];\n.visible .entry other()\n{\n" + to_shared +
                "\n ret;\n}\n");
  module_of("an address of 3 in st.shared",
            text("", "  .reg .b32 %a;\n  mov.u32 %a, 1;\n  st.shared.b32 [s+3], %a;",
                 ".shared .align 4 .b8 s[64];"));
}

void barrier_16() {
  cudaFree(nullptr);
  module_of("barrier 16", text("", "  barrier.sync 16;"));
}
void barrier_of_33() {
  cudaFree(nullptr);
  module_of("barrier of 33 threads", text("", "  barrier.sync 1, 33;"), 64);
}
