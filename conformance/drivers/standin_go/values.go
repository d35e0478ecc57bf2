package main

// Headers, bodies and messages as the conformance protocol writes them, and as amqp091-go has them.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"
)

type object = map[string]interface{}

func plainNumber(written json.Number) interface{} {
	if whole, err := written.Int64(); err == nil {
		return whole
	}
	fraction, _ := written.Float64()
	return fraction
}

// fromWireForm makes a header that a request names into one for the client.
func fromWireForm(value interface{}) (interface{}, error) {
	switch held := value.(type) {
	case json.Number:
		return plainNumber(held), nil
	case []interface{}:
		return listFrom(held)
	case object:
		kind, isTyped := held["type"].(string)
		inner, hasValue := held["value"]
		if isTyped && hasValue && len(held) == 2 {
			return typedFrom(kind, inner)
		}
		if encoded, isBinary := held["base64"].(string); isTyped && isBinary && len(held) == 2 {
			bytes, err := base64.StdEncoding.DecodeString(encoded)
			return string(bytes), err
		}
		return tableFrom(held)
	}
	return value, nil
}

func listFrom(held []interface{}) (interface{}, error) {
	list := make([]interface{}, len(held))
	for index, item := range held {
		made, err := fromWireForm(item)
		if err != nil {
			return nil, err
		}
		list[index] = made
	}
	return list, nil
}

func tableFrom(held object) (amqp.Table, error) {
	table := amqp.Table{}
	for name, item := range held {
		made, err := fromWireForm(item)
		if err != nil {
			return nil, err
		}
		table[name] = made
	}
	return table, nil
}

func typedFrom(kind string, held interface{}) (interface{}, error) {
	switch kind {
	case "array", "table", "bool", "longstr":
		return fromWireForm(held)
	case "void":
		return nil, nil
	case "bytes":
		return base64.StdEncoding.DecodeString(fmt.Sprint(held))
	case "decimal":
		return decimalFrom(fmt.Sprint(held))
	case "float", "double":
		wide, err := strconv.ParseFloat(fmt.Sprint(held), 64)
		if kind == "float" {
			return float32(wide), err
		}
		return wide, err
	}
	return integerFrom(kind, fmt.Sprint(held))
}

func integerFrom(kind, written string) (interface{}, error) {
	if kind == "uint64" {
		return strconv.ParseUint(written, 10, 64)
	}
	wide, err := strconv.ParseInt(written, 10, 64)
	switch kind {
	case "int8":
		return int8(wide), err
	case "uint8":
		return uint8(wide), err
	case "int16":
		return int16(wide), err
	case "uint16":
		return uint16(wide), err
	case "int32":
		return int32(wide), err
	case "uint32":
		return uint32(wide), err
	case "timestamp":
		return time.Unix(wide, 0), err
	}
	return wide, err
}

func decimalFrom(written string) (interface{}, error) {
	whole, fraction, _ := strings.Cut(written, ".")
	value, err := strconv.ParseInt(whole+fraction, 10, 32)
	return amqp.Decimal{Scale: uint8(len(fraction)), Value: int32(value)}, err
}

// toWireForm is a header for an answer, in plain JSON where that says enough.
func toWireForm(value interface{}) interface{} {
	switch held := value.(type) {
	case int64, bool, nil, float64:
		return held
	case string:
		if utf8.ValidString(held) {
			return held
		}
		return object{"type": "longstr", "base64": base64.StdEncoding.EncodeToString([]byte(held))}
	case []interface{}:
		list := make([]interface{}, len(held))
		for index, item := range held {
			list[index] = toWireForm(item)
		}
		return list
	case amqp.Table:
		return headersFor(held)
	}
	return typed(value)
}

func headersFor(headers amqp.Table) object {
	all := object{}
	for name, value := range headers {
		all[name] = toWireForm(value)
	}
	return all
}

// typed is a header with the type that the client gives it on the wire.
func typed(value interface{}) interface{} {
	kind, plain := "", value
	switch held := value.(type) {
	case nil:
		kind = "void"
	case bool:
		kind = "bool"
	case string:
		if kind = "longstr"; !utf8.ValidString(held) {
			return toWireForm(held)
		}
	case []byte:
		kind, plain = "bytes", base64.StdEncoding.EncodeToString(held)
	case int, int32:
		kind = "int32"
	case int8, int16, int64, uint8, uint16, uint32, uint64:
		kind = fmt.Sprintf("%T", held)
	case float32:
		kind = "float"
	case float64:
		kind = "double"
	case amqp.Decimal:
		kind, plain = "decimal", strconv.FormatFloat(float64(held.Value)/math.Pow10(int(held.Scale)), 'f', int(held.Scale), 64)
	case time.Time:
		kind, plain = "timestamp", held.Unix()
	case []interface{}:
		kind, plain = "array", toWireForm(held)
	case amqp.Table:
		kind, plain = "table", headersFor(held)
	}
	return object{"type": kind, "value": plain}
}

func bodyOf(given object) ([]byte, error) {
	if encoded, isBinary := given["bodyBase64"].(string); isBinary {
		return base64.StdEncoding.DecodeString(encoded)
	}
	return []byte(text(given["body"])), nil
}

func maybe(value string) interface{} {
	if value == "" {
		return nil
	}
	return value
}

// envelopeFor is an envelope for an answer. The replay's stamps are ordinary headers to this peer.
func envelopeFor(read envelope, replyTo string) object {
	var route, position, routeID interface{}
	if steps := routeSteps(read.route); len(steps) > 0 {
		route, position, routeID = steps, read.routePosition, maybe(read.routeID)
	}
	var at interface{}
	if stamped, err := time.Parse(time.RFC3339, text(read.headers["acemq-replayed-at"])); err == nil {
		at = stamped.UnixMilli()
	} else if millis, isNumber := read.headers["acemq-replayed-at"].(int64); isNumber {
		at = millis
	}
	return object{
		"id": read.id, "type": read.kind, "version": read.version, "correlation": read.correlation,
		"causation": maybe(read.causation), "attempt": read.attempt, "firstSeen": read.firstSeen,
		"origin": maybe(read.origin), "error": maybe(read.err), "claim": maybe(read.claim), "route": route,
		"routePosition": position, "routeId": routeID, "replayedAt": at,
		"replayedFrom": maybe(text(read.headers["acemq-replayed-from"])),
		"replayCount":  replayCount(read.headers["acemq-replay-count"]),
		"replyTo":      maybe(either(text(read.headers["acemq-reply-to"]), replyTo)),
	}
}

// messageFor is a message for an answer.
func messageFor(message amqp.Delivery) object {
	read := readEnvelope(message.Headers, message.RoutingKey, message.MessageId)
	var stamped interface{}
	if !message.Timestamp.IsZero() {
		stamped = message.Timestamp.Unix()
	}
	answer := object{"envelope": envelopeFor(read, message.ReplyTo), "headers": headersFor(read.headers),
		"properties": object{
			"messageId": maybe(message.MessageId), "contentType": maybe(message.ContentType),
			"contentEncoding": maybe(message.ContentEncoding), "deliveryMode": message.DeliveryMode,
			"priority": message.Priority, "replyTo": maybe(message.ReplyTo),
			"correlationId": maybe(message.CorrelationId), "type": maybe(message.Type), "timestamp": stamped,
			"appId": maybe(message.AppId),
		}}
	if utf8.Valid(message.Body) {
		answer["body"] = string(message.Body)
	} else {
		answer["bodyBase64"] = base64.StdEncoding.EncodeToString(message.Body)
	}
	return answer
}
