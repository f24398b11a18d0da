// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* PACKS as a qdisc: the decision of the filter, over its own queues. */
#include "../queues.h"
#include "decide.h"

#include "../queues_main.h"
