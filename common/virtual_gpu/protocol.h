// The wire between a program's runtime library, the trusted harness and the engine: one request, one reply,
// over a Unix stream socket. Plain structs in host byte order; both ends are built together and run on one
// machine. The engine trusts nothing that a program sends: every length, id and address is checked.
#pragma once

#include <cstdint>

namespace vgpu::wire {

constexpr uint32_t kMagic = 0x31555056;  // "VPU1"
constexpr uint32_t kVersion = 2;
constexpr uint32_t kMaxPayload = 256u << 20;  // a longer request is a protocol error: the engine closes

constexpr char kBetweenModules = '\0';  // of PTX, whose text has no such byte

// Where the address ranges lie, the same in every process. The program keeps the device range reserved
// and unreadable; pinned and managed host memory is shared, so its address is the same on both sides.
#ifdef VGPU_BESIDE_A_SANITIZER  // which leaves a program these
constexpr uint64_t kDeviceBase = 0x7e9000000000ull;
constexpr uint64_t kPinnedBase = 0x7ea000000000ull;
constexpr uint64_t kArenaBytes = 1ull << 36;
#else
constexpr uint64_t kDeviceBase = 0x100000000000ull;
constexpr uint64_t kPinnedBase = 0x180000000000ull;
constexpr uint64_t kArenaBytes = 1ull << 40;  // reserved addresses, not memory
#endif

// A place in the program's machine code: an offset into an object file that kCodeModule has named.
// `api` says whose function was called there.
enum class Api : uint32_t { kRuntime, kDriver };
struct CodePlace {
  uint64_t offset;
  uint32_t module;  // 0: not known
  Api api;
};

struct RequestHeader {
  uint32_t magic;
  uint32_t op;       // Request
  uint32_t payload;  // bytes that follow
  uint32_t serial;
  CodePlace caller;  // who called the function of the API that makes this request
};

enum ReplyFlags : uint32_t {
  kPrintfPending = 1,  // device printf output waits: send kTakePrintf
  kHostCallback = 2,   // payload is HostCallback: run it, then send kCallbackDone and repeat the request
  kSticky = 4,         // the error poisons the context until the program ends
};

struct ReplyHeader {
  uint32_t magic;
  int32_t error;  // cudaError_t; the payload of a reply with an error is a sentence for the user, or nothing
  uint32_t flags;
  uint32_t payload;
  uint32_t serial;
};

enum class Request : uint32_t {
  // session
  kHello = 1,     // Hello -> HelloReply (+ descriptors: staging, pinned arena; for the harness: device arena)
  kTakePrintf,    // -> text
  kCallbackDone,  // HostCallback
  kHostFault,     // HostFault: the program touched device memory from the host
  kDeviceReset,
  kSetLimit,    // Limit
  kGetLimit,    // Limit -> Limit
  kMemInfo,     // -> MemInfo
  kCodeModule,  // path of an object file of the program's -> Id, for CodePlace
  kRefused,     // name of a function of the runtime API that the library does not have
  // modules
  kLoadModule = 20,   // PTX text -> Id; several texts, kBetweenModules between them, are linked into one
  kUnloadModule,      // Id
  kGetFunction,       // Named (module, name) -> FunctionReply + ParamSlot[]
  kGetSymbol,         // Named (module, name) -> SymbolReply
  kFuncAttributes,    // Id -> FunctionReply (fresh values)
  kFuncSetAttribute,  // FuncSetAttribute
  kOccupancy,         // Occupancy -> Count
  // memory
  kMalloc = 40,  // Malloc -> Address
  kFree,         // Free
  kCopy,         // Copy (data travel through the staging area where a side is kStaging)
  kMemset,       // Memset
  kPointer,      // Address -> PointerReply
  // execution
  kLaunch = 60,    // Launch + parameter bytes
  kHostFunction,   // HostFunction: enqueue a host callback
  kStreamCreate,   // StreamCreate -> Id
  kStreamDestroy,  // Id
  kStreamSync,     // Id
  kStreamQuery,    // Id -> (error cudaErrorNotReady or 0)
  kStreamWait,     // StreamWait
  kDeviceSync,
  kEventCreate,   // EventCreate -> Id
  kEventDestroy,  // Id
  kEventRecord,   // EventRecord
  kEventSync,     // Id
  kEventQuery,    // Id
  kEventElapsed,  // EventElapsed -> Milliseconds
  // graphs
  kCaptureBegin = 80,  // CaptureBegin
  kCaptureEnd,         // Id (stream) -> Id (graph)
  kCaptureInfo,        // Id (stream) -> CaptureInfo
  kGraphInstantiate,   // GraphInstantiate -> Id (executable)
  kGraphLaunch,        // GraphLaunch
  kGraphDestroy,       // Id (graph)
  kGraphExecDestroy,   // Id (executable)
  kGraphExecUpdate,    // GraphExecUpdate
  kGraphNodeCount,     // Id (graph) -> Count
  // libraries
  kBlas = 100,  // Blas (protocol_blas.h) -> BlasNumber where it is asked for
  // graphs whose nodes a program adds itself: a capture of the runtime library's own, node by node
  kCaptureDepend = 120,  // CaptureDepend + int32_t[]: nodes that the next one waits for -> int32_t[], as now
  kCaptureEvent,         // CaptureEvent: a node that records an event, or waits for one
  kCaptureAllocate,      // CaptureAllocate: a node that allocates reserved memory
  kCaptureGraph,         // GraphLaunch (a graph, not an executable): the nodes of another graph
  kCaptureConditional,   // CaptureConditional + uint64_t[]: a node that runs graphs as a condition says
  kGraphClone,           // Id (graph) -> Id (graph)
  kGraphReserve,         // Malloc -> Address: an address for memory that nodes of graphs allocate
  kGraphUnreserve,       // Address
  kGraphMemory,          // Id (1: the high marks begin anew) -> GraphMemory
  kConditionalCreate,    // ConditionalCreate -> Id
  kCheckNode,            // Launch + parameter bytes: may a node of a graph launch it?
  kTextureCreate = 110,  // Texture (protocol_texture.h) -> Id: also a surface object
  kTextureDestroy,       // Id
  // harness only; it may also make streams, captures and graphs, which the program cannot end or destroy
  kHarnessAlloc =
      200,             // HarnessAlloc + name -> Address: a named allocation; its memory counts as initialised
                       // when the harness says so with kHarnessInitialise
  kHarnessFree,        // Address
  kHarnessInitialise,  // Range: this memory has been written by the harness
  kHarnessReport,      // -> JSON text: launches, findings, counters, leaks so far
  kHarnessReset,       // forget launches and findings
  kHarnessSync,        // run everything queued
  kHarnessOption,      // text "key=value": checks, budgets, threads
  kHarnessBeginCall,   // Id (a stream of the harness's): the program's next call begins
  kHarnessEndCall,     // the call has returned
};

struct Hello {
  uint32_t version;
  uint32_t role;  // 0 program, 1 harness
  int64_t pid;
};

// Numbers of the device profile that the runtime library needs for properties and attributes.
struct DeviceInfo {
  char name[128];
  uint64_t total_memory;  // what this virtual device offers (the profile's size or what the machine allows)
  uint64_t l2_bytes;
  int32_t cc_major, cc_minor;
  int32_t sms, warp_size, max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
  int32_t shared_per_block, shared_per_block_optin, shared_per_sm, reserved_shared_per_block;
  int32_t regs_per_block, regs_per_sm;
  int32_t clock_khz, memory_clock_khz, memory_bus_bits;
  int32_t constant_bytes;
  int32_t max_grid[3], max_block[3];
};

struct HelloReply {
  uint64_t device_base, device_bytes;  // reserved range
  uint64_t pinned_base, pinned_bytes;
  uint64_t staging_bytes;
  DeviceInfo info;
};

struct HostCallback {
  uint64_t function, user_data;  // as given by the program in HostFunction
  uint64_t token;
};

struct HostFault {
  uint64_t address, pc;
  uint64_t module_offset;  // of pc inside the object file
  char module[512];        // path of that object file
  uint32_t is_write;
  uint32_t pad;
};

struct Limit {
  uint32_t limit;  // cudaLimit
  uint32_t pad;
  uint64_t value;
};

struct MemInfo {
  uint64_t free_bytes, total_bytes;
};

struct Id {
  uint64_t id;
};
struct Count {
  int64_t value;
};
struct Address {
  uint64_t address;
};
struct Range {
  uint64_t address, bytes;
};
struct Milliseconds {
  float value;
};

struct Named {  // followed by the name's bytes
  uint64_t module;
};

struct FunctionReply {
  uint64_t id;
  int32_t max_threads, static_shared, local_bytes, const_bytes, registers, ptx_version, binary_version;
  int32_t max_dynamic_shared, required_threads[3];
  int32_t param_count, param_bytes;
  int32_t pad;
};
struct ParamSlot {
  uint32_t offset, bytes;
};

struct SymbolReply {
  uint64_t address, bytes;
};

struct FuncSetAttribute {
  uint64_t function;
  int32_t attribute;  // cudaFuncAttribute
  int32_t value;
};

struct Occupancy {
  uint64_t function, dynamic_shared;
  int32_t block_threads;
  uint32_t flags;
};

// kArray: cudaMallocArray. kRegistered: pinned memory that stands for memory of the program's own.
enum class MemoryKind : uint32_t { kDevice, kPinned, kManaged, kArray, kRegistered };

struct Malloc {
  uint64_t bytes;
  MemoryKind kind;
  uint32_t stream_ordered;  // cudaMallocAsync
  uint64_t stream;
};

struct Free {
  uint64_t address;
  MemoryKind kind;
  uint32_t stream_ordered;
  uint64_t stream;
};

enum class Side : uint32_t { kAddress, kStaging };  // kAddress: device, pinned or managed

// A copy of `height` rows of `width` bytes. A staging side is packed from `staging_offset`.
struct Copy {
  uint64_t dst, src, dst_pitch, src_pitch, width, height, stream, staging_offset;
  Side dst_side, src_side;
  uint32_t async;  // 0: complete before the reply (after what the stream has queued)
  uint32_t kind;   // cudaMemcpyKind as the program wrote it: a wrong direction is cudaErrorInvalidValue
};

struct Memset {
  uint64_t dst, pitch, width, height, stream;  // width in elements
  uint32_t value, element_bytes, async, pad;
};

struct PointerReply {
  uint64_t base, bytes;
  MemoryKind kind;
  uint32_t known;
};

struct Launch {  // followed by param_bytes bytes
  uint64_t function, stream;
  uint32_t grid[3], block[3];
  uint32_t cluster[3];  // 0 or 1: none
  uint32_t dynamic_shared, cooperative, param_bytes;
};

struct HostFunction {
  uint64_t stream, function, user_data;
};

constexpr uint64_t kLegacyStream = 0;     // also cudaStreamLegacy
constexpr uint64_t kPerThreadStream = 2;  // cudaStreamPerThread; ids of created streams start above 16

struct StreamCreate {
  uint32_t flags;
  int32_t priority;
};
struct StreamWait {
  uint64_t stream, event;
};
struct EventCreate {
  uint32_t flags, pad;
};
struct EventRecord {
  uint64_t event, stream;
};
struct EventElapsed {
  uint64_t start, end;
};
struct CaptureBegin {
  uint64_t stream;
  uint32_t mode, pad;
};
struct CaptureInfo {
  uint32_t status, pad;
  uint64_t id;
};
struct CaptureDepend {  // followed by `count` indices of nodes
  uint64_t stream;
  uint32_t count, is_set;  // is_set 0: only ask
};
struct CaptureEvent {
  uint64_t stream, event;
  uint32_t waits, pad;
};
struct CaptureAllocate {
  uint64_t stream, address;
};
enum class ConditionalKind : uint32_t { kIf, kWhile, kSwitch, kAssignDefault };  // as cudaGraphConditional…
struct CaptureConditional {                                                      // followed by `count` graphs
  uint64_t stream, condition;
  ConditionalKind kind;
  uint32_t count;
};
struct ConditionalCreate {
  uint32_t first_value, pad;
};
struct GraphMemory {  // bytes
  uint64_t used, used_high, reserved, reserved_high;
};
struct GraphInstantiate {
  uint64_t graph, flags;  // cudaGraphInstantiateFlags
};
struct GraphLaunch {
  uint64_t executable, stream;
};
struct GraphExecUpdate {
  uint64_t executable, graph;
};

struct HarnessAlloc {  // followed by the name's bytes
  uint64_t bytes, align;
  uint64_t unused;  // bytes of these that nobody will touch: they take no memory and count as none
};

}  // namespace vgpu::wire
