package main

// One run of a consumer, deciding and settling as the Go peer does: section 6, 16.3, 16.7, 16.13 and 16.15.

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"
)

type run struct {
	broker     *broker
	channel    *amqp.Channel
	queue      string
	codec      string
	policy     policy
	script     object
	seen       map[string]int
	deliveries []object
	counters   map[string]int
	endsAt     time.Time
	wanted     int
}

func milliseconds(value interface{}, otherwise time.Duration) time.Duration {
	if written, given := value.(json.Number); given {
		millis, _ := written.Int64()
		return time.Duration(millis) * time.Millisecond
	}
	return otherwise
}

func whole(value interface{}, otherwise int) int {
	if written, given := value.(json.Number); given {
		count, _ := written.Int64()
		return int(count)
	}
	return otherwise
}

// consume declares, subscribes, handles as told, and closes.
func (b *broker) consume(asked object) (interface{}, error) {
	retry, err := parsePolicy(asked["retry"])
	if err != nil {
		return nil, err
	}
	until, _ := asked["until"].(object)
	script, _ := asked["script"].(object)
	r := &run{broker: b, queue: text(asked["queue"]), codec: either(text(asked["codec"]), "bytes"), policy: retry,
		script: script, seen: map[string]int{}, deliveries: []object{}, counters: map[string]int{},
		endsAt: time.Now().Add(milliseconds(until["timeout"], 10*time.Second)), wanted: whole(until["deliveries"], -1)}
	for _, name := range []string{"acknowledged", "rejected", "retried", "deadLettered", "parked", "duplicates"} {
		r.counters[name] = 0
	}
	if err := b.declare(planConsumer(r.queue, retry)); err != nil {
		return nil, err
	}
	if r.channel, err = b.connection.Channel(); err != nil {
		return nil, err
	}
	defer r.channel.Close()
	if err := r.channel.Qos(whole(asked["prefetch"], 20), 0, false); err != nil {
		return nil, err
	}
	arrived, err := r.channel.Consume(r.queue, "standin", false, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	if err := r.work(arrived, until); err != nil {
		return nil, err
	}
	return object{"deliveries": r.deliveries, "counters": r.counters}, r.end(arrived)
}

// end takes no more and gives back what was not begun.
func (r *run) end(arrived <-chan amqp.Delivery) error {
	if err := r.channel.Cancel("standin", false); err != nil {
		return err
	}
	for message := range arrived {
		if err := message.Nack(false, true); err != nil {
			return err
		}
	}
	return nil
}

// work takes one message after the other, as one worker does, until the end is reached.
func (r *run) work(arrived <-chan amqp.Delivery, until object) error {
	for r.wanted < 0 || len(r.deliveries) < r.wanted {
		wait := time.Until(r.endsAt)
		if idle := milliseconds(until["idle"], wait); idle < wait {
			wait = idle
		}
		select {
		case message, open := <-arrived:
			if !open {
				return fmt.Errorf("the consumer of %s was cancelled", r.queue)
			}
			if err := r.handle(message); err != nil {
				return err
			}
		case <-time.After(wait):
			return nil
		}
	}
	return nil
}

func (r *run) handle(message amqp.Delivery) error {
	read := readEnvelope(message.Headers, message.RoutingKey, message.MessageId)
	if err := r.decode(message.Body); err != nil {
		r.counters["rejected"]++
		return r.setAside(message, read, ".parked", "could not be decoded: "+err.Error())
	}
	entry := r.entryFor(read.id)
	delivery := messageFor(message)
	delivery["outcome"], delivery["routingKey"], delivery["redelivered"] = entry, message.RoutingKey, message.Redelivered
	r.deliveries = append(r.deliveries, delivery)
	verb, why, _ := strings.Cut(entry, ": ")
	return r.settle(message, read, verb, either(why, "no reason given"))
}

func (r *run) decode(body []byte) error {
	var payload interface{}
	switch {
	case r.codec == "json":
		return json.Unmarshal(body, &payload)
	case r.codec == "text" && !utf8.Valid(body):
		return fmt.Errorf("this message is not UTF-8 text")
	}
	return nil
}

// entryFor is what the script says about this delivery.
func (r *run) entryFor(id string) string {
	entries, _ := r.script[id].([]interface{})
	if entries == nil {
		entries, _ = r.script["*"].([]interface{})
	}
	if len(entries) == 0 {
		return "accept"
	}
	turn := r.seen[id]
	r.seen[id]++
	if turn >= len(entries) {
		turn = len(entries) - 1
	}
	return text(entries[turn])
}

func (r *run) settle(message amqp.Delivery, read envelope, verb, why string) error {
	if verb == "accept" {
		r.counters["acknowledged"]++
		return message.Ack(false)
	}
	r.counters["rejected"]++
	switch verb {
	case "park":
		return r.setAside(message, read, ".parked", "the handler parked it: "+why)
	case "reject":
		return r.setAside(message, read, ".dlq", "the handler reported an unprocessable message: "+why)
	}
	if r.policy.givesUp(read.attempt, time.Since(time.UnixMilli(read.firstSeen))) {
		return r.setAside(message, read, ".dlq", r.exhausted(read)+": "+why)
	}
	return r.again(message, read)
}

// exhausted says which limit was reached.
func (r *run) exhausted(read envelope) string {
	if read.attempt < r.policy.attempts {
		return fmt.Sprintf("exceeded the maximum message age of %s", r.policy.age)
	}
	if r.policy.attempts == 1 {
		return "exhausted 1 attempt"
	}
	return fmt.Sprintf("exhausted %d attempts", r.policy.attempts)
}

// again sends it to its rung, or waits here and puts it back; a missing rung's wait is spent here.
func (r *run) again(message amqp.Delivery, read envelope) error {
	wait := r.policy.waitAfter(read.attempt)
	read.attempt++
	r.counters["retried"]++
	if rung := r.policy.rungFor(r.queue, wait); rung != "" && r.broker.hop(message, rung, read) == nil {
		return message.Ack(false)
	}
	wait = r.policy.jittered(wait, draw())
	if len(r.deliveries) == r.wanted {
		r.endsAt = time.Now()
	}
	if left := time.Until(r.endsAt); left < wait {
		wait = left
	}
	time.Sleep(wait)
	if r.broker.hop(message, r.queue, read) != nil {
		return message.Nack(false, true)
	}
	return message.Ack(false)
}

// setAside moves it to a failure queue; where there is none the broker drops it (16.7).
func (r *run) setAside(message amqp.Delivery, read envelope, suffix, why string) error {
	if suffix == ".parked" {
		r.counters["parked"]++
	} else {
		r.counters["deadLettered"]++
	}
	read.err = why
	if r.broker.hop(message, r.queue+suffix, read) != nil {
		return message.Nack(false, false)
	}
	return message.Ack(false)
}
