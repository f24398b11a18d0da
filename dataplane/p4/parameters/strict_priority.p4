// SPDX-License-Identifier: Apache-2.0
// Parameters of strict-priority on BMv2. Written by `pifolab dataplane p4 parameters`: not to be edited.
#ifndef PF_PARAMETERS_STRICT_PRIORITY
#define PF_PARAMETERS_STRICT_PRIORITY
#define PF_QUEUES 8
#define PF_LAST_QUEUE 7
#define PF_IN_BYTES 0
#define PF_TOTAL 64w64
#define PF_EACH_QUEUE(M) M(0, 64w8) M(1, 64w8) M(2, 64w8) M(3, 64w8) M(4, 64w8) M(5, 64w8) M(6, 64w8) M(7, 64w8)
#define PF_EACH_QUEUE_BELOW_FIRST(M) M(1, 64w8) M(2, 64w8) M(3, 64w8) M(4, 64w8) M(5, 64w8) M(6, 64w8) M(7, 64w8)
#define PF_EACH_BOUND(M) M(0, 64w0) M(1, 64w8) M(2, 64w16) M(3, 64w24) M(4, 64w32) M(5, 64w40) M(6, 64w48) M(7, 64w56)
#endif // PF_PARAMETERS_STRICT_PRIORITY
