// cuBLASLt: products of matrices whose layouts and settings are objects of their own. They become strided
// batched products of cuBLAS, so that findings, types and graphs are the same.
#include <cstring>
#include <memory>
#include <new>

#include "../../include/cublasLt.h"
#include "cublas/product.h"
#include "errors.h"

struct cublasLtContext {
  cublasHandle_t blas;
};

namespace {

namespace wire = vgpu::wire;

// What lies in the opaque structures, which the program may place anywhere.
struct Layout {
  cudaDataType type;
  int32_t order, batches, pad;
  uint64_t rows, cols;
  int64_t ld, stride;
};
struct Settings {
  cublasComputeType_t compute;
  cudaDataType scale;
  int32_t pointer_mode, op_a, op_b, op_c, epilogue, others;  // others: attributes that are not implemented
  int32_t bias_type, aux_type;                               // -1: as D's
  uint64_t bias, aux;
  int64_t bias_stride, aux_ld, aux_stride;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Settings) <= sizeof(cublasLtMatmulDescOpaque_t));

template <class Part, class Opaque>
Part inside_of(const Opaque* opaque) {
  Part part;
  std::memcpy(&part, opaque->data, sizeof part);
  return part;
}

template <class Part, class Opaque>
void write(Opaque* opaque, const Part& part) {
  std::memcpy(opaque->data, &part, sizeof part);
}

