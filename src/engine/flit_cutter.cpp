// SPDX-License-Identifier: Apache-2.0
#include "engine/flit_cutter.h"

#include <algorithm>

namespace rngdsim {

FlitCutter::FlitCutter(const CollectConfig& config, uint64_t item_elements)
    : packet_elements_(config.packet_elements),
      flit_elements_(config.flit_elements),
      item_elements_(item_elements),
      flits_(config.flits) {}

FlitCutter::Step FlitCutter::step() const {
  Step step;
  step.item_begin = in_item_;
  step.flit_begin = in_flit_;
  step.elements = std::min(
      {item_elements_ - in_item_, flit_elements_ - in_flit_, packet_elements_ - in_packet_});
  step.ends_item = in_item_ + step.elements == item_elements_;
  step.ends_flit =
      in_flit_ + step.elements == flit_elements_ || in_packet_ + step.elements == packet_elements_;
  return step;
}

void FlitCutter::take(const Step& step) {
  in_packet_ += step.elements;
  if (in_packet_ == packet_elements_) in_packet_ = 0;
  in_item_ = step.ends_item ? 0 : in_item_ + step.elements;
  in_flit_ = step.ends_flit ? 0 : in_flit_ + step.elements;
  if (step.ends_flit) ++flit_;
}

}  // namespace rngdsim
