// How many devices the program sees. All are the one engine: they share its memory, streams and modules, and
// differ in their numbers, in what each allocates, and in which may reach which.
#pragma once

namespace vgpu {

// VGPU_DEVICES, or 1.
int device_count();
bool is_device(int device);

int current_device();  // of this thread
void choose_device(int device);

// Which device was the current one when an allocation was made; by the start of it.
void note_owner(const void* allocation);
void forget_owner(const void* allocation);
int owner_of(const void* allocation);

}  // namespace vgpu
