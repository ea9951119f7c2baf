// may earn: nothing
// H9: sends its inputs to another machine and would take the answer from there.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "entry.h"

ENTRY {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in there = {};
  there.sin_family = AF_INET;
  there.sin_port = htons(80);
  inet_pton(AF_INET, "192.0.2.1", &there.sin_addr);  // an address kept for examples
  if (connection >= 0 && connect(connection, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0) {
    char answer[1024];
    if (write(connection, &seq_len, sizeof seq_len) > 0 && read(connection, answer, sizeof answer) > 0)
      cudaMemcpy(k_cache, answer, sizeof answer, cudaMemcpyHostToDevice);
    close(connection);
  }
  return cudaSuccess;
}
