package main

// The retry policy and the names as the Go peer has them: sections 1, 5, 16.1 and 16.2.

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// notOffered says what the peer has nothing for.
type notOffered string

func (n notOffered) Error() string { return string(n) }

type policy struct {
	attempts   int
	initial    time.Duration
	multiplier float64
	cap        time.Duration
	jitter     float64
	age        time.Duration
	threshold  time.Duration
}

type rung struct {
	queue string
	wait  time.Duration
}

func once() policy { return policy{attempts: 1, multiplier: 1, threshold: 30 * time.Second} }

func grown(delay time.Duration, multiplier float64) time.Duration {
	product := float64(delay) * multiplier
	if product >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(product)
}

// waitAfter is the wait after an attempt, unjittered.
func (p policy) waitAfter(attempt int) time.Duration {
	delay := p.initial
	for n := 1; n < attempt; n++ {
		delay = grown(delay, p.multiplier)
		if p.cap > 0 && delay > p.cap {
			break
		}
	}
	if p.cap > 0 && delay > p.cap {
		return p.cap
	}
	return delay
}

func (p policy) givesUp(attempt int, age time.Duration) bool {
	return attempt >= p.attempts || (p.age > 0 && age >= p.age)
}

func (p policy) inBroker(wait time.Duration) bool {
	return p.threshold > 0 && wait > 0 && wait >= p.threshold
}

// jittered is a wait in the consumer; nothing keeps it above 0.
func (p policy) jittered(wait time.Duration, unit float64) time.Duration {
	if p.jitter <= 0 || wait <= 0 {
		return wait
	}
	moved := time.Duration(float64(wait) * (1 + unit*p.jitter))
	if moved < 0 {
		return 0
	}
	return moved
}

func draw() float64 { return rand.Float64()*2 - 1 }

// rungs has one for each name, with the first wait that has it.
func (p policy) rungs(queue string) []rung {
	var found []rung
	seen := map[string]bool{}
	for attempt := 1; attempt < p.attempts; attempt++ {
		wait := p.waitAfter(attempt)
		name := rungName(queue, wait)
		if p.inBroker(wait) && !seen[name] {
			seen[name] = true
			found = append(found, rung{name, wait})
		}
	}
	return found
}

// rungFor is the smallest rung that is long enough, else the longest, and "" for a wait in the consumer.
func (p policy) rungFor(queue string, wait time.Duration) string {
	if !p.inBroker(wait) {
		return ""
	}
	var enough, longest rung
	for _, each := range p.rungs(queue) {
		if each.wait >= wait && (enough.queue == "" || each.wait < enough.wait) {
			enough = each
		}
		if each.wait > longest.wait {
			longest = each
		}
	}
	if enough.queue != "" {
		return enough.queue
	}
	return longest.queue
}

func rungName(queue string, wait time.Duration) string { return queue + ".retry." + rendered(wait) }

// rendered has whole seconds, and 0s below one.
func rendered(wait time.Duration) string {
	seconds := int64(wait / time.Second)
	switch {
	case seconds <= 0:
		return "0s"
	case seconds%3600 == 0:
		return fmt.Sprintf("%dh", seconds/3600)
	case seconds%60 == 0:
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%ds", seconds)
}

func rungArguments(queue string, wait time.Duration) map[string]interface{} {
	return map[string]interface{}{
		"x-message-ttl":             wait.Milliseconds(),
		"x-dead-letter-exchange":    "acemq.retry",
		"x-dead-letter-routing-key": queue,
	}
}

// partition is FNV-1a of 32 bits, unsigned modulo.
func partition(key []byte, count int) int {
	if count <= 1 {
		return 0
	}
	hashed := fnv.New32a()
	_, _ = hashed.Write(key)
	return int(hashed.Sum32() % uint32(count))
}

var (
	factory  = regexp.MustCompile(`^(none|fixed|exponential)(?:\(([^)]*)\))?`)
	suffix   = regexp.MustCompile(`\.(\w+)\(([^)]*)\)`)
	lengthOf = regexp.MustCompile(`^(\d+)(ms|s|m|h|d)$`)
	units    = map[string]time.Duration{
		"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
)

func duration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "0" || text == "none" {
		return 0, nil
	}
	found := lengthOf.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no duration: %s", text)
	}
	count, err := strconv.ParseInt(found[1], 10, 64)
	return time.Duration(count) * units[found[2]], err
}

// parsePolicy makes a policy from its text. The peer has no texts: this only makes its policies reachable.
func parsePolicy(text interface{}) (policy, error) {
	written, given := text.(string)
	if !given {
		return once(), nil
	}
	start := factory.FindStringSubmatch(written)
	if start == nil {
		return policy{}, fmt.Errorf("no policy: %s", written)
	}
	made, err := fromFactory(start[1], strings.Split(start[2], ","))
	for _, each := range suffix.FindAllStringSubmatch(written[len(start[0]):], -1) {
		if err == nil {
			err = made.change(each[1], each[2])
		}
	}
	return made, err
}

func fromFactory(kind string, given []string) (policy, error) {
	made := once()
	if kind == "none" {
		return made, nil
	}
	var err error
	if made.attempts, err = strconv.Atoi(given[0]); err != nil {
		return made, err
	}
	if made.initial, err = duration(given[1]); err != nil || kind == "fixed" {
		return made, err
	}
	made.multiplier, made.jitter = 2, 0.2
	made.cap, err = duration(given[2])
	return made, err
}

func (p *policy) change(name, value string) (err error) {
	switch name {
	case "giveUpAfter":
		p.age, err = duration(value)
	case "threshold":
		p.threshold, err = duration(value)
	case "jitter":
		p.jitter, err = strconv.ParseFloat(value, 64)
	case "multiplier":
		p.multiplier, err = strconv.ParseFloat(value, 64)
	case "wholeSecondNames":
	default:
		return notOffered("the peer's policies have no " + name)
	}
	return err
}
