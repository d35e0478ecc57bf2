// The work of tests/bench/run with amqp091-go, as its users write it: bench_go publish|consume, with the options of the
// other programs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

type options struct {
	url, queue                    string
	count, window, prefetch, size int
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type span struct {
	began     time.Time
	processor time.Duration
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func begin() span {
	return span{time.Now(), processorTime()}
}

func (s span) report(count int) {
	fmt.Printf("{\"count\": %d, \"seconds\": %.6f, \"processor\": %.6f}\n", count, time.Since(s.began).Seconds(),
		(processorTime() - s.processor).Seconds())
}

func message(number int, body []byte) amqp.Publishing {
	id := fmt.Sprintf("00000000-0000-4000-8000-%012x", number)
	return amqp.Publishing{
		ContentType:  "application/octet-stream",
		DeliveryMode: amqp.Persistent,
		MessageId:    id,
		Headers: amqp.Table{
			"x-acemq-id": id, "x-acemq-type": "bench.message", "x-acemq-correlation": id,
			"x-acemq-origin": "acemq@go", "x-acemq-version": int32(1), "x-acemq-attempt": int32(1),
			"x-acemq-first-seen": time.Now().UnixMilli(),
		},
		Body: body,
	}
}

// At most `window` confirms are outstanding. They are counted as they come: version 1.5 of the client registers a deferred
// one only after it has sent, and then never hears of a confirm that was faster.
func publish(channel *amqp.Channel, wanted options) {
	body := make([]byte, wanted.size)
	for i := range body {
		body[i] = byte('a' + i%26)
	}
	_, err := channel.QueueDeclare(wanted.queue, true, false, false, false, nil)
	check(err)
	_, err = channel.QueuePurge(wanted.queue, false)
	check(err)
	check(channel.Confirm(false))
	go func() {
		for returned := range channel.NotifyReturn(make(chan amqp.Return, 1)) {
			check(fmt.Errorf("returned: %s", returned.ReplyText))
		}
	}()
	confirmed := channel.NotifyPublish(make(chan amqp.Confirmation, wanted.window))
	outstanding := make(chan bool, wanted.window)
	done := make(chan bool)
	go func() {
		for number := 0; number < wanted.count; number++ {
			if confirmation, open := <-confirmed; !open || !confirmation.Ack {
				check(fmt.Errorf("not confirmed"))
			}
			<-outstanding
		}
		done <- true
	}()
	measured := begin()
	for number := 1; number <= wanted.count; number++ {
		outstanding <- true
		check(channel.PublishWithContext(context.Background(), "", wanted.queue, true, false, message(number, body)))
	}
	<-done
	measured.report(wanted.count)
}

// Each message acknowledged by itself; the clock stops when the broker has answered the goodbye.
func consume(connection *amqp.Connection, channel *amqp.Channel, wanted options) {
	check(channel.Qos(wanted.prefetch, 0, false))
	deliveries, err := channel.Consume(wanted.queue, "", false, false, false, false, nil)
	check(err)
	var measured span
	length := 0
	for number := 0; number < wanted.count; number++ {
		delivery := <-deliveries
		if number == 0 {
			measured = begin()
		}
		length += len(string(delivery.Body))
		check(delivery.Ack(false))
	}
	check(connection.Close())
	if length == 0 {
		check(fmt.Errorf("the messages are empty"))
	}
	measured.report(wanted.count)
}

func main() {
	wanted := options{}
	set := flag.NewFlagSet("bench_go", flag.ExitOnError)
	set.StringVar(&wanted.url, "url", os.Getenv("ACEMQ_TEST_URL"), "")
	set.StringVar(&wanted.queue, "queue", "acemq.bench", "")
	set.IntVar(&wanted.count, "count", 1000, "")
	set.IntVar(&wanted.window, "window", 256, "")
	set.IntVar(&wanted.prefetch, "prefetch", 300, "")
	set.IntVar(&wanted.size, "size", 256, "")
	if len(os.Args) < 2 {
		check(fmt.Errorf("what to measure is missing"))
	}
	check(set.Parse(os.Args[2:]))
	connection, err := amqp.Dial(wanted.url)
	check(err)
	channel, err := connection.Channel()
	check(err)
	switch os.Args[1] {
	case "publish":
		publish(channel, wanted)
	case "consume":
		consume(connection, channel, wanted)
	default:
		check(fmt.Errorf("%s is not known", os.Args[1]))
	}
}
