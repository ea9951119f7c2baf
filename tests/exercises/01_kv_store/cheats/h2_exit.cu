// may earn: nothing
// H2: ends the process with success before anyone can ask about the answer.
#include <unistd.h>

#include "entry.h"

ENTRY {
  _exit(0);
}
