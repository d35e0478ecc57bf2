// A driver for the Go peer itself, from its source: its public calls, and the conformance protocol before them.
//
// Written against the API as its public repository shows it. What the protocol asks for and the API has no call for is
// unsupported.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	acemq "github.com/AceMQ-Company/acemq-go-amqp/amqp"
	"github.com/AceMQ-Company/acemq-go-amqp/patterns"
	_ "github.com/AceMQ-Company/acemq-go-amqp/rabbitmq"
)

type driver struct{ mq *acemq.Conn }

type verb struct {
	parameters string
	run        func(object) (interface{}, error)
}

func either(given, missing string) string {
	if given == "" {
		return missing
	}
	return given
}

// only refuses parameters that neither the peer nor this driver has anything for.
func only(asked object, known string) error {
	for name := range asked {
		if !strings.Contains(" "+known+" ", " "+name+" ") {
			return notOffered("the peer's driver has nothing for " + name)
		}
	}
	return nil
}

// usual refuses another value than the default.
func usual(asked, defaults object) error {
	for name, value := range defaults {
		if given, isGiven := asked[name]; isGiven && given != value {
			return notOffered(fmt.Sprintf("the peer's driver has %s only as %v", name, value))
		}
	}
	return nil
}

func (d *driver) verbs() map[string]verb {
	connected := func(run func(object) (interface{}, error)) func(object) (interface{}, error) {
		return func(asked object) (interface{}, error) {
			if d.mq == nil {
				return nil, io.ErrClosedPipe
			}
			return run(asked)
		}
	}
	return map[string]verb{
		"schedule": {"policy queue", schedule},
		"waits":    {"policy attempts", waits},
		"decide":   {"policy attempt age", decide},
		"place":    {"policy queue delay", place},
		"names":    {"queue", names},
		"connect":  {"url timeout", d.connect},
		"close":    {"", d.close},
		"topology": {"topology", connected(d.topology)},
		"publish":  {"queue exchange routingKey message timeout", connected(d.publish)},
		"consume": {"queue retry codec script until members prefetch declare requeueOnFailure idempotency",
			connected(d.consume)},
		"pending": {"queue parked", connected(d.pending)},
		"replay":  {"queue parked max keepAttempts id headers", connected(d.replay)},
	}
}

func placed(ladder acemq.RetryLadder, wait time.Duration) object {
	if rung, inBroker := ladder.RungFor(wait); inBroker {
		return object{"where": "broker", "rung": rung}
	}
	return object{"where": "consumer", "rung": nil}
}

func schedule(asked object) (interface{}, error) {
	policy, err := parsePolicy(asked["policy"])
	if err != nil {
		return nil, err
	}
	ladder, waits, rungs := acemq.LadderFor(text(asked["queue"]), policy), []object{}, []object{}
	for index, wait := range policy.Schedule() {
		each := placed(ladder, wait)
		each["afterAttempt"], each["delayMs"] = index+1, wait.Milliseconds()
		waits = append(waits, each)
	}
	for _, rung := range ladder.Rungs {
		rungs = append(rungs, object{"queue": rung.Queue, "arguments": rung.Args})
	}
	return object{"waits": waits, "rungs": rungs}, nil
}

func waits(asked object) (interface{}, error) {
	policy, err := parsePolicy(asked["policy"])
	list, _ := asked["attempts"].([]interface{})
	found := make([]int64, len(list))
	for index, attempt := range list {
		if wait, again := policy.WithJitter(0).NextDelay(whole(attempt, 1), 0); again {
			found[index] = wait.Milliseconds()
		}
	}
	return object{"waits": found}, err
}

func decide(asked object) (interface{}, error) {
	if asked["age"] == nil {
		return nil, notOffered("the peer decides with an age only")
	}
	policy, err := parsePolicy(asked["policy"])
	_, again := policy.NextDelay(whole(asked["attempt"], 1), milliseconds(asked["age"], 0))
	return object{"retries": again}, err
}

