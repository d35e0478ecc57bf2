/**
 * @file acemq.h
 * All of libacemq. One header a subject; this one includes them.
 */
#ifndef ACEMQ_ACEMQ_H
#define ACEMQ_ACEMQ_H

#include "broker.h"
#include "cancel.h"
#include "claim_check.h"
#include "codec.h"
#include "common.h"
#include "connection.h"
#include "consumer.h"
#include "delivery.h"
#include "encryption.h"
#include "envelope.h"
#include "error.h"
#include "event.h"
#include "group.h"
#include "health.h"
#include "idempotency.h"
#include "interceptor.h"
#include "message.h"
#include "metrics.h"
#include "names.h"
#include "ordered.h"
#include "outbox.h"
#include "policy.h"
#include "publisher.h"
#include "queue.h"
#include "replay.h"
#include "settlement.h"
#include "table.h"
#include "time.h"
#include "topology.h"
#include "version.h"
#include "work.h"

#endif
