// What the driver calls of the peer's library, as declarations that do nothing.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace AceMq.Amqp.RabbitMq
{
    public sealed class RabbitMqTransport : ITransport
    {
    }
}

namespace AceMq.Amqp
{
    static class Signature
    {
        internal static Exception Only => new NotSupportedException("a signature");
    }

    public interface ITransport
    {
    }

    public interface ICodec
    {
    }

    public sealed class BytesCodec : ICodec
    {
    }

    public sealed class StringCodec : ICodec
    {
    }

    public enum QueueType
    {
        Classic,
        Quorum,
        Stream,
    }

    public static class Transports
    {
        public static void Register(ITransport transport)
        {
        }
    }

    public sealed class AceMqConnection : IDisposable
    {
        public static Task<AceMqConnection> ConnectAsync(string url, ICodec codec) => throw Signature.Only;
        public Task<TopologyPlan> ApplyAsync(Topology topology) => throw Signature.Only;
        public Task<long> MessageCountAsync(string queue) => throw Signature.Only;
        public Replay Replay(string queue) => throw Signature.Only;
        public void Dispose() => throw Signature.Only;

        public IPublisher<T> Publisher<T>(string exchange, string routingKey, PublishOptions options, string replyTo) =>
            throw Signature.Only;

        public Task<IMessageConsumer> ConsumeAsync<T>(
            string queue, ConsumerOptions options, Func<IMessage<T>, Task<Ack>> handler) => throw Signature.Only;
    }

    public sealed class Ack
    {
        public static Ack Accept() => throw Signature.Only;
        public static Ack Retry(TimeSpan after, string reason) => throw Signature.Only;
        public static Ack Retry(string reason) => throw Signature.Only;
        public static Ack DeadLetter(string reason) => throw Signature.Only;
        public static Ack Park(string reason) => throw Signature.Only;
        public static Ack Release() => throw Signature.Only;
    }

    public interface IMessage<out T>
    {
        T Payload { get; }
        Envelope Envelope { get; }
        IReadOnlyDictionary<string, object> Headers { get; }
        string RoutingKey { get; }
    }

    public interface IMessageConsumer : IDisposable
    {
        string Queue { get; }
    }

    public sealed class ConsumerOptions
    {
        public static ConsumerOptions Defaults() => throw Signature.Only;
        public ConsumerOptions WithPrefetch(int prefetch) => throw Signature.Only;
        public ConsumerOptions WithRetry(RetryPolicy policy) => throw Signature.Only;
        public ConsumerOptions As(ICodec codec) => throw Signature.Only;
    }

    public sealed class Envelope
    {
        public string Id => throw Signature.Only;
        public string Type => throw Signature.Only;
        public int Version => throw Signature.Only;
        public string CorrelationId => throw Signature.Only;
        public string CausationId => throw Signature.Only;
        public int Attempt => throw Signature.Only;
        public DateTimeOffset FirstSeen => throw Signature.Only;
        public string Origin => throw Signature.Only;
        public string Error => throw Signature.Only;
        public string Claim => throw Signature.Only;
        public IReadOnlyDictionary<string, object> Headers => throw Signature.Only;
        public static Builder Of(string type) => throw Signature.Only;

        public static Envelope FromWire(
            IReadOnlyDictionary<string, object> headers, string routingKey = null, string messageId = null) =>
            throw Signature.Only;

        public sealed class Builder
        {
            public Builder Id(string id) => throw Signature.Only;
            public Builder Version(int version) => throw Signature.Only;
            public Builder CorrelationId(string id) => throw Signature.Only;
            public Builder CausationId(string id) => throw Signature.Only;
            public Builder Origin(string origin) => throw Signature.Only;
            public Builder Header(string name, object value) => throw Signature.Only;
            public Envelope Build() => throw Signature.Only;
        }
    }

    public interface IPublisher<in T> : IDisposable
    {
        Task<PublishResult> SendAsync(T payload, Envelope envelope, CancellationToken cancellationToken);
    }

    public sealed class PublishOptions
    {
        public static PublishOptions Defaults() => throw Signature.Only;
        public static PublishOptions TransientDelivery() => throw Signature.Only;
        public PublishOptions ExpiringAfter(TimeSpan expiration) => throw Signature.Only;
        public PublishOptions WithPriority(int priority) => throw Signature.Only;
    }

    public sealed class PublishResult
    {
        public string MessageId => throw Signature.Only;
    }

    public sealed class InboundDelivery
    {
        public string RoutingKey => throw Signature.Only;
        public IReadOnlyDictionary<string, object> Headers => throw Signature.Only;
        public string MessageId => throw Signature.Only;
    }

    public sealed class Replay
    {
        public Replay Into(string queue) => throw Signature.Only;
        public Replay KeepingAttempts() => throw Signature.Only;
        public Task<long> PendingAsync() => throw Signature.Only;
        public Task<int> ReplayAsync(int max) => throw Signature.Only;
        public Task<int> ReplayAsync(int max, Func<InboundDelivery, bool> filter) => throw Signature.Only;
    }

    public static class Naming
    {
        public static string DeadLetterQueue(string queue) => throw Signature.Only;
        public static string ParkedQueue(string queue) => throw Signature.Only;
    }

    public sealed class RetryPolicy
    {
        public static RetryPolicy None() => throw Signature.Only;
        public static RetryPolicy Fixed(int maxAttempts, TimeSpan delay) => throw Signature.Only;
        public RetryPolicy GiveUpAfter(TimeSpan age) => throw Signature.Only;
        public RetryPolicy WithJitter(double factor) => throw Signature.Only;
        public RetryPolicy WaitInBrokerFrom(TimeSpan threshold) => throw Signature.Only;
        public TimeSpan? NextDelay(int attempt, TimeSpan age) => throw Signature.Only;
        public TimeSpan? NextDelay(int attempt, TimeSpan age, bool jitter) => throw Signature.Only;
        public IReadOnlyList<TimeSpan> Schedule() => throw Signature.Only;

        public static RetryPolicy Exponential(int maxAttempts, TimeSpan initialDelay, TimeSpan maxDelay) =>
            throw Signature.Only;
    }

    public sealed class Rung
    {
        public string Queue => throw Signature.Only;
        public IReadOnlyDictionary<string, object> Arguments => throw Signature.Only;
    }

    public sealed class RetryLadder
    {
        public static RetryLadder For(string queue, RetryPolicy policy) => throw Signature.Only;
        public IReadOnlyList<Rung> Rungs => throw Signature.Only;
        public string RungFor(TimeSpan delay) => throw Signature.Only;
    }

    public sealed class TopologyPlan
    {
    }

    public sealed class Topology
    {
        public static Builder Define() => throw Signature.Only;

        public sealed class Builder
        {
            public Builder Exchange(string name, string type) => throw Signature.Only;
            public Builder Bind(string queue, string exchange, string routingKey) => throw Signature.Only;
            public Topology Build() => throw Signature.Only;

            public Builder Queue(string name, QueueType type, IReadOnlyDictionary<string, object> arguments) =>
                throw Signature.Only;

            public Builder QueueWithDeadLetter(
                string name, QueueType type, IReadOnlyDictionary<string, object> arguments) => throw Signature.Only;

            public Builder QueueWithRetry(
                string name, RetryPolicy policy, QueueType type, IReadOnlyDictionary<string, object> arguments) =>
                throw Signature.Only;
        }
    }
}
