package main

// One run of a consumer of the peer, with a handler that does what the script says.

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	acemq "github.com/AceMQ-Company/acemq-go-amqp/amqp"
)

type run struct {
	script     object
	wanted     int
	arrived    chan struct{}
	closing    chan struct{}
	lock       sync.Mutex
	turns      map[string]int
	deliveries []object
}

func newRun(asked object) *run {
	script, _ := asked["script"].(object)
	until, _ := asked["until"].(object)
	return &run{
		script: script, wanted: whole(until["deliveries"], -1), turns: map[string]int{}, deliveries: []object{},
		arrived: make(chan struct{}, 1), closing: make(chan struct{}),
	}
}

// entryFor is what the script says for the next delivery of an id: the last of its list repeats.
func (r *run) entryFor(id string) string {
	list, isNamed := r.script[id].([]interface{})
	if !isNamed {
		list, _ = r.script["*"].([]interface{})
	}
	turn := r.turns[id]
	r.turns[id]++
	if len(list) == 0 {
		return "accept"
	}
	if turn >= len(list) {
		turn = len(list) - 1
	}
	return text(list[turn])
}

func decided(entry string) acemq.Ack {
	verb, why, given := strings.Cut(entry, ": ")
	var reason error
	if given {
		reason = errors.New(why)
	}
	switch verb {
	case "fail":
		return acemq.Retry(reason)
	case "reject":
		return acemq.Reject(reason)
	case "park":
		return acemq.Park(reason)
	}
	return acemq.Accept()
}

// take notes a delivery and says what the script does with it. The last one that is wanted waits until the consumer is
// being closed, so that the peer begins no other.
func (r *run) take(envelope acemq.Envelope, routingKey string, redelivered bool, body []byte) acemq.Ack {
	r.lock.Lock()
	entry := r.entryFor(envelope.ID)
	headers := object{}
	for name, value := range envelope.Headers {
		headers[name] = headerFor(value)
	}
	delivery := object{
		"envelope": envelopeFor(envelope), "headers": headers, "outcome": entry,
		"routingKey": routingKey, "redelivered": redelivered,
	}
	addBody(delivery, body)
	r.deliveries = append(r.deliveries, delivery)
	last := len(r.deliveries) == r.wanted
	r.lock.Unlock()
	select {
	case r.arrived <- struct{}{}:
	default:
	}
	if last {
		<-r.closing
	}
	return decided(entry)
}

func (r *run) count() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.deliveries)
}

// wait returns when the handler has run often enough, nothing came for so long, or the time is over.
func (r *run) wait(until object) {
	timeout := time.After(milliseconds(until["timeout"], 10*time.Second))
	for r.count() != r.wanted {
		var idle <-chan time.Time
		if until["idle"] != nil {
			idle = time.After(milliseconds(until["idle"], 0))
		}
		select {
		case <-r.arrived:
		case <-idle:
			return
		case <-timeout:
			return
		}
	}
}

// open starts a consumer whose bodies the peer reads as T.
func open[T any](ctx context.Context, mq *acemq.Conn, r *run, queue string, options []acemq.ConsumeOption) (*acemq.Consumer, error) {
	return acemq.Consume(ctx, mq, queue, func(_ context.Context, message acemq.Message[T]) acemq.Ack {
		return r.take(message.Envelope, message.RoutingKey, message.Redelivered, message.Body)
	}, options...)
}

func (d *driver) consume(asked object) (interface{}, error) {
	if err := usual(asked, object{"members": json.Number("1"), "declare": "yes", "requeueOnFailure": false, "idempotency": nil}); err != nil {
		return nil, err
	}
	policy, err := parsePolicy(asked["retry"])
	if err != nil {
		return nil, err
	}
	options := []acemq.ConsumeOption{acemq.RetryWith(policy)}
	if asked["prefetch"] != nil {
		options = append(options, acemq.Prefetch(whole(asked["prefetch"], 0)))
	}
	r, ctx := newRun(asked), context.Background()
	var consumer *acemq.Consumer
	switch codec := either(text(asked["codec"]), "bytes"); codec {
	case "bytes":
		consumer, err = open[[]byte](ctx, d.mq, r, text(asked["queue"]), append(options, acemq.ConsumeWith(acemq.BytesCodec{})))
	case "text":
		consumer, err = open[string](ctx, d.mq, r, text(asked["queue"]), append(options, acemq.ConsumeWith(acemq.StringCodec{})))
	case "json":
		consumer, err = open[json.RawMessage](ctx, d.mq, r, text(asked["queue"]), append(options, acemq.ConsumeWith(acemq.JSONCodec{})))
	default:
		return nil, notOffered("the peer has no codec " + codec)
	}
	if err != nil {
		return nil, err
	}
	until, _ := asked["until"].(object)
	r.wait(until)
	close(r.closing)
	err = consumer.Close()
	return object{"deliveries": r.deliveries, "counters": object{}}, err
}
