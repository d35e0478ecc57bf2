package main

// Policies of the peer from the protocol's text.

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	acemq "github.com/AceMQ-Company/acemq-go-amqp/amqp"
)

// notOffered says what the peer has nothing for.
type notOffered string

func (n notOffered) Error() string { return string(n) }

var (
	factory = regexp.MustCompile(`^(none|fixed|exponential)(?:\(([^)]*)\))?`)
	suffix  = regexp.MustCompile(`\.(\w+)\(([^)]*)\)`)
	written = regexp.MustCompile(`^(\d+)(ms|s|m|h|d)$`)
)

var units = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// duration reads what a policy's text writes; 0 has no unit.
func duration(given string) (time.Duration, error) {
	given = strings.TrimSpace(given)
	if given == "0" {
		return 0, nil
	}
	found := written.FindStringSubmatch(given)
	if found == nil {
		return 0, fmt.Errorf("%q is no duration", given)
	}
	count, err := strconv.ParseInt(found[1], 10, 64)
	return time.Duration(count) * units[found[2]], err
}

// parsePolicy makes a policy of the peer; none at all is one attempt.
func parsePolicy(given interface{}) (acemq.RetryPolicy, error) {
	if given == nil {
		return acemq.NoRetry(), nil
	}
	policy, err := policyFrom(text(given))
	if err == nil {
		err = policy.Validate()
	}
	if err != nil {
		return acemq.RetryPolicy{}, fmt.Errorf("parse: %w", err)
	}
	return policy, nil
}

func policyFrom(given string) (acemq.RetryPolicy, error) {
	start := factory.FindStringSubmatch(given)
	if start == nil {
		return acemq.RetryPolicy{}, fmt.Errorf("%q is no policy", given)
	}
	policy, err := made(start[1], strings.Split(start[2], ","))
	for _, each := range suffix.FindAllStringSubmatch(given[len(start[0]):], -1) {
		if err == nil {
			policy, err = adjusted(policy, each[1], each[2])
		}
	}
	return policy, err
}

func made(kind string, given []string) (acemq.RetryPolicy, error) {
	if kind == "none" {
		return acemq.NoRetry(), nil
	}
	if wanted := map[string]int{"fixed": 2, "exponential": 3}[kind]; len(given) != wanted {
		return acemq.RetryPolicy{}, fmt.Errorf("%s takes %d arguments", kind, wanted)
	}
	attempts, err := strconv.Atoi(strings.TrimSpace(given[0]))
	if err != nil {
		return acemq.RetryPolicy{}, err
	}
	wait, err := duration(given[1])
	if err != nil || kind == "fixed" {
		return acemq.FixedRetry(attempts, wait), err
	}
	longest, err := duration(given[2])
	return acemq.ExponentialRetry(attempts, wait, longest), err
}

func adjusted(policy acemq.RetryPolicy, name, given string) (acemq.RetryPolicy, error) {
	switch name {
	case "wholeSecondNames":
		return policy, nil
	case "jitter":
		factor, err := strconv.ParseFloat(given, 64)
		return policy.WithJitter(factor), err
	case "giveUpAfter":
		age, err := duration(given)
		return policy.GiveUpAfter(age), err
	case "threshold":
		from, err := duration(given)
		return policy.WaitInBrokerFrom(from), err
	}
	return policy, notOffered("the peer's policies have no " + name)
}
