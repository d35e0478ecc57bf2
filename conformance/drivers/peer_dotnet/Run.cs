using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using AceMq.Amqp;

/// <summary>One run of a consumer of the peer, with a handler that does what the script says.</summary>
sealed class Run
{
    /// <summary>How long the last decision has to be carried out: the peer does not tell when it was.</summary>
    static readonly TimeSpan Settling = TimeSpan.FromMilliseconds(250);

    readonly Members script;
    readonly Members until;
    readonly int wanted;
    readonly Dictionary<string, int> turns = new Dictionary<string, int>();
    readonly List<object> deliveries = new List<object>();
    readonly TaskCompletionSource<bool> enough = Signal();
    readonly TaskCompletionSource<bool> closing = Signal();
    TaskCompletionSource<bool> arrived = Signal();

    internal Run(Members asked)
    {
        script = asked.Inner("script");
        until = asked.Inner("until");
        wanted = until.Whole("deliveries", -1);
    }

    static TaskCompletionSource<bool> Signal() =>
        new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);

    internal async Task<Members> ConsumeAsync<T>(
        AceMqConnection mq, string queue, ConsumerOptions options, Func<T, byte[]> body)
    {
        using (await mq.ConsumeAsync<T>(queue, options, message => HandleAsync(message, body)))
        {
            if (wanted != 0) await WaitAsync();
            await Task.Delay(Settling);
            closing.TrySetResult(true);
        }
        lock (deliveries)
        {
            return new Members { ["deliveries"] = new List<object>(deliveries), ["counters"] = new Members() };
        }
    }

    /// <summary>Until the handler has run often enough, nothing came for so long, or the time is over.</summary>
    async Task WaitAsync()
    {
        var timeout = Task.Delay(until.Milliseconds("timeout", 10_000));
        for (;;)
        {
            Task next;
            lock (deliveries) next = arrived.Task;
            var idle = until.Get("idle") == null ? timeout : Task.Delay(until.Milliseconds("idle", 0));
            if (await Task.WhenAny(enough.Task, next, idle, timeout) != next) return;
            lock (deliveries) arrived = Signal();
        }
    }

    /// <summary>What comes after the last wanted one is given back, when the consumer is about to be closed.</summary>
    async Task<Ack> HandleAsync<T>(IMessage<T> message, Func<T, byte[]> body)
    {
        string entry;
        lock (deliveries) entry = deliveries.Count == wanted ? null : Noted(message, body(message.Payload));
        if (entry == null)
        {
            await closing.Task;
            return Ack.Release();
        }
        var parts = entry.Split(new[] { ": " }, 2, StringSplitOptions.None);
        var why = parts.Length == 2 ? parts[1] : "no reason given";
        switch (parts[0])
        {
            case "fail": return Ack.Retry(why);
            case "reject": return Ack.DeadLetter(why);
            case "park": return Ack.Park(why);
            default: return Ack.Accept();
        }
    }

    string Noted<T>(IMessage<T> message, byte[] body)
    {
        var entry = EntryFor(message.Envelope.Id);
        var delivery = new Members
        {
            ["envelope"] = Values.EnvelopeFor(message.Envelope), ["headers"] = Values.HeadersFor(message.Headers),
            ["outcome"] = entry, ["routingKey"] = message.RoutingKey,
        };
        Values.AddBody(delivery, body);
        deliveries.Add(delivery);
        arrived.TrySetResult(true);
        if (deliveries.Count == wanted) enough.TrySetResult(true);
        return entry;
    }

    /// <summary>What the script says for the next delivery of an id: the last of its list repeats.</summary>
    string EntryFor(string id)
    {
        var entries = (script.Get(id) ?? script.Get("*")) as List<object>;
        turns.TryGetValue(id, out var turn);
        turns[id] = turn + 1;
        return entries == null || entries.Count == 0 ? "accept" : (string)entries[Math.Min(turn, entries.Count - 1)];
    }
}
