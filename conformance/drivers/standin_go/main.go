// A stand-in for the Go peer: what it writes and how it reads, on the client that it is built on.
//
// It knows nothing of libacemq and shares no code with it or with the peer. The rules are in policy.go, envelope.go and
// consumer.go; this file speaks the conformance protocol.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

type verb func(asked object) (interface{}, error)

type driver struct{ broker *broker }

// only refuses what the peer has nothing for.
func only(asked object, known ...string) error {
	for name := range asked {
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return notOffered("the peer has no " + name)
		}
	}
	return nil
}

func objects(value interface{}) []object {
	list, _ := value.([]interface{})
	found := make([]object, 0, len(list))
	for _, item := range list {
		if each, isObject := item.(object); isObject {
			found = append(found, each)
		}
	}
	return found
}

func doEnvelope(asked object) (interface{}, error) {
	given, _ := asked["headers"].(object)
	headers, err := tableFrom(given)
	if err != nil {
		return nil, err
	}
	read := readEnvelope(headers, text(asked["routingKey"]), text(asked["messageId"]))
	written := object{}
	for name, value := range read.written() {
		written[name] = typed(value)
	}
	return object{"envelope": envelopeFor(read, ""), "headers": headersFor(read.headers), "written": written}, nil
}

func placed(retry policy, queue string, wait time.Duration) object {
	if rung := retry.rungFor(queue, wait); rung != "" {
		return object{"where": "broker", "rung": rung}
	}
	return object{"where": "consumer", "rung": nil}
}

// withPolicy gives a verb its policy.
func withPolicy(name string, then func(policy, object) interface{}) verb {
	return func(asked object) (interface{}, error) {
		retry, err := parsePolicy(asked[name])
		if err != nil {
			return nil, err
		}
		return then(retry, asked), nil
	}
}

func doSchedule(retry policy, asked object) interface{} {
	queue, waits, rungs := text(asked["queue"]), []object{}, []object{}
	for attempt := 1; attempt < retry.attempts; attempt++ {
		wait := retry.waitAfter(attempt)
		each := placed(retry, queue, wait)
		each["afterAttempt"], each["delayMs"] = attempt, wait.Milliseconds()
		waits = append(waits, each)
	}
	for _, each := range retry.rungs(queue) {
		rungs = append(rungs, object{"queue": each.queue, "arguments": rungArguments(queue, each.wait)})
	}
	return object{"waits": waits, "rungs": rungs}
}

func doWaits(retry policy, asked object) interface{} {
	list, _ := asked["attempts"].([]interface{})
	waits := make([]int64, len(list))
	for index, attempt := range list {
		if given := whole(attempt, 1); !retry.givesUp(given, 0) {
			waits[index] = retry.waitAfter(given).Milliseconds()
		}
	}
	return object{"waits": waits}
}

func partitionOf(asked object) (int, error) {
	if rule := either(text(asked["rule"]), "unsigned"); rule != "unsigned" {
		return 0, notOffered("the peer has only its own rule")
	}
	key := []byte(text(asked["key"]))
	if encoded, isBinary := asked["keyBase64"].(string); isBinary {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return 0, err
		}
		key = decoded
	}
	return partition(key, whole(asked["partitions"], 1)), nil
}

func orderedQueue(asked object) (string, error) {
	index, err := partitionOf(asked)
	return fmt.Sprintf("%s.%d", text(asked["name"]), index), err
}

func topologyOf(asked object) ([]object, error) {
	given, _ := asked["topology"].(object)
	return planTopology(given)
}

func failuresOf(asked object) string {
	if asked["parked"] == true {
		return text(asked["queue"]) + ".parked"
	}
	return text(asked["queue"]) + ".dlq"
}

