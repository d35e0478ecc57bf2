package main

// One connection to a broker, used as the Go peer uses amqp091-go.

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var (
	errUnroutable = errors.New("unroutable")
	errReserved   = errors.New("reserved header")
)

type broker struct {
	connection *amqp.Connection
	publishing *amqp.Channel
	returned   chan amqp.Return
	confirmed  chan amqp.Confirmation
}

func open(url string, timeout time.Duration) (*broker, error) {
	connection, err := amqp.DialConfig(url, amqp.Config{Dial: amqp.DefaultDial(timeout), Locale: "en_US"})
	if err != nil {
		return nil, err
	}
	channel, err := connection.Channel()
	if err == nil {
		err = channel.Confirm(false)
	}
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return &broker{connection, channel, channel.NotifyReturn(make(chan amqp.Return, 16)),
		channel.NotifyPublish(make(chan amqp.Confirmation, 16))}, nil
}

func declaredExchange(name, kind string) object {
	return object{"kind": "exchange", "name": name, "type": kind}
}

// declaredQueue without a type in its arguments is classic.
func declaredQueue(name string, arguments map[string]interface{}) object {
	kind := either(text(arguments["x-queue-type"]), "classic")
	return object{"kind": "queue", "name": name, "type": kind, "arguments": arguments}
}

func declaredBinding(queue, exchange, key string) object {
	return object{"kind": "binding", "name": queue, "exchange": exchange, "routingKey": key}
}

// planConsumer is what a consumer declares: its failure queues always, the retry exchange only with rungs (16.14).
func planConsumer(queue string, retry policy) []object {
	plan := []object{declaredExchange("acemq.dlx", "direct")}
	for _, name := range []string{queue + ".dlq", queue + ".parked"} {
		plan = append(plan, declaredQueue(name, object{}), declaredBinding(name, "acemq.dlx", name))
	}
	return append(plan, planLadder(queue, retry)...)
}

func planLadder(queue string, retry policy) []object {
	rungs := retry.rungs(queue)
	if len(rungs) == 0 {
		return nil
	}
	plan := []object{declaredExchange("acemq.retry", "direct")}
	for _, each := range rungs {
		plan = append(plan, declaredQueue(each.queue, rungArguments(queue, each.wait)))
	}
	return append(plan, declaredBinding(queue, "acemq.retry", queue))
}

// planTopology has exchanges, then queues, then bindings.
func planTopology(given object) ([]object, error) {
	if err := only(given, "exchanges", "queues", "bindings"); err != nil {
		return nil, err
	}
	var plan []object
	for _, each := range objects(given["exchanges"]) {
		plan = append(plan, declaredExchange(text(each["name"]), text(each["type"])))
	}
	for _, each := range objects(given["queues"]) {
		steps, err := planQueue(each)
		if err != nil {
			return nil, err
		}
		plan = append(plan, steps...)
	}
	for _, each := range objects(given["bindings"]) {
		plan = append(plan, declaredBinding(text(each["queue"]), text(each["exchange"]), text(each["key"])))
	}
	return inOrder(plan), nil
}

func inOrder(plan []object) []object {
	order := map[interface{}]int{"exchange": 0, "queue": 1, "binding": 2}
	seen := map[string]bool{}
	var unique []object
	for _, step := range plan {
		if written := fmt.Sprint(step); !seen[written] {
			seen[written] = true
			unique = append(unique, step)
		}
	}
	sort.SliceStable(unique, func(a, b int) bool { return order[unique[a]["kind"]] < order[unique[b]["kind"]] })
	return unique
}

func planQueue(each object) ([]object, error) {
	if err := only(each, "name", "type", "deadLetter", "retry", "arguments"); err != nil {
		return nil, err
	}
	retry, err := parsePolicy(each["retry"])
	if err != nil {
		return nil, err
	}
	name := text(each["name"])
	extra, _ := each["arguments"].(object)
	arguments, err := tableFrom(extra)
	if err != nil {
		return nil, err
	}
	if kind := either(text(each["type"]), "quorum"); kind != "classic" {
		arguments["x-queue-type"] = kind
	}
	if each["deadLetter"] != true {
		return append([]object{declaredQueue(name, arguments)}, planLadder(name, retry)...), nil
	}
	arguments["x-dead-letter-exchange"], arguments["x-dead-letter-routing-key"] = "acemq.dlx", name+".dlq"
	return append([]object{declaredQueue(name, arguments)}, planConsumer(name, retry)...), nil
}

