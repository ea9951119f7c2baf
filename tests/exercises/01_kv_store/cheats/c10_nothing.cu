// may earn: nothing
// C10: does nothing and reports success.
#include "entry.h"

ENTRY {
  return cudaSuccess;
}
