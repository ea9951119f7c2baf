// Matrix products.
#pragma once

#include "blas/view.h"

namespace vgpu::blas {

// What is done with each sum before it is stored: flags of wire::BlasEpilogue, and what they use.
struct Epilogue {
  uint32_t what = 0;
  View bias, aux;
};

// c = alpha a b + beta c. The type of the accumulators is `compute`, a cudaDataType. Only the triangle of c
// that its view stores is written; where beta is 0, c is not read.
void multiply(uint32_t compute, const View& a, const View& b, const View& c, Number alpha, Number beta,
              const Epilogue& epilogue);

}  // namespace vgpu::blas
