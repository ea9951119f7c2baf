// Objects with virtual functions, made and destroyed by device code.
#include "../programs/check.cuh"

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Rectangle : Shape {
  int a, b;
  __device__ Rectangle(int x, int y) : a(x), b(y) {}
  __device__ int area() const override { return a * b; }
};

__global__ void areas(int* out) {
  const int i = threadIdx.x;
  Shape* shape = nullptr;
  if (i % 2 == 0) {
    shape = new Square(i);
  } else {
    shape = new Rectangle(i, i + 1);
  }
  out[i] = shape->area();
  delete shape;
}

int main() {
  Report report("device_objects");
  DeviceBuffer<int> output(40);
  areas<<<1, 40>>>(output.get());
  LAUNCHED_OK();
  std::vector<int> want;
  for (int i = 0; i < 40; ++i) want.push_back(i % 2 == 0 ? i * i : i * (i + 1));
  report.equal("areas", output.download(), want);
  return report.finish();
}
