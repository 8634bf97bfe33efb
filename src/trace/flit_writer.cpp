// SPDX-License-Identifier: Apache-2.0
#include "trace/flit_writer.h"

namespace rngdsim {

FlitWriter::FlitWriter(TraceFile& file, Window window) : file_(file), window_(window) {
  file_.write("cycle,link,event,command,time_index,valid\n");
}

void FlitWriter::begin(const TraceNames& names) {
  for (const TraceNames::LinkNames& link : names.links) links_.push_back(link.name);
}

void FlitWriter::event(uint32_t link, LinkEvent event, const ItemView& item) {
  if (!window_.contains(cycle_)) return;
  file_.number(cycle_);
  file_.put(',');
  file_.write(links_[link]);
  file_.put(',');
  file_.write(name(event));
  file_.put(',');
  file_.number(item.command);
  file_.put(',');
  file_.number(item.time_index);
  file_.put(',');
  file_.number(item.valid);
  file_.put('\n');
}

}  // namespace rngdsim
