using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using AceMq.Amqp;
using AceMq.Amqp.RabbitMq;

/// <summary>
/// A driver for the .NET peer itself, from its source: its public calls, and the conformance protocol before them.
/// </summary>
/// <remarks>
/// Written against the API as its public repository shows it. What the protocol asks for and the API has no call for is
/// unsupported.
/// </remarks>
sealed class Peer
{
    sealed class Verb
    {
        internal string[] Parameters;
        internal Func<Members, Task<Members>> Run;
    }

    readonly SortedDictionary<string, Verb> verbs = new SortedDictionary<string, Verb>(StringComparer.Ordinal);
    AceMqConnection mq;

    Peer()
    {
        Add("schedule", "policy queue", asked => Task.FromResult(Schedule(asked)));
        Add("waits", "policy attempts", asked => Task.FromResult(Waits(asked)));
        Add("decide", "policy attempt age", asked => Task.FromResult(Decide(asked)));
        Add("place", "policy queue delay", asked => Task.FromResult(Placed(
            RetryLadder.For(asked.Text("queue"), Policies.Parse(asked.Text("policy"))), asked.Milliseconds("delay", 0))));
        Add("names", "queue", asked => Task.FromResult(new Members
        {
            ["deadLetter"] = Naming.DeadLetterQueue(asked.Text("queue")),
            ["parked"] = Naming.ParkedQueue(asked.Text("queue")),
        }));
        Add("connect", "url", ConnectAsync);
        Add("close", "", CloseAsync);
        Add("topology", "topology", TopologyAsync);
        Add("publish", "queue exchange routingKey message timeout", PublishAsync);
        Add("consume", "queue retry codec script until members prefetch declare requeueOnFailure idempotency", ConsumeAsync);
        Add("pending", "queue parked", async asked =>
            new Members { ["pending"] = await Connected.MessageCountAsync(FailuresOf(asked)) });
        Add("replay", "queue parked max keepAttempts id headers", ReplayAsync);
    }

    void Add(string name, string parameters, Func<Members, Task<Members>> run) =>
        verbs[name] = new Verb { Parameters = parameters.Split(' '), Run = run };

    AceMqConnection Connected => mq ?? throw new IOException("not connected");

    /// <summary>Refuses what neither the peer nor this driver has anything for.</summary>
    static void Only(Members asked, params string[] known)
    {
        var stranger = asked.Keys.FirstOrDefault(name => !known.Contains(name));
        if (stranger != null) throw new NotOffered("the peer's driver has nothing for " + stranger);
    }

    static Members Placed(RetryLadder ladder, TimeSpan wait)
    {
        var rung = ladder.RungFor(wait);
        return new Members { ["where"] = rung == null ? "consumer" : "broker", ["rung"] = rung };
    }

    static Members Schedule(Members asked)
    {
        var policy = Policies.Parse(asked.Text("policy"));
        var ladder = RetryLadder.For(asked.Text("queue"), policy);
        var waits = new List<object>();
        foreach (var wait in policy.Schedule())
        {
            var each = Placed(ladder, wait);
            each["afterAttempt"] = waits.Count + 1;
            each["delayMs"] = (long)wait.TotalMilliseconds;
            waits.Add(each);
        }
        var rungs = ladder.Rungs.Select(rung => (object)new Members
        {
            ["queue"] = rung.Queue, ["arguments"] = Values.HeadersFor(rung.Arguments),
        });
        return new Members { ["waits"] = waits, ["rungs"] = rungs.ToList() };
    }

    static Members Waits(Members asked)
    {
        var policy = Policies.Parse(asked.Text("policy"));
        var waits = ((List<object>)asked["attempts"]).Select(attempt =>
        {
            var wait = policy.NextDelay(checked((int)(long)attempt), TimeSpan.Zero, false);
            return (object)(long)(wait ?? TimeSpan.Zero).TotalMilliseconds;
        });
        return new Members { ["waits"] = waits.ToList() };
    }

    static Members Decide(Members asked)
    {
        if (asked.Get("age") == null) throw new NotOffered("the peer decides with an age only");
        var age = TimeSpan.FromMilliseconds((long)asked["age"]);
        var wait = Policies.Parse(asked.Text("policy")).NextDelay(asked.Whole("attempt", 1), age);
        return new Members { ["retries"] = wait.HasValue };
    }