// One member, if the attribute has its size.
template <class Value>
cublasStatus_t set(Value* member, const void* value, size_t bytes) {
  if (bytes != sizeof *member) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t refuse_product(const char* what, bool* warned) {
  vgpu::not_supported(what, warned, "CUBLAS_STATUS_NOT_SUPPORTED");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

template <class Opaque>
cublasStatus_t destroy(Opaque* opaque) {
  delete opaque;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set_layout(Layout* layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                          size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return set(&layout->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(&layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(&layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(&layout->cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(&layout->ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(&layout->batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(&layout->stride, value, bytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

// Settings of speed alone are taken and change nothing.
cublasStatus_t set_settings(Settings* settings, cublasLtMatmulDescAttributes_t attribute, const void* value,
                            size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return set(&settings->compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return set(&settings->scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(&settings->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(&settings->op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(&settings->op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return set(&settings->op_c, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(&settings->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(&settings->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(&settings->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return set(&settings->bias_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(&settings->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
      return set(&settings->aux_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(&settings->aux_ld, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return set(&settings->aux_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_AMAX_D_POINTER:
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER:
    case CUBLASLT_MATMUL_DESC_FILL_MODE:
      settings->others = 1;
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_SUCCESS;
  }
}

// C into D, where they are two matrices and beta is not 0.
cudaError_t bring(const void* from, const Layout& of, void* to, const Layout& as, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(vgpu::blas::bytes_of(as.type));
  for (int32_t batch = 0; batch < as.batches; ++batch) {
    const auto* const source =
        static_cast<const char*>(from) + static_cast<size_t>(batch * of.stride) * bytes;
    auto* const target = static_cast<char*>(to) + static_cast<size_t>(batch * as.stride) * bytes;
    const cudaError_t error = cudaMemcpy2DAsync(target, static_cast<size_t>(as.ld) * bytes, source,
                                                static_cast<size_t>(of.ld) * bytes, as.rows * bytes, as.cols,
                                                cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

bool is_zero(const Settings& settings, const void* beta) {
  if (settings.pointer_mode != CUBLASLT_POINTER_MODE_HOST || beta == nullptr) return false;
  const auto bytes = static_cast<size_t>(vgpu::blas::bytes_of(settings.scale));
  constexpr char kZeros[16] = {};
  return bytes <= sizeof kZeros && std::memcmp(beta, kZeros, bytes) == 0;
}

struct EpilogueRow {
  int32_t name;   // cublasLtEpilogue_t
  uint32_t what;  // flags of wire::BlasEpilogue
};
constexpr EpilogueRow kEpilogues[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, 0},
    {CUBLASLT_EPILOGUE_BIAS, wire::kAddBias},
    {CUBLASLT_EPILOGUE_RELU, wire::kRelu},
    {CUBLASLT_EPILOGUE_RELU_BIAS, wire::kRelu | wire::kAddBias},
    {CUBLASLT_EPILOGUE_GELU, wire::kGelu},
    {CUBLASLT_EPILOGUE_GELU_BIAS, wire::kGelu | wire::kAddBias},
    {CUBLASLT_EPILOGUE_GELU_AUX, wire::kGelu | wire::kStoreAux},
    {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, wire::kGelu | wire::kStoreAux | wire::kAddBias},
    {CUBLASLT_EPILOGUE_DGELU, wire::kGeluGradient},
};

const EpilogueRow* find_epilogue(const Settings& settings) {
  for (const EpilogueRow& row : kEpilogues)
    if (row.name == settings.epilogue) return &row;
  return nullptr;
}

// The epilogue with its operands; false where one of them is missing or has a type that there is none of.
bool take_epilogue(const Settings& settings, const Layout& d, vgpu::blas::ProductEpilogue* epilogue) {
  const auto type_or_ds = [&](int32_t type) { return type < 0 ? d.type : static_cast<cudaDataType>(type); };
  const cudaDataType bias_type = type_or_ds(settings.bias_type), aux_type = type_or_ds(settings.aux_type);
  epilogue->what = find_epilogue(settings)->what;
  const bool has_bias = (epilogue->what & wire::kAddBias) != 0;
  const bool has_aux = (epilogue->what & (wire::kStoreAux | wire::kGeluGradient)) != 0;
  if (has_bias && (settings.bias == 0 || !vgpu::blas::is_known(bias_type))) return false;
  if (has_aux && (settings.aux == 0 || !vgpu::blas::is_known(aux_type) ||
                  !vgpu::blas::is_leading(settings.aux_ld, static_cast<int64_t>(d.rows))))
    return false;
  if (has_bias)
    epilogue->bias = {settings.bias, 1, 0, settings.bias_stride, static_cast<uint32_t>(bias_type), 0};
  if (has_aux)
    epilogue->aux = {
        settings.aux, 1, settings.aux_ld, settings.aux_stride, static_cast<uint32_t>(aux_type), 0};
  return true;
}

cublasStatus_t refused(const Settings& settings, const Layout& a, const Layout& b, const Layout& c,
                       const Layout& d) {
  static bool epilogue_warned = false, order_warned = false, other_warned = false;
  if (find_epilogue(settings) == nullptr)
    return refuse_product("cublasLtMatmul with a gradient of ReLU or of a bias as its epilogue",
                          &epilogue_warned);
  if (a.order != CUBLASLT_ORDER_COL || b.order != CUBLASLT_ORDER_COL || c.order != CUBLASLT_ORDER_COL ||
      d.order != CUBLASLT_ORDER_COL)
    return refuse_product("cublasLtMatmul with a matrix that is not column by column", &order_warned);
  if (settings.others != 0 || settings.op_c != CUBLAS_OP_N ||
      settings.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE)
    return refuse_product("cublasLtMatmul with scales, a fill mode, a transposed C or vectors of alpha",
                          &other_warned);
  return CUBLAS_STATUS_SUCCESS;
}

bool agree(const Layout& a, const Layout& b) {
  return a.type == b.type && a.rows == b.rows && a.cols == b.cols && a.batches == b.batches;
}

}  // namespace

VGPU_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto made = std::make_unique<cublasLtContext>();
  const cublasStatus_t status = cublasCreate_v2(&made->blas);
  *handle = status == CUBLAS_STATUS_SUCCESS ? made.release() : nullptr;
  return status;
}

VGPU_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status = cublasDestroy_v2(handle->blas);
  delete handle;
  return status;
}

VGPU_API size_t cublasLtGetVersion(void) {
  return CUBLAS_VERSION;
}

VGPU_API cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t,
                                                          cudaDataType type, uint64_t rows, uint64_t cols,
                                                          int64_t ld) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  write(layout, Layout{type, CUBLASLT_ORDER_COL, 1, 0, rows, cols, ld, 0});
  return CUBLAS_STATUS_SUCCESS;
}

VGPU_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                   uint64_t rows, uint64_t cols, int64_t ld) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new cublasLtMatrixLayoutOpaque_t{};
  return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, cols, ld);
}

VGPU_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}

VGPU_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                         cublasLtMatrixLayoutAttribute_t attribute,
                                                         const void* value, size_t bytes) {
  if (layout == nullptr || value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto inside = inside_of<Layout>(layout);
  const cublasStatus_t status = set_layout(&inside, attribute, value, bytes);
  write(layout, inside);
  return status;
}

VGPU_API cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t,
                                                        cublasComputeType_t compute, cudaDataType_t scale) {
  if (desc == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  write(desc, Settings{compute, scale, CUBLASLT_POINTER_MODE_HOST, CUBLAS_OP_N, CUBLAS_OP_N, CUBLAS_OP_N,
                       CUBLASLT_EPILOGUE_DEFAULT, 0, -1, -1, 0, 0, 0, 0, 0});
  return CUBLAS_STATUS_SUCCESS;
}

VGPU_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                                 cudaDataType_t scale) {
  if (desc == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = new cublasLtMatmulDescOpaque_t{};
  return cublasLtMatmulDescInit_internal(*desc, sizeof **desc, compute, scale);
}

VGPU_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return destroy(desc);
}

VGPU_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                       cublasLtMatmulDescAttributes_t attribute,
                                                       const void* value, size_t bytes) {
  if (desc == nullptr || value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto inside = inside_of<Settings>(desc);
  const cublasStatus_t status = set_settings(&inside, attribute, value, bytes);
  write(desc, inside);
  return status;
}

VGPU_API cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t) {
  return preference == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

VGPU_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = new cublasLtMatmulPreferenceOpaque_t{};
  return CUBLAS_STATUS_SUCCESS;
}

VGPU_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}

VGPU_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                             cublasLtMatmulPreferenceAttributes_t,
                                                             const void* value, size_t) {
  return preference == nullptr || value == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

// There is one way to compute a product, and it needs no workspace.
VGPU_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                       cublasLtMatmulPreference_t, int wanted,
                                                       cublasLtMatmulHeuristicResult_t results[],
                                                       int* found) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || wanted < 1 ||
      results == nullptr || found == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  const cublasStatus_t status = refused(inside_of<Settings>(desc), inside_of<Layout>(a), inside_of<Layout>(b),
                                        inside_of<Layout>(c), inside_of<Layout>(d));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  results[0] = {};
  results[0].wavesCount = 1.0f;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

VGPU_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                                       const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                                       cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                                       cublasLtMatrixLayout_t c_layout, void* d,
                                       cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*,
                                       size_t, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc == nullptr || a_layout == nullptr || b_layout == nullptr || c_layout == nullptr ||
      d_layout == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto settings = inside_of<Settings>(desc);
  const auto of_a = inside_of<Layout>(a_layout), of_b = inside_of<Layout>(b_layout),
             of_c = inside_of<Layout>(c_layout), of_d = inside_of<Layout>(d_layout);
  if (const cublasStatus_t status = refused(settings, of_a, of_b, of_c, of_d);
      status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (!agree(of_c, of_d)) return CUBLAS_STATUS_INVALID_VALUE;
  return vgpu::blas::guarded(__builtin_return_address(0), [&] {
    if (c != d && c != nullptr && !is_zero(settings, beta) && bring(c, of_c, d, of_d, stream) != cudaSuccess)
      return CUBLAS_STATUS_EXECUTION_FAILED;
    const bool on_device = settings.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
    cublasSetStream_v2(handle->blas, stream);
    cublasSetPointerMode_v2(handle->blas, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
    const uint64_t inner = settings.op_a == CUBLAS_OP_N ? of_a.cols : of_a.rows;
    vgpu::blas::Product product{static_cast<cublasOperation_t>(settings.op_a),
                                static_cast<cublasOperation_t>(settings.op_b),
                                static_cast<int64_t>(of_d.rows),
                                static_cast<int64_t>(of_d.cols),
                                static_cast<int64_t>(inner),
                                alpha,
                                beta,
                                {a, of_a.type, of_a.ld, of_a.stride},
                                {b, of_b.type, of_b.ld, of_b.stride},
                                {d, of_d.type, of_d.ld, of_d.stride},
                                of_d.batches};
    if (!take_epilogue(settings, of_d, &product.epilogue)) return CUBLAS_STATUS_INVALID_VALUE;
    return vgpu::blas::gemm("cublasLtMatmul", *handle->blas, product, settings.compute);
  });
}
