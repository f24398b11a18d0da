// SPDX-License-Identifier: Apache-2.0
// Parameters of aifo on Tofino. Written by `pifolab dataplane p4 parameters`: not to be edited.
#ifndef PF_PARAMETERS_AIFO
#define PF_PARAMETERS_AIFO
#define PF_QUEUES 1
#define PF_LAST_QUEUE 0
#define PF_TOTAL 16w1024
#define PF_EACH_QUEUE(M) M(0, 16w1024)
#define PF_WINDOW 16
#define PF_EACH_SLOT(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define PF_BEYOND(A) 8w0 : A(16w1025); 8w1 : A(16w967); 8w2 : A(16w909); 8w3 : A(16w852); 8w4 : A(16w794); 8w5 : A(16w737); 8w6 : A(16w679); 8w7 : A(16w621); 8w8 : A(16w564); 8w9 : A(16w506); 8w10 : A(16w449); 8w11 : A(16w391); 8w12 : A(16w333); 8w13 : A(16w276); 8w14 : A(16w218); 8w15 : A(16w161); 8w16 : A(16w103);
#endif // PF_PARAMETERS_AIFO
