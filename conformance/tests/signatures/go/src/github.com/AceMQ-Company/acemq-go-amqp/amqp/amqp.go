// Package acemq declares what the driver calls of the peer's package.
package acemq

import (
	"context"
	"time"
)

const Version = ""

type (
	Ack                    struct{ _ int }
	BytesCodec             struct{}
	StringCodec            struct{}
	JSONCodec              struct{}
	Conn                   struct{ _ int }
	ConnOption             func(*int) error
	Consumer               struct{ _ int }
	ConsumeOption          func(*int)
	EnvelopeOption         func(*int) error
	ExchangeOption         func(*int)
	QueueOption            func(*int)
	QueueType              string
	Topology               struct{ _ int }
	Handler[T any]         func(ctx context.Context, m Message[T]) Ack
	Publisher[T any]       struct{ _ int }
	PublisherOption[T any] func(*Publisher[T])
)

type Codec interface {
	ContentType() string
	Encode(payload any) ([]byte, error)
	Decode(body []byte, dst any) error
	CanDecode(contentType string) bool
}

type Envelope struct {
	ID, Type                   string
	Version                    int
	CorrelationID, CausationID string
	Attempt                    int
	FirstSeen                  time.Time
	Origin, Error, Claim       string
	ReplyTo, Route             string
	RoutePosition              int
	RouteID                    string
	Headers                    map[string]any
}

type Message[T any] struct {
	Payload                 T
	Envelope                Envelope
	RoutingKey, ContentType string
	Redelivered             bool
	Body                    []byte
}

type PublishFailedError struct {
	MessageID, Exchange, RoutingKey string
	Unroutable                      bool
	Err                             error
}

type RetryPolicy struct {
	MaxAttempts             int
	InitialDelay            time.Duration
	Multiplier              float64
	MaxDelay, MaxMessageAge time.Duration
	JitterFactor            float64
	BrokerWaitThreshold     time.Duration
}

type Rung struct {
	Delay time.Duration
	Queue string
	Args  map[string]any
}

type RetryLadder struct {
	Source    string
	Threshold time.Duration
	Rungs     []Rung
}

func Accept() Ack      { panic("a signature") }
func Retry(error) Ack  { panic("a signature") }
func Reject(error) Ack { panic("a signature") }
func Park(error) Ack   { panic("a signature") }

func (BytesCodec) ContentType() string         { panic("a signature") }
func (BytesCodec) Encode(any) ([]byte, error)  { panic("a signature") }
func (BytesCodec) Decode([]byte, any) error    { panic("a signature") }
func (BytesCodec) CanDecode(string) bool       { panic("a signature") }
func (StringCodec) ContentType() string        { panic("a signature") }
func (StringCodec) Encode(any) ([]byte, error) { panic("a signature") }
func (StringCodec) Decode([]byte, any) error   { panic("a signature") }
func (StringCodec) CanDecode(string) bool      { panic("a signature") }
func (JSONCodec) ContentType() string          { panic("a signature") }
func (JSONCodec) Encode(any) ([]byte, error)   { panic("a signature") }
func (JSONCodec) Decode([]byte, any) error     { panic("a signature") }
func (JSONCodec) CanDecode(string) bool        { panic("a signature") }

func Connect(context.Context, string, ...ConnOption) (*Conn, error) { panic("a signature") }
func WithCodec(Codec) ConnOption                                    { panic("a signature") }
func (*Conn) Close() error                                          { panic("a signature") }
func (*Conn) MessageCount(context.Context, string) (int64, error)   { panic("a signature") }

func Consume[T any](context.Context, *Conn, string, Handler[T], ...ConsumeOption) (*Consumer, error) {
	panic("a signature")
}
func ConsumeWith(Codec) ConsumeOption     { panic("a signature") }
func RetryWith(RetryPolicy) ConsumeOption { panic("a signature") }
func Prefetch(int) ConsumeOption          { panic("a signature") }
func (*Consumer) Close() error            { panic("a signature") }

func NewPublisher[T any](*Conn, string, string, ...PublisherOption[T]) *Publisher[T] {
	panic("a signature")
}
func Mandatory[T any]() PublisherOption[T]                            { panic("a signature") }
func NotPersistent[T any]() PublisherOption[T]                        { panic("a signature") }
func (*Publisher[T]) SendEnvelope(context.Context, T, Envelope) error { panic("a signature") }
func (*PublishFailedError) Error() string                             { panic("a signature") }

func NewEnvelope(string, ...EnvelopeOption) (Envelope, error) { panic("a signature") }
func MessageID(string) EnvelopeOption                         { panic("a signature") }
func MessageType(string) EnvelopeOption                       { panic("a signature") }
func SchemaVersion(int) EnvelopeOption                        { panic("a signature") }
func CorrelationID(string) EnvelopeOption                     { panic("a signature") }
func CausationID(string) EnvelopeOption                       { panic("a signature") }
func Origin(string) EnvelopeOption                            { panic("a signature") }
func ReplyTo(string) EnvelopeOption                           { panic("a signature") }
func Header(string, any) EnvelopeOption                       { panic("a signature") }
func (Envelope) RouteSteps() []string                         { panic("a signature") }

func DeadLetterQueue(string) string { panic("a signature") }
func ParkedQueue(string) string     { panic("a signature") }

func NoRetry() RetryPolicy                                             { panic("a signature") }
func FixedRetry(int, time.Duration) RetryPolicy                        { panic("a signature") }
func ExponentialRetry(int, time.Duration, time.Duration) RetryPolicy   { panic("a signature") }
func (RetryPolicy) GiveUpAfter(time.Duration) RetryPolicy              { panic("a signature") }
func (RetryPolicy) WithJitter(float64) RetryPolicy                     { panic("a signature") }
func (RetryPolicy) WaitInBrokerFrom(time.Duration) RetryPolicy         { panic("a signature") }
func (RetryPolicy) Validate() error                                    { panic("a signature") }
func (RetryPolicy) NextDelay(int, time.Duration) (time.Duration, bool) { panic("a signature") }
func (RetryPolicy) Schedule() []time.Duration                          { panic("a signature") }
func LadderFor(string, RetryPolicy) RetryLadder                        { panic("a signature") }
func (RetryLadder) RungFor(time.Duration) (string, bool)               { panic("a signature") }

func NewTopology() *Topology                                           { panic("a signature") }
func OfType(QueueType) QueueOption                                     { panic("a signature") }
func QueueArg(string, any) QueueOption                                 { panic("a signature") }
func (*Topology) Exchange(string, string, ...ExchangeOption) *Topology { panic("a signature") }
func (*Topology) Queue(string, ...QueueOption) *Topology               { panic("a signature") }
func (*Topology) DeadLetters(string) *Topology                         { panic("a signature") }
func (*Topology) Retries(string, RetryPolicy) *Topology                { panic("a signature") }
func (*Topology) Binding(string, string, string) *Topology             { panic("a signature") }
func (*Topology) Apply(context.Context, *Conn) error                   { panic("a signature") }