// declare declares a plan, on a channel of its own since a refusal takes the channel with it.
func (b *broker) declare(plan []object) error {
	channel, err := b.connection.Channel()
	if err != nil {
		return err
	}
	defer channel.Close()
	for _, step := range plan {
		if err := declareOne(channel, step); err != nil {
			return err
		}
	}
	return nil
}

func declareOne(channel *amqp.Channel, step object) error {
	name := text(step["name"])
	switch step["kind"] {
	case "exchange":
		return channel.ExchangeDeclare(name, text(step["type"]), true, false, false, false, nil)
	case "queue":
		var arguments amqp.Table
		switch given := step["arguments"].(type) {
		case amqp.Table:
			arguments = given
		case object:
			arguments = given
		}
		_, err := channel.QueueDeclare(name, true, false, false, false, arguments)
		return err
	}
	return channel.QueueBind(name, text(step["routingKey"]), text(step["exchange"]), false, nil)
}

// publish waits for the confirm. The peer is mandatory on hops and replays, and not by itself when it publishes (16.4).
func (b *broker) publish(exchange, key string, mandatory bool, message amqp.Publishing) error {
	if err := b.publishing.PublishWithContext(context.Background(), exchange, key, mandatory, false, message); err != nil {
		return err
	}
	// Not the deferred confirmation: this client makes it after it sent, and never tells of a confirm that was faster.
	if !(<-b.confirmed).Ack {
		return errors.New("not confirmed")
	}
	select {
	case back := <-b.returned:
		return fmt.Errorf("%s: %s: %w", key, back.ReplyText, errUnroutable)
	default:
		return nil
	}
}

func persistent(message amqp.Delivery, going envelope, headers amqp.Table) amqp.Publishing {
	return amqp.Publishing{Body: message.Body, ContentType: message.ContentType, MessageId: going.id, Headers: headers,
		ReplyTo: message.ReplyTo, DeliveryMode: amqp.Persistent}
}

// hop republishes by name with what this peer keeps: content type, id and reply-to, and no other property (16.13).
func (b *broker) hop(message amqp.Delivery, queue string, going envelope) error {
	return b.publish("", queue, true, persistent(message, going, going.onHop()))
}

func (b *broker) waiting(queue string) (int, error) {
	channel, err := b.connection.Channel()
	if err != nil {
		return 0, err
	}
	defer channel.Close()
	found, err := channel.QueueInspect(queue)
	return found.Messages, err
}

// peek looks at messages and leaves them.
func (b *broker) peek(queue string, most int) ([]amqp.Delivery, error) {
	channel, err := b.connection.Channel()
	if err != nil {
		return nil, err
	}
	defer channel.Close()
	var seen []amqp.Delivery
	for len(seen) < most {
		message, found, err := channel.Get(queue, false)
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
		seen = append(seen, message)
	}
	for _, message := range seen {
		if err := message.Nack(false, true); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// replay moves failed messages back; those not wanted are held until the pass is over.
func (b *broker) replay(queue, source string, most int, keep bool, wanted func(envelope) bool) (moved, declined int, err error) {
	channel, err := b.connection.Channel()
	if err != nil {
		return 0, 0, err
	}
	defer channel.Close()
	for moved < most {
		message, found, err := channel.Get(source, false)
		if err != nil || !found {
			return moved, declined, err
		}
		read := readEnvelope(message.Headers, message.RoutingKey, message.MessageId)
		if !wanted(read) {
			defer func() { _ = message.Nack(false, true) }()
			declined++
			continue
		}
		if err := b.moveBack(message, read, queue, source, keep); err != nil {
			_ = message.Nack(false, true)
			return moved, declined, err
		}
		if err := message.Ack(false); err != nil {
			return moved, declined, err
		}
		moved++
	}
	return moved, declined, nil
}

// moveBack publishes one message to where it failed, stamped (16.5, 16.11).
func (b *broker) moveBack(message amqp.Delivery, read envelope, queue, source string, keep bool) error {
	count := replayCount(read.headers["acemq-replay-count"])
	if !keep {
		read.attempt, read.err = 1, ""
	}
	headers := read.onHop()
	headers["acemq-replayed-from"] = source
	headers["acemq-replayed-at"] = time.Now().UTC().Format(time.RFC3339)
	headers["acemq-replay-count"] = count + 1
	return b.publish("", queue, true, persistent(message, read, headers))
}

// replayCount takes numbers only.
func replayCount(value interface{}) int {
	if _, isText := value.(string); isText {
		return 0
	}
	return int(number(value))
}