    async Task<Members> ConnectAsync(Members asked)
    {
        await CloseAsync(asked);
        mq = await AceMqConnection.ConnectAsync(asked.Text("url"), new BytesCodec());
        return null;
    }

    Task<Members> CloseAsync(Members asked)
    {
        mq?.Dispose();
        mq = null;
        return Task.FromResult<Members>(null);
    }

    async Task<Members> TopologyAsync(Members asked)
    {
        var given = asked.Inner("topology");
        Only(given, "exchanges", "queues", "bindings");
        var described = Topology.Define();
        foreach (var each in given.Each("exchanges"))
        {
            Only(each, "name", "type");
            described.Exchange(each.Text("name"), each.Text("type"));
        }
        foreach (var each in given.Each("queues")) AddQueue(described, each);
        foreach (var each in given.Each("bindings"))
        {
            Only(each, "queue", "exchange", "key");
            described.Bind(each.Text("queue"), each.Text("exchange"), each.Text("key") ?? string.Empty);
        }
        await Connected.ApplyAsync(described.Build());
        return null;
    }

    static void AddQueue(Topology.Builder described, Members given)
    {
        Only(given, "name", "type", "arguments", "deadLetter", "retry");
        var name = given.Text("name");
        var type = (QueueType)Enum.Parse(typeof(QueueType), given.Text("type") ?? "quorum", true);
        var arguments = given.Inner("arguments").ToDictionary(each => each.Key, each => Values.FromWireForm(each.Value));
        if (given.Get("retry") != null)
        {
            described.QueueWithRetry(name, Policies.Parse(given.Text("retry")), type, arguments);
        }
        else if (given.IsTrue("deadLetter"))
        {
            described.QueueWithDeadLetter(name, type, arguments);
        }
        else
        {
            described.Queue(name, type, arguments);
        }
    }

    static Envelope EnvelopeFrom(string key, Members message)
    {
        var envelope = Envelope.Of(message.Text("type") ?? key)
            .Version(message.Whole("version", 1))
            .CorrelationId(message.Text("correlation"))
            .CausationId(message.Text("causation"))
            .Origin(message.Text("origin"));
        if (message.Get("id") != null) envelope.Id(message.Text("id"));
        foreach (var each in message.Inner("headers")) envelope.Header(each.Key, Values.FromWireForm(each.Value));
        return envelope.Build();
    }

    static PublishOptions OptionsFrom(Members message)
    {
        var options = message.IsTrue("transient") ? PublishOptions.TransientDelivery() : PublishOptions.Defaults();
        if (message.Get("priority") != null) options = options.WithPriority(message.Whole("priority", 0));
        return message.Get("expiration") == null
            ? options
            : options.ExpiringAfter(TimeSpan.FromMilliseconds(Convert.ToInt64(message["expiration"])));
    }

    async Task<Members> PublishAsync(Members asked)
    {
        var message = asked.Inner("message");
        Only(message, "id", "type", "version", "correlation", "causation", "origin", "headers", "replyTo", "priority",
            "expiration", "transient", "body", "bodyBase64");
        var key = asked.Text("queue") ?? asked.Text("routingKey");
        var exchange = asked.Text("exchange") ?? string.Empty;
        using (var publisher = Connected.Publisher<byte[]>(exchange, key, OptionsFrom(message), message.Text("replyTo")))
        using (var limit = new CancellationTokenSource(asked.Milliseconds("timeout", 10_000)))
        {
            var sent = await publisher.SendAsync(Values.BodyFrom(message), EnvelopeFrom(key, message), limit.Token);
            return new Members { ["id"] = sent.MessageId };
        }
    }

