// SPDX-License-Identifier: Apache-2.0
// Tofino, or Tofino 2 where __TARGET_TOFINO__ is 2; ranks in a payload have four bytes.
#ifndef PF_TARGET_P4
#define PF_TARGET_P4

#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 1
#endif
#ifndef PF_RANK_BYTES
#define PF_RANK_BYTES 4
#endif
#include <core.p4>
#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

#endif