func (d *driver) verbs() map[string]verb {
	return map[string]verb{
		"envelope": doEnvelope,
		"schedule": withPolicy("policy", doSchedule),
		"waits":    withPolicy("policy", doWaits),
		// An unknown age is that of a message first seen in 1970.
		"decide": withPolicy("policy", func(retry policy, asked object) interface{} {
			age := milliseconds(asked["age"], time.Since(time.UnixMilli(0)))
			return object{"retries": !retry.givesUp(whole(asked["attempt"], 1), age)}
		}),
		"place": withPolicy("policy", func(retry policy, asked object) interface{} {
			return placed(retry, text(asked["queue"]), milliseconds(asked["delay"], 0))
		}),
		"jitter": withPolicy("policy", func(retry policy, asked object) interface{} {
			unit, _ := asked["unit"].(json.Number).Float64()
			return object{"delay": retry.jittered(milliseconds(asked["delay"], 0), unit).Milliseconds()}
		}),
		"names": func(asked object) (interface{}, error) {
			queue := text(asked["queue"])
			return object{"deadLetter": queue + ".dlq", "parked": queue + ".parked"}, nil
		},
		"partition": func(asked object) (interface{}, error) {
			index, err := partitionOf(asked)
			return object{"partition": index}, err
		},
		"ordered.queue": func(asked object) (interface{}, error) {
			queue, err := orderedQueue(asked)
			return object{"queue": queue}, err
		},
		"topology.plan": func(asked object) (interface{}, error) {
			plan, err := topologyOf(asked)
			return object{"objects": plan}, err
		},
		"consumer.plan": withPolicy("policy", func(retry policy, asked object) interface{} {
			return object{"objects": planConsumer(text(asked["queue"]), retry)}
		}),
		"connect": d.connect, "close": d.close,
		"topology": d.connected(func(asked object) (interface{}, error) {
			plan, err := topologyOf(asked)
			if err != nil {
				return nil, err
			}
			return nil, d.broker.declare(plan)
		}),
		"publish": d.connected(func(asked object) (interface{}, error) {
			key := either(text(asked["queue"]), text(asked["routingKey"]))
			return d.send(text(asked["exchange"]), key, asked["message"])
		}),
		"ordered.publish": d.connected(func(asked object) (interface{}, error) {
			queue, err := orderedQueue(asked)
			if err != nil {
				return nil, err
			}
			return d.send("", queue, asked["message"])
		}),
		"consume": d.connected(d.consume),
		"pending": d.connected(func(asked object) (interface{}, error) {
			count, err := d.broker.waiting(failuresOf(asked))
			return object{"pending": count}, err
		}),
		"peek": d.connected(func(asked object) (interface{}, error) {
			seen, err := d.broker.peek(text(asked["queue"]), whole(asked["max"], 10))
			messages := []object{}
			for _, message := range seen {
				messages = append(messages, messageFor(message))
			}
			return object{"messages": messages}, err
		}),
		"replay": d.connected(d.replay),
	}
}

func (d *driver) connected(then verb) verb {
	return func(asked object) (interface{}, error) {
		if d.broker == nil {
			return nil, io.ErrClosedPipe
		}
		return then(asked)
	}
}

func (d *driver) connect(asked object) (interface{}, error) {
	_, _ = d.close(nil)
	opened, err := open(text(asked["url"]), milliseconds(asked["timeout"], 10*time.Second))
	d.broker = opened
	return nil, err
}

func (d *driver) close(object) (interface{}, error) {
	if d.broker != nil {
		_ = d.broker.connection.Close()
	}
	d.broker = nil
	return nil, nil
}