func place(asked object) (interface{}, error) {
	policy, err := parsePolicy(asked["policy"])
	return placed(acemq.LadderFor(text(asked["queue"]), policy), milliseconds(asked["delay"], 0)), err
}

func names(asked object) (interface{}, error) {
	queue := text(asked["queue"])
	return object{"deadLetter": acemq.DeadLetterQueue(queue), "parked": acemq.ParkedQueue(queue)}, nil
}

func (d *driver) connect(asked object) (interface{}, error) {
	if _, err := d.close(nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), milliseconds(asked["timeout"], 10*time.Second))
	defer cancel()
	opened, err := acemq.Connect(ctx, text(asked["url"]), acemq.WithCodec(acemq.BytesCodec{}))
	if err == nil {
		d.mq = opened
	}
	return nil, err
}

func (d *driver) close(object) (interface{}, error) {
	closing := d.mq
	d.mq = nil
	if closing == nil {
		return nil, nil
	}
	return nil, closing.Close()
}

func (d *driver) topology(asked object) (interface{}, error) {
	given, _ := asked["topology"].(object)
	if err := only(given, "exchanges queues bindings"); err != nil {
		return nil, err
	}
	described := acemq.NewTopology()
	for _, each := range objects(given["exchanges"]) {
		if err := only(each, "name type"); err != nil {
			return nil, err
		}
		described.Exchange(text(each["name"]), text(each["type"]))
	}
	for _, each := range objects(given["queues"]) {
		if err := addQueue(described, each); err != nil {
			return nil, err
		}
	}
	for _, each := range objects(given["bindings"]) {
		if err := only(each, "queue exchange key"); err != nil {
			return nil, err
		}
		described.Binding(text(each["queue"]), text(each["exchange"]), text(each["key"]))
	}
	return nil, described.Apply(context.Background(), d.mq)
}

func addQueue(described *acemq.Topology, given object) error {
	if err := only(given, "name type arguments deadLetter retry"); err != nil {
		return err
	}
	name := text(given["name"])
	options := []acemq.QueueOption{acemq.OfType(acemq.QueueType(either(text(given["type"]), "quorum")))}
	arguments, _ := given["arguments"].(object)
	for argument, value := range arguments {
		made, err := headerFrom(value)
		if err != nil {
			return err
		}
		options = append(options, acemq.QueueArg(argument, made))
	}
	described.Queue(name, options...)
	if truth(given["deadLetter"]) {
		described.DeadLetters(name)
	}
	if given["retry"] == nil {
		return nil
	}
	policy, err := parsePolicy(given["retry"])
	if err == nil {
		described.Retries(name, policy)
	}
	return err
}

func envelopeFrom(key string, message object) (acemq.Envelope, error) {
	setters := map[string]func(string) acemq.EnvelopeOption{
		"id": acemq.MessageID, "type": acemq.MessageType, "correlation": acemq.CorrelationID,
		"causation": acemq.CausationID, "origin": acemq.Origin, "replyTo": acemq.ReplyTo,
	}
	var options []acemq.EnvelopeOption
	for name, set := range setters {
		if given, isGiven := message[name].(string); isGiven {
			options = append(options, set(given))
		}
	}
	if message["version"] != nil {
		options = append(options, acemq.SchemaVersion(whole(message["version"], 1)))
	}
	headers, _ := message["headers"].(object)
	for name, value := range headers {
		made, err := headerFrom(value)
		if err != nil {
			return acemq.Envelope{}, err
		}
		options = append(options, acemq.Header(name, made))
	}
	return acemq.NewEnvelope(key, options...)
}

