/* What cublas_v2.h declares; NVIDIA's installation has the same two names. */
#include "cublas_v2.h"
