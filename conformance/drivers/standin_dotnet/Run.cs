using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Json;
using System.Linq;
using System.Text;
using System.Threading;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;

/// <summary>One run of a consumer, deciding and settling as the .NET peer does: section 6, 16.3, 16.7, 16.13, 16.15.</summary>
sealed class Run
{
    static readonly string[] Names = { "acknowledged", "rejected", "retried", "deadLettered", "parked", "duplicates" };
    internal static readonly string[] Codecs = { "bytes", "json", "text" };

    readonly Broker broker;
    readonly string queue;
    readonly Policy policy;
    readonly string codec;
    readonly JsonValue script;
    readonly JsonValue until;
    readonly int prefetch;
    readonly Stopwatch clock = Stopwatch.StartNew();
    readonly Dictionary<string, int> seen = new Dictionary<string, int>();
    readonly Dictionary<string, int> counters = Names.ToDictionary(name => name, name => 0);
    readonly List<JsonValue> deliveries = new List<JsonValue>();
    IModel channel;

    internal Run(Broker broker, JsonValue asked)
    {
        this.broker = broker;
        queue = Plans.Text(asked, "queue");
        policy = Policy.Parse(Plans.Text(asked, "retry"));
        codec = Plans.Text(asked, "codec") ?? "bytes";
        script = asked.ContainsKey("script") ? asked["script"] : new JsonObject();
        until = asked.ContainsKey("until") ? asked["until"] : new JsonObject();
        prefetch = asked.ContainsKey("prefetch") ? (int)asked["prefetch"] : 20;
    }

    long Limit(string member, long otherwise) =>
        until.ContainsKey(member) && until[member] != null ? (long)until[member] : otherwise;

    long Left => Math.Max(0, Limit("timeout", 10000) - clock.ElapsedMilliseconds);

    /// <summary>Declares, subscribes, handles as told, and closes.</summary>
    internal JsonValue Go()
    {
        broker.Declare(Plans.Consumer(queue, policy));
        using (channel = broker.Connection.CreateModel())
        {
            channel.BasicQos(0, (ushort)prefetch, false);
            var consumer = new QueueingBasicConsumer(channel);
            var tag = channel.BasicConsume(queue, false, null, consumer);
            Work(consumer);
            // What was not begun goes back to its queue as the channel closes.
            channel.BasicCancel(tag);
        }
        return new JsonObject
        {
            ["deliveries"] = new JsonArray(deliveries),
            ["counters"] = new JsonObject(counters.Select(each => new KeyValuePair<string, JsonValue>(each.Key, each.Value))),
        };
    }

    /// <summary>Takes one message after the other, as one worker does, until the end is reached.</summary>
    void Work(QueueingBasicConsumer consumer)
    {
        while (deliveries.Count < Limit("deliveries", long.MaxValue))
        {
            var wait = (int)Math.Min(Left, Limit("idle", int.MaxValue));
            if (!consumer.Queue.Dequeue(wait, out var next)) return;
            Handle((BasicDeliverEventArgs)next);
        }
    }

    void Handle(BasicDeliverEventArgs delivery)
    {
        var arrived = Values.Arrived(delivery.BasicProperties.Headers);
        var envelope = Envelope.Read(arrived, delivery.RoutingKey, Values.MessageId(delivery.BasicProperties));
        try
        {
            Decode(delivery.Body);
        }
        catch (Exception failure) when (failure is ArgumentException || failure is FormatException)
        {
            counters["rejected"]++;
            SetAside(delivery, envelope, arrived, ".parked", "could not decode as Object: " + failure.Message);
            return;
        }
        var entry = EntryFor(envelope.Id);
        var seenSo = Values.MessageFor(delivery.RoutingKey, delivery.BasicProperties, delivery.Body);
        seenSo["outcome"] = entry;
        seenSo["routingKey"] = delivery.RoutingKey;
        seenSo["redelivered"] = delivery.Redelivered;
        deliveries.Add(seenSo);
        var parts = entry.Split(new[] { ": " }, 2, StringSplitOptions.None);
        Settle(delivery, envelope, arrived, parts[0], parts.Length > 1 ? parts[1] : "no reason given");
    }

    void Decode(byte[] body)
    {
        if (codec != "bytes" && !Values.IsText(body)) throw new FormatException("the body is not UTF-8");
        if (codec == "json") JsonValue.Parse(Encoding.UTF8.GetString(body));
    }

    /// <summary>What the script says about this delivery.</summary>
    string EntryFor(string id)
    {
        var entries = script.ContainsKey(id) ? script[id] : script.ContainsKey("*") ? script["*"] : null;
        if (entries == null || entries.Count == 0) return "accept";
        seen.TryGetValue(id, out var turn);
        seen[id] = turn + 1;
        return (string)entries[Math.Min(turn, entries.Count - 1)];
    }

    void Settle(BasicDeliverEventArgs delivery, Envelope envelope, IDictionary<string, object> arrived, string verb, string why)
    {
        if (verb == "accept")
        {
            counters["acknowledged"]++;
            channel.BasicAck(delivery.DeliveryTag, false);
            return;
        }
        counters["rejected"]++;
        if (verb == "park") SetAside(delivery, envelope, arrived, ".parked", why);
        else if (verb == "reject") SetAside(delivery, envelope, arrived, ".dlq", why);
        else if (policy.GivesUp(envelope.Attempt, Age(envelope))) SetAside(delivery, envelope, arrived, ".dlq", GaveUp(envelope) + ": " + why);
        else Again(delivery, envelope, arrived);
    }

    /// <summary>An unknown age is none.</summary>
    static TimeSpan Age(Envelope envelope) =>
        TimeSpan.FromMilliseconds(envelope.FirstSeen <= 0 ? 0 : Math.Max(0, Envelope.Now() - envelope.FirstSeen));

    string GaveUp(Envelope envelope) =>
        envelope.Attempt >= policy.Attempts
            ? $"gave up after {policy.Attempts} attempt(s)"
            : $"gave up on a message older than {policy.Age}";

    /// <summary>To its rung, or waits here and puts it back.</summary>
    void Again(BasicDeliverEventArgs delivery, Envelope envelope, IDictionary<string, object> arrived)
    {
        var wait = policy.WaitAfter(envelope.Attempt);
        var rung = policy.RungFor(queue, wait);
        envelope.Attempt++;
        counters["retried"]++;
        var ending = deliveries.Count == Limit("deliveries", -1);
        if (rung == null && !ending) Thread.Sleep((int)Math.Min(policy.Jittered(wait).TotalMilliseconds, Left));
        Move(delivery, rung ?? queue, envelope, arrived);
    }

    void SetAside(BasicDeliverEventArgs delivery, Envelope envelope, IDictionary<string, object> arrived, string suffix, string why)
    {
        counters[suffix == ".parked" ? "parked" : "deadLettered"]++;
        envelope.Error = why;
        Move(delivery, queue + suffix, envelope, arrived);
    }

    /// <summary>Publishes, and only then lets go; what cannot be moved stays (16.7).</summary>
    void Move(BasicDeliverEventArgs delivery, string target, Envelope envelope, IDictionary<string, object> arrived)
    {
        try
        {
            broker.Hop(delivery.BasicProperties, delivery.Body, target, envelope.Id, envelope.OnHop(arrived));
            channel.BasicAck(delivery.DeliveryTag, false);
        }
        catch (Unroutable)
        {
            channel.BasicReject(delivery.DeliveryTag, true);
        }
    }
}