func (d *driver) publish(asked object) (interface{}, error) {
	message, _ := asked["message"].(object)
	if err := only(message, "id type version correlation causation origin headers replyTo transient body bodyBase64"); err != nil {
		return nil, err
	}
	key := either(text(asked["queue"]), text(asked["routingKey"]))
	envelope, err := envelopeFrom(key, message)
	if err != nil {
		return nil, err
	}
	body, err := bodyFrom(message)
	if err != nil {
		return nil, err
	}
	options := []acemq.PublisherOption[[]byte]{acemq.Mandatory[[]byte]()}
	if truth(message["transient"]) {
		options = append(options, acemq.NotPersistent[[]byte]())
	}
	ctx, cancel := context.WithTimeout(context.Background(), milliseconds(asked["timeout"], 10*time.Second))
	defer cancel()
	publisher := acemq.NewPublisher[[]byte](d.mq, text(asked["exchange"]), key, options...)
	return object{"id": envelope.ID}, publisher.SendEnvelope(ctx, body, envelope)
}

func failuresOf(asked object) string {
	if truth(asked["parked"]) {
		return acemq.ParkedQueue(text(asked["queue"]))
	}
	return acemq.DeadLetterQueue(text(asked["queue"]))
}

func (d *driver) pending(asked object) (interface{}, error) {
	count, err := d.mq.MessageCount(context.Background(), failuresOf(asked))
	return object{"pending": count}, err
}

func (d *driver) replay(asked object) (interface{}, error) {
	headers, _ := asked["headers"].(object)
	source, ctx := failuresOf(asked), context.Background()
	done, err := patterns.Replay(ctx, d.mq, patterns.ReplayFrom{
		Queue: source, RoutingKey: text(asked["queue"]), Limit: whole(asked["max"], 0),
		KeepAttempts: truth(asked["keepAttempts"]),
		Filter: func(read acemq.Envelope, _ []byte) bool {
			for name, value := range headers {
				if read.Headers[name] != value {
					return false
				}
			}
			return asked["id"] == nil || asked["id"] == read.ID
		},
	})
	if err != nil {
		return nil, err
	}
	left, err := d.mq.MessageCount(ctx, source)
	return object{"replayed": done.Moved, "declined": done.Skipped, "left": left}, err
}

// named is what acemq_error_name() calls an error of the peer, or the nearest to it.
func named(err error) string {
	var refused *acemq.PublishFailedError
	if errors.As(err, &refused) && refused.Unroutable {
		return "unroutable"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	for part, name := range map[string]string{
		"PRECONDITION_FAILED": "differs", "NOT_FOUND": "not_found", "reserved": "reserved_header", "parse: ": "parse",
	} {
		if strings.Contains(err.Error(), part) {
			return name
		}
	}
	return "broker"
}

func answerTo(verbs map[string]verb, request object) object {
	known, isKnown := verbs[text(request["do"])]
	asked, _ := request["with"].(object)
	answer := object{"id": request["id"]}
	if !isKnown {
		answer["unsupported"] = "the peer's driver has nothing for it"
		return answer
	}
	err := only(asked, known.parameters)
	var result interface{}
	if err == nil {
		result, err = known.run(asked)
	}
	var missing notOffered
	switch {
	case errors.As(err, &missing):
		answer["unsupported"] = missing.Error()
	case err != nil:
		answer["error"] = object{"name": named(err), "message": err.Error()}
	case result == nil:
		answer["ok"] = object{}
	default:
		answer["ok"] = result
	}
	return answer
}

func main() {
	d := &driver{}
	verbs, offered := d.verbs(), []string{}
	for name := range verbs {
		offered = append(offered, name)
	}
	sort.Strings(offered)
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(object{"hello": object{"protocol": 1, "name": "peer_go", "version": acemq.Version, "verbs": offered}})
	lines := json.NewDecoder(bufio.NewReader(os.Stdin))
	lines.UseNumber()
	for {
		request := object{}
		if err := lines.Decode(&request); err != nil {
			break
		}
		_ = out.Encode(answerTo(verbs, request))
	}
	_, _ = d.close(nil)
}
