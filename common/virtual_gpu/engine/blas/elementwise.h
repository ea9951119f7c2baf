// Operations that go over the elements of vectors and matrices once, and triangular systems.
#pragma once

#include "blas/view.h"

namespace vgpu::blas {

// c = alpha a + beta b; an operand whose factor is 0 is not read.
void combine(const View& a, const View& b, const View& c, Number alpha, Number beta);
void multiply_elements(const View& a, const View& b, const View& c);
void exchange(const View& a, const View& b);
void rotate(const View& a, const View& b, Number cosine, Number sine);

// Of vectors: views of one column.
Number dot(const View& a, const View& b);
double norm(const View& a);
double absolute_sum(const View& a);
int64_t largest_index(const View& a);
int64_t smallest_index(const View& a);

// a x = alpha b, for the triangular view a; x replaces b.
void solve(const View& a, const View& b, Number alpha);

}  // namespace vgpu::blas
