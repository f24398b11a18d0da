// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* FIFO in front of the kernel's queues. */
#include "../occupancy.h"
#include "decide.h"

#include "../main.h"
