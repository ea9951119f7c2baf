"""printf in device code prints what the host's printf prints: every conversion, width and precision."""

from __future__ import annotations

from tests.virtual_gpu.small_programs import build_text, run

# Each is printed by a kernel and by the host.
CALLS = [
    r'"plain %% text\n"',
    r'"%d|%i|%5d|%-5d|%05d|%+d|% d|%.3d\n", -7, 8, 42, 42, 42, 42, 42, 7',
    r'"%u|%x|%X|%o|%#x|%#o\n", 4000000000u, 0xbeefu, 0xbeefu, 8u, 255u, 8u',
    r'"%hd|%hhd|%hu|%hhu\n", (short)-5, (signed char)-6, (unsigned short)65000, (unsigned char)200',
    r'"%ld|%lu|%lld|%llu|%llx|%zu\n", -1L << 40, 1UL << 40, -1LL << 50, ~0ULL, ~0ULL, sizeof(int)',
    r'"%f|%.2f|%10.3f|%-9.1f|%e|%.3E|%g|%G|%a\n", 1.5, 2.25, 3.14159, 2.5, 12345.6, 1e-4, 1e-7, 1e20, 1.0',
    r'"%f|%f|%f\n", 1.0 / 0.0, -1.0 / 0.0, (float)0.1f',
    r'"%c%c%5c|%-3c|\n", 65, 66, 67, 68',
    r'"%s|%10s|%-10s|%.2s\n", "text", "right", "left", "cut"',
    r'"%*d|%-*d|%.*f|%*.*f\n", 6, 42, 6, 42, 2, 3.14159, 8, 3, 2.71828',
    r'"%p\n", (void*)0x1234abcd',
    r'"%d %s %f %c %lld\n", 1, "two", 3.0, 52, 5LL',
]


def test_every_conversion_prints_as_on_the_host():
    prints = "".join(f"  printf({call});\n" for call in CALLS)
    program = build_text(
        f"""
__global__ void on_device() {{
{prints}}}
void on_host() {{
{prints}}}
int main() {{
  on_device<<<1, 1>>>();
  cudaDeviceSynchronize();
  printf("--\\n");
  on_host();
  return 0;
}}
"""
    )
    result = run(program)
    device, _, host = result.stdout.partition("--\n")
    assert result.status == 0, result.stderr
    assert device.splitlines() == host.splitlines()
    assert not result.report.findings


def test_the_answer_is_the_number_of_arguments():
    program = build_text(
        r"""
__global__ void counted(int* out) { *out = printf("%d %s\n", 1, "x"); }
int main() {
  int *out, count = 0;
  cudaMalloc(&out, sizeof count);
  counted<<<1, 1>>>(out);
  cudaMemcpy(&count, out, sizeof count, cudaMemcpyDeviceToHost);
  cudaFree(out);
  return count == 2 ? 0 : 1;
}
"""
    )
    assert run(program).status == 0
