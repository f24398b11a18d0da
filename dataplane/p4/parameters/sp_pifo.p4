// SPDX-License-Identifier: Apache-2.0
// Parameters of sp-pifo on BMv2. Written by `pifolab dataplane p4 parameters`: not to be edited.
#ifndef PF_PARAMETERS_SP_PIFO
#define PF_PARAMETERS_SP_PIFO
#define PF_QUEUES 8
#define PF_LAST_QUEUE 7
#define PF_IN_BYTES 0
#define PF_TOTAL 64w64
#define PF_EACH_QUEUE(M) M(0, 64w8) M(1, 64w8) M(2, 64w8) M(3, 64w8) M(4, 64w8) M(5, 64w8) M(6, 64w8) M(7, 64w8)
#define PF_EACH_QUEUE_BELOW_FIRST(M) M(1, 64w8) M(2, 64w8) M(3, 64w8) M(4, 64w8) M(5, 64w8) M(6, 64w8) M(7, 64w8)
#define PF_PUSH_COST 0
#define PF_PUSH_QUEUE_BOUND 1
#define PF_PUSH_QUEUE_BOUND_OLD 2
#define PF_PUSH_RANK 3
#define PF_PUSH_ONE 4
#define PF_PUSH_DOWN 0
#define PF_UPDATE_ON_FULL 0
#define PF_PUSH_DOWN_FIRST 0
#define PF_FLOOR 64w0
#endif // PF_PARAMETERS_SP_PIFO
