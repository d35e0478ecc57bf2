package main

// Headers, bodies and envelopes as the conformance protocol writes them, and as the peer has them.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	acemq "github.com/AceMQ-Company/acemq-go-amqp/amqp"
	"github.com/AceMQ-Company/acemq-go-amqp/patterns"
)

type object = map[string]interface{}

func text(value interface{}) string {
	written, _ := value.(string)
	return written
}

func truth(value interface{}) bool { return value == true }

func whole(value interface{}, missing int) int {
	if number, isNumber := value.(json.Number); isNumber {
		if given, err := strconv.Atoi(number.String()); err == nil {
			return given
		}
	}
	return missing
}

func milliseconds(value interface{}, missing time.Duration) time.Duration {
	return time.Duration(whole(value, int(missing/time.Millisecond))) * time.Millisecond
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

// headerFrom makes a value that a request names into one for the peer.
func headerFrom(value interface{}) (interface{}, error) {
	switch held := value.(type) {
	case json.Number:
		if number, err := held.Int64(); err == nil {
			return number, nil
		}
		return held.Float64()
	case []interface{}:
		list := make([]interface{}, len(held))
		for index, item := range held {
			made, err := headerFrom(item)
			if err != nil {
				return nil, err
			}
			list[index] = made
		}
		return list, nil
	case object:
		kind, isTyped := held["type"].(string)
		inner, hasValue := held["value"]
		if isTyped && hasValue && len(held) == 2 {
			return typedFrom(kind, inner)
		}
		return nil, notOffered("the driver gives the peer no table in a header")
	}
	return value, nil
}

func typedFrom(kind string, held interface{}) (interface{}, error) {
	given := fmt.Sprint(held)
	switch kind {
	case "array", "bool", "longstr":
		return headerFrom(held)
	case "void":
		return nil, nil
	case "bytes":
		return base64.StdEncoding.DecodeString(given)
	case "float":
		narrow, err := strconv.ParseFloat(given, 32)
		return float32(narrow), err
	case "double":
		return strconv.ParseFloat(given, 64)
	}
	wide, err := strconv.ParseInt(given, 10, 64)
	switch kind {
	case "int8":
		return int8(wide), err
	case "uint8":
		return uint8(wide), err
	case "int16":
		return int16(wide), err
	case "int32":
		return int32(wide), err
	case "int64":
		return wide, err
	case "timestamp":
		return time.Unix(wide, 0), err
	}
	return nil, notOffered("the peer's client has no " + kind)
}

// headerFor is a header for an answer: plain where plain JSON keeps the type.
func headerFor(value interface{}) interface{} {
	typed := func(kind string, held interface{}) object { return object{"type": kind, "value": held} }
	switch held := value.(type) {
	case int8:
		return typed("int8", held)
	case uint8:
		return typed("uint8", held)
	case int16:
		return typed("int16", held)
	case int32:
		return typed("int32", held)
	case float32:
		return typed("float", held)
	case float64:
		if held == math.Trunc(held) {
			return typed("double", held)
		}
	case []byte:
		return typed("bytes", base64.StdEncoding.EncodeToString(held))
	case time.Time:
		return typed("timestamp", held.Unix())
	case []interface{}:
		list := make([]interface{}, len(held))
		for index, item := range held {
			list[index] = headerFor(item)
		}
		return list
	}
	return value
}

func bodyFrom(message object) ([]byte, error) {
	if encoded, isBinary := message["bodyBase64"].(string); isBinary {
		return base64.StdEncoding.DecodeString(encoded)
	}
	return []byte(text(message["body"])), nil
}

func addBody(answer object, body []byte) {
	if utf8.Valid(body) {
		answer["body"] = string(body)
	} else {
		answer["bodyBase64"] = base64.StdEncoding.EncodeToString(body)
	}
}

func orNull(value string) interface{} {
	if value == "" {
		return nil
	}
	return value
}

// envelopeFor is an envelope for an answer. The stamps of a replay are headers to the peer.
func envelopeFor(read acemq.Envelope) object {
	answer := object{
		"id": read.ID, "type": read.Type, "version": read.Version, "correlation": read.CorrelationID,
		"causation": orNull(read.CausationID), "attempt": read.Attempt, "firstSeen": nil,
		"origin": orNull(read.Origin), "error": orNull(read.Error), "claim": orNull(read.Claim),
		"replyTo": orNull(read.ReplyTo), "route": nil, "routePosition": nil, "routeId": orNull(read.RouteID),
		"replayedFrom": read.Headers[patterns.HeaderReplayedFrom], "replayedAt": nil,
		"replayCount": read.Headers[patterns.HeaderReplayCount],
	}
	if seen := read.FirstSeen.UnixMilli(); seen > 0 {
		answer["firstSeen"] = seen
	}
	if steps := read.RouteSteps(); steps != nil {
		answer["route"], answer["routePosition"] = steps, read.RoutePosition
	}
	if answer["replayCount"] == nil {
		answer["replayCount"] = 0
	}
	stamp, _ := read.Headers[patterns.HeaderReplayedAt].(string)
	if at, err := time.Parse(time.RFC3339, stamp); err == nil {
		answer["replayedAt"] = at.UnixMilli()
	}
	return answer
}
