// SPDX-License-Identifier: Apache-2.0
// A queue that allocates only while it grows. Plain class.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace rngdsim {

template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& front() { return places_[head_]; }  // precondition: !empty()
  const T& front() const { return places_[head_]; }
  void push_back(T item) {
    if (size_ == places_.size()) grow();
    places_[(head_ + size_++) % places_.size()] = std::move(item);
  }
  // Precondition: !empty().
  T pop_front() {
    T item = std::move(places_[head_]);
    head_ = (head_ + 1) % places_.size();
    --size_;
    return item;
  }
  void clear() {
    while (!empty()) pop_front();
  }

 private:
  void grow() {
    std::vector<T> larger(2 * places_.size() + 2);
    for (size_t i = 0; i < size_; ++i) {
      larger[i] = std::move(places_[(head_ + i) % places_.size()]);
    }
    places_ = std::move(larger);
    head_ = 0;
  }
  std::vector<T> places_;
  size_t head_ = 0, size_ = 0;
};

}  // namespace rngdsim
