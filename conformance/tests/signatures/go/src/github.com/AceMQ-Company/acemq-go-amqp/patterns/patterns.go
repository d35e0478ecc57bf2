// Package patterns declares what the driver calls of the peer's package.
package patterns

import (
	"context"
	"time"

	acemq "github.com/AceMQ-Company/acemq-go-amqp/amqp"
)

const (
	HeaderReplayedFrom = "acemq-replayed-from"
	HeaderReplayedAt   = "acemq-replayed-at"
	HeaderReplayCount  = "acemq-replay-count"
)

type ReplayFilter func(acemq.Envelope, []byte) bool

type ReplayFrom struct {
	Queue, Exchange, RoutingKey string
	Limit                       int
	Deadline                    time.Duration
	Filter                      ReplayFilter
	KeepAttempts                bool
}

type ReplayResult struct {
	Moved, Skipped int
	Reason         string
}

func Replay(context.Context, *acemq.Conn, ReplayFrom) (ReplayResult, error) { panic("a signature") }
