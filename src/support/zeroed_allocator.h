// SPDX-License-Identifier: Apache-2.0
// std::vector for large arrays that begin as zeros: the system hands out zeroed memory page by page
// as it is touched, so that making the array costs nothing and an unused part takes no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rngdsim {

template <typename T>
struct ZeroedAllocator {
  using value_type = T;

  ZeroedAllocator() = default;
  template <typename U>
  ZeroedAllocator(const ZeroedAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    void* memory = std::calloc(count, sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    advise_huge_pages(memory, count * sizeof(T));
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }

  // Value-initialised elements are zero already.
  template <typename U>
  void construct(U*) {}
  template <typename U, typename... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }

 private:
  // A fault a huge page instead of a fault every 4 KB. Whether the system follows does not matter.
  static void advise_huge_pages(void* memory, size_t bytes) {
#if defined(__linux__)
    constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
    const auto first = (reinterpret_cast<uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
    const auto last = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(kHugePage - 1);
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
    static_cast<void>(memory);
    static_cast<void>(bytes);
#endif
  }
};
template <typename T, typename U>
bool operator==(const ZeroedAllocator<T>&, const ZeroedAllocator<U>&) {
  return true;
}
template <typename T, typename U>
bool operator!=(const ZeroedAllocator<T>&, const ZeroedAllocator<U>&) {
  return false;
}

// Only to be made with its size: growing does not zero again what was used before.
template <typename T>
using ZeroedVector = std::vector<T, ZeroedAllocator<T>>;

}  // namespace rngdsim
