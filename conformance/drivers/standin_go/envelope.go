package main

// The envelope as the Go peer reads and writes it: section 2, and 16.9, 16.10, 16.16.

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const reserved = "x-acemq-"

type envelope struct {
	id, kind, correlation, causation, origin, err, claim string
	route, routeID                                       string
	version, attempt, routePosition                      int
	firstSeen                                            int64
	headers                                              amqp.Table
}

func newID() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:])
	bytes[6], bytes[8] = bytes[6]&0x0f|0x40, bytes[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:])
}

func ownOrigin() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return "acemq@" + host
}

// freshEnvelope is what a publish starts from.
func freshEnvelope(routingKey string) envelope {
	return envelope{id: newID(), kind: routingKey, version: 1, attempt: 1, origin: ownOrigin(),
		firstSeen: time.Now().UnixMilli(), headers: amqp.Table{}}
}

func text(value interface{}) string {
	switch held := value.(type) {
	case nil:
		return ""
	case string:
		return held
	case []byte:
		return string(held)
	}
	return fmt.Sprint(value)
}

// number is any header as an integer, 0 when nothing can be made of it; fractions are cut off, and surrounding spaces
// make a text no number.
func number(value interface{}) int64 {
	switch held := value.(type) {
	case int:
		return int64(held)
	case int8:
		return int64(held)
	case int16:
		return int64(held)
	case int32:
		return int64(held)
	case int64:
		return held
	case uint8:
		return int64(held)
	case uint16:
		return int64(held)
	case uint32:
		return int64(held)
	case uint64:
		return int64(held)
	case float32:
		return int64(held)
	case float64:
		return int64(held)
	case string:
		parsed, _ := strconv.ParseInt(held, 10, 64)
		return parsed
	case []byte:
		parsed, _ := strconv.ParseInt(string(held), 10, 64)
		return parsed
	}
	return 0
}

func either(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func counted(value interface{}) int {
	if found := int(number(value)); found != 0 {
		return found
	}
	return 1
}

// readEnvelope is from a delivery. What has no first-seen was first seen in 1970.
func readEnvelope(headers amqp.Table, routingKey, messageID string) envelope {
	read := envelope{
		kind: either(text(headers[reserved+"type"]), routingKey), version: counted(headers[reserved+"version"]),
		causation: text(headers[reserved+"causation"]), attempt: counted(headers[reserved+"attempt"]),
		firstSeen: number(headers[reserved+"first-seen"]), origin: text(headers[reserved+"origin"]),
		err: text(headers[reserved+"error"]), claim: text(headers[reserved+"claim"]),
		route: text(headers[reserved+"route"]), routeID: text(headers[reserved+"route-id"]),
		headers: amqp.Table{},
	}
	if position := int(number(headers[reserved+"route-position"])); position > 0 {
		read.routePosition = position
	}
	read.id = either(text(headers[reserved+"id"]), messageID)
	if read.id == "" {
		read.id = newID()
	}
	read.correlation = either(text(headers[reserved+"correlation"]), read.id)
	for name, value := range headers {
		if !strings.HasPrefix(name, reserved) {
			read.headers[name] = value
		}
	}
	return read
}

// written is all headers; reserved ones that this peer does not know are gone.
func (e envelope) written() amqp.Table {
	all := amqp.Table{
		reserved + "id": e.id, reserved + "type": e.kind, reserved + "version": e.version,
		reserved + "correlation": either(e.correlation, e.id), reserved + "attempt": e.attempt,
		reserved + "first-seen": e.firstSeen,
	}
	optional := map[string]string{"causation": e.causation, "origin": e.origin, "error": e.err, "claim": e.claim,
		"route": e.route}
	if e.route != "" {
		all[reserved+"route-position"] = e.routePosition
		optional["route-id"] = e.routeID
	}
	for name, value := range optional {
		if value != "" {
			all[reserved+name] = value
		}
	}
	for name, value := range e.headers {
		all[name] = value
	}
	return all
}

// routeSteps is a route's names, without spaces around them and without blank ones.
func routeSteps(route string) []string {
	var steps []string
	for _, step := range strings.Split(route, ",") {
		if step = strings.TrimSpace(step); step != "" {
			steps = append(steps, step)
		}
	}
	return steps
}

// onHop is what goes on with a message that failed: the broker's own record of its deaths does not (16.13).
func (e envelope) onHop() amqp.Table {
	all := e.written()
	for name := range all {
		if name == "x-death" || strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-") {
			delete(all, name)
		}
	}
	return all
}
