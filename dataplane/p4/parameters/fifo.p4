// SPDX-License-Identifier: Apache-2.0
// Parameters of fifo on BMv2. Written by `pifolab dataplane p4 parameters`: not to be edited.
#ifndef PF_PARAMETERS_FIFO
#define PF_PARAMETERS_FIFO
#define PF_QUEUES 1
#define PF_LAST_QUEUE 0
#define PF_IN_BYTES 0
#define PF_TOTAL 64w64
#define PF_EACH_QUEUE(M) M(0, 64w64)
#define PF_EACH_QUEUE_BELOW_FIRST(M)
#endif // PF_PARAMETERS_FIFO
