// SPDX-License-Identifier: Apache-2.0
// Parameters of fifo on Tofino. Written by `pifolab dataplane p4 parameters`: not to be edited.
#ifndef PF_PARAMETERS_FIFO
#define PF_PARAMETERS_FIFO
#define PF_QUEUES 1
#define PF_LAST_QUEUE 0
#define PF_TOTAL 16w1024
#define PF_EACH_QUEUE(M) M(0, 16w1024)
#endif // PF_PARAMETERS_FIFO