// send publishes with a fresh envelope and what the request says over it.
func (d *driver) send(exchange, key string, given interface{}) (interface{}, error) {
	message, _ := given.(object)
	err := only(message, "id", "type", "version", "correlation", "causation", "origin", "contentType", "headers",
		"replyTo", "transient", "body", "bodyBase64")
	if err != nil {
		return nil, err
	}
	going := freshEnvelope(key)
	going.id, going.kind = either(text(message["id"]), going.id), either(text(message["type"]), going.kind)
	going.origin, going.version = either(text(message["origin"]), going.origin), whole(message["version"], 1)
	going.correlation, going.causation = text(message["correlation"]), text(message["causation"])
	own, _ := message["headers"].(object)
	if going.headers, err = tableFrom(own); err != nil {
		return nil, err
	}
	for name := range going.headers {
		if strings.HasPrefix(name, reserved) {
			return nil, fmt.Errorf("%w: %s", errReserved, name)
		}
	}
	body, err := bodyOf(message)
	if err != nil {
		return nil, err
	}
	mode := amqp.Persistent
	if message["transient"] == true {
		mode = amqp.Transient
	}
	return object{"id": going.id}, d.broker.publish(exchange, key, false, amqp.Publishing{
		Body: body, ContentType: either(text(message["contentType"]), "application/json"), MessageId: going.id,
		Headers: going.written(), ReplyTo: text(message["replyTo"]), DeliveryMode: mode})
}

func (d *driver) consume(asked object) (interface{}, error) {
	if whole(asked["members"], 1) != 1 || either(text(asked["declare"]), "yes") != "yes" ||
		asked["requeueOnFailure"] == true || asked["idempotency"] != nil {
		return nil, notOffered("the stand-in has no groups, no verifying, no requeueing and no claims")
	}
	if err := only(asked, "queue", "retry", "codec", "script", "until", "prefetch", "members", "declare",
		"requeueOnFailure", "idempotency"); err != nil {
		return nil, err
	}
	if asked["codec"] == "msgpack" {
		return nil, notOffered("the peer has no such codec")
	}
	return d.broker.consume(asked)
}

func (d *driver) replay(asked object) (interface{}, error) {
	if err := only(asked, "queue", "parked", "max", "keepAttempts", "id", "headers"); err != nil {
		return nil, err
	}
	source, headers := failuresOf(asked), object{}
	if given, isObject := asked["headers"].(object); isObject {
		headers = given
	}
	wanted := func(read envelope) bool {
		for name, value := range headers {
			if read.headers[name] != value {
				return false
			}
		}
		return asked["id"] == nil || asked["id"] == read.id
	}
	most := whole(asked["max"], math.MaxInt32)
	moved, declined, err := d.broker.replay(text(asked["queue"]), source, most, asked["keepAttempts"] == true, wanted)
	if err != nil {
		return nil, err
	}
	left, err := d.broker.waiting(source)
	return object{"replayed": moved, "declined": declined, "left": left}, err
}

func failure(err error) object {
	var missing notOffered
	var refused *amqp.Error
	name := "invalid_argument"
	switch {
	case errors.As(err, &missing):
		return object{"unsupported": string(missing)}
	case errors.Is(err, errUnroutable):
		name = "unroutable"
	case errors.Is(err, errReserved):
		name = "reserved_header"
	case errors.As(err, &refused) && refused.Code == amqp.PreconditionFailed:
		name = "differs"
	case refused != nil && refused.Code == amqp.NotFound:
		name = "not_found"
	case refused != nil || errors.Is(err, io.ErrClosedPipe):
		name = "broker"
	}
	return object{"error": object{"name": name, "message": err.Error()}}
}

func answer(known map[string]verb, line []byte) object {
	var request struct {
		ID   json.Number
		Do   string
		With object
	}
	reader := json.NewDecoder(bytes.NewReader(line))
	reader.UseNumber()
	if err := reader.Decode(&request); err != nil {
		return failure(err)
	}
	reply := object{"unsupported": "the peer, or its stand-in, has nothing for it"}
	if do, has := known[request.Do]; has {
		if ok, err := do(request.With); err != nil {
			reply = failure(err)
		} else if ok == nil {
			reply = object{"ok": object{}}
		} else {
			reply = object{"ok": ok}
		}
	}
	reply["id"] = request.ID
	return reply
}

func main() {
	d := &driver{}
	known := d.verbs()
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	sort.Strings(names)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	_ = out.Encode(object{"hello": object{"protocol": 1, "name": "standin_go", "version": "1", "verbs": names}})
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			if encoded := out.Encode(answer(known, line)); encoded != nil {
				fmt.Fprintln(os.Stderr, encoded)
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = d.close(nil)
}
