// SPDX-License-Identifier: Apache-2.0
// Parameters of sp-pifo on Tofino. Written by `pifolab dataplane p4 parameters`: not to be edited.
#ifndef PF_PARAMETERS_SP_PIFO
#define PF_PARAMETERS_SP_PIFO
#define PF_QUEUES 8
#define PF_LAST_QUEUE 7
#define PF_TOTAL 16w1024
#define PF_EACH_QUEUE(M) M(0, 16w128) M(1, 16w128) M(2, 16w128) M(3, 16w128) M(4, 16w128) M(5, 16w128) M(6, 16w128) M(7, 16w128)
#define PF_EACH_BOUND_FROM_LAST(M) M(7) M(6) M(5) M(4) M(3) M(2) M(1)
#endif // PF_PARAMETERS_SP_PIFO