    /// <summary>A handler of the peer has the body as its codec made it, so only what comes out as it went in.</summary>
    async Task<Members> ConsumeAsync(Members asked)
    {
        var usual = new Members { ["members"] = 1L, ["declare"] = "yes", ["idempotency"] = null };
        var other = usual.FirstOrDefault(each => asked.ContainsKey(each.Key) && !Equals(asked[each.Key], each.Value)).Key;
        if (other != null) throw new NotOffered($"the peer's driver has {other} only as {usual[other] ?? "null"}");
        var options = ConsumerOptions.Defaults().WithRetry(Policies.Parse(asked.Text("retry")));
        if (asked.Get("prefetch") != null) options = options.WithPrefetch(asked.Whole("prefetch", 0));
        if (asked.IsTrue("requeueOnFailure")) throw new NotOffered("the peer requeues what throws, and decisions are returned here");
        var queue = asked.Text("queue");
        switch (asked.Text("codec") ?? "bytes")
        {
            case "bytes":
                return await new Run(asked).ConsumeAsync<byte[]>(Connected, queue, options, body => body);
            case "text":
                return await new Run(asked).ConsumeAsync<string>(
                    Connected, queue, options.As(new StringCodec()), Encoding.UTF8.GetBytes);
            default:
                throw new NotOffered("the peer's driver has no codec " + asked.Text("codec"));
        }
    }

    static string FailuresOf(Members asked) =>
        asked.IsTrue("parked") ? Naming.ParkedQueue(asked.Text("queue")) : Naming.DeadLetterQueue(asked.Text("queue"));

    /// <summary>The peer does not tell how many it declined: the driver counts.</summary>
    async Task<Members> ReplayAsync(Members asked)
    {
        var declined = 0;
        var replay = Connected.Replay(FailuresOf(asked)).Into(asked.Text("queue"));
        if (asked.IsTrue("keepAttempts")) replay = replay.KeepingAttempts();
        Func<InboundDelivery, bool> wanted = delivery =>
        {
            var read = Envelope.FromWire(delivery.Headers, delivery.RoutingKey, delivery.MessageId);
            var takes = (asked.Get("id") == null || asked.Text("id") == read.Id) && asked.Inner("headers").All(each =>
                read.Headers.TryGetValue(each.Key, out var held) && Equals(held, each.Value));
            if (!takes) declined++;
            return takes;
        };
        var replayed = await replay.ReplayAsync(asked.Whole("max", int.MaxValue), wanted);
        var left = await replay.PendingAsync();
        return new Members { ["replayed"] = replayed, ["declined"] = declined, ["left"] = left };
    }

    /// <summary>What acemq_error_name() calls a failure of the peer, or the nearest to it.</summary>
    static string Named(Exception failure)
    {
        if (failure is FormatException || failure is OverflowException) return "parse";
        if (failure is OperationCanceledException) return "timeout";
        if (failure.Message.Contains("matched no queue")) return "unroutable";
        if (failure.Message.Contains("reserved namespace")) return "reserved_header";
        if (failure.Message.Contains("different settings") || failure.Message.Contains("PRECONDITION_FAILED")) return "differs";
        return failure is ArgumentException ? "invalid_argument" : "broker";
    }

    Members Answer(Members request)
    {
        var name = request.Text("do");
        if (name == null || !verbs.TryGetValue(name, out var verb))
        {
            return new Members { ["unsupported"] = "the peer's driver has nothing for it" };
        }
        try
        {
            var asked = request.Inner("with");
            Only(asked, verb.Parameters);
            return new Members { ["ok"] = verb.Run(asked).GetAwaiter().GetResult() ?? new Members() };
        }
        catch (NotOffered missing)
        {
            return new Members { ["unsupported"] = missing.Message };
        }
        catch (Exception failure)
        {
            var error = new Members { ["name"] = Named(failure), ["message"] = failure.Message };
            return new Members { ["error"] = error };
        }
    }

    static void Main()
    {
        var encoding = new UTF8Encoding(false);
        var input = new StreamReader(Console.OpenStandardInput(), encoding);
        var output = new StreamWriter(Console.OpenStandardOutput(), encoding) { AutoFlush = true, NewLine = "\n" };
        Transports.Register(new RabbitMqTransport());
        var peer = new Peer();
        var version = typeof(AceMqConnection).Assembly.GetName().Version.ToString();
        output.WriteLine(Json.Write(new Members
        {
            ["hello"] = new Members
            {
                ["protocol"] = 1, ["name"] = "peer_dotnet", ["version"] = version,
                ["verbs"] = peer.verbs.Keys.Cast<object>().ToList(),
            },
        }));
        for (var line = input.ReadLine(); line != null; line = input.ReadLine())
        {
            var request = (Members)Json.Read(line);
            var answer = peer.Answer(request);
            answer["id"] = request["id"];
            output.WriteLine(Json.Write(answer));
        }
        peer.CloseAsync(null).GetAwaiter().GetResult();
    }
}
