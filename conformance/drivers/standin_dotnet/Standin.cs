using System;
using System.Collections.Generic;
using System.IO;
using System.Json;
using System.Linq;
using System.Text;
using RabbitMQ.Client.Exceptions;

/// <summary>
/// A stand-in for the .NET peer: what it writes and how it reads, on the client that Debian has for Mono. It knows
/// nothing of libacemq and shares no code with it or with the peer. The rules are in Policy, Envelope and Run; this file
/// speaks the conformance protocol.
/// </summary>
sealed class Standin
{
    readonly Dictionary<string, Func<JsonValue, JsonValue>> verbs;
    Broker broker;

    Standin()
    {
        verbs = new Dictionary<string, Func<JsonValue, JsonValue>>
        {
            ["envelope"] = ReadEnvelope,
            ["schedule"] = Schedule,
            ["waits"] = Waits,
            ["decide"] = asked => One("retries", !PolicyOf(asked).GivesUp((int)asked["attempt"], Milliseconds(asked["age"]))),
            ["place"] = asked => Placed(PolicyOf(asked), Plans.Text(asked, "queue"), Milliseconds(asked["delay"])),
            ["jitter"] = asked => One("delay", Whole(PolicyOf(asked).Jittered(Milliseconds(asked["delay"]), (double)asked["unit"]))),
            ["names"] = asked => new JsonObject
            {
                ["deadLetter"] = Plans.Text(asked, "queue") + ".dlq", ["parked"] = Plans.Text(asked, "queue") + ".parked",
            },
            ["partition"] = asked => One("partition", Partition(asked)),
            ["ordered.queue"] = asked => One("queue", OrderedQueue(asked)),
            ["topology.plan"] = asked => One("objects", new JsonArray(Plans.Topology(asked["topology"]))),
            ["consumer.plan"] = asked => One("objects", new JsonArray(Plans.Consumer(Plans.Text(asked, "queue"), PolicyOf(asked)))),
            ["connect"] = Connect,
            ["close"] = Close,
            ["topology"] = Topology,
            ["publish"] = asked => Send(
                Plans.Text(asked, "exchange") ?? "", Plans.Text(asked, "queue") ?? Plans.Text(asked, "routingKey") ?? "", asked["message"]),
            ["consume"] = Consume,
            ["pending"] = asked => One("pending", Connected().Waiting(Failures(asked))),
            ["peek"] = Peek,
            ["replay"] = Replay,
            ["ordered.publish"] = OrderedPublish,
        };
    }

    /// <summary>Refuses what the peer has nothing for.</summary>
    internal static void Only(JsonValue asked, params string[] known)
    {
        var extra = ((JsonObject)asked).Keys.FirstOrDefault(name => !known.Contains(name));
        if (extra != null) throw new NotOffered("the peer has no " + extra);
    }

    static JsonObject One(string name, JsonValue value) => new JsonObject { [name] = value };

    static Policy PolicyOf(JsonValue asked) => Policy.Parse(Plans.Text(asked, "policy"));

    /// <summary>An unknown age is none.</summary>
    static TimeSpan Milliseconds(JsonValue given) =>
        given == null ? TimeSpan.Zero : TimeSpan.FromTicks(checked((long)given * TimeSpan.TicksPerMillisecond));

    static long Whole(TimeSpan wait) => wait.Ticks / TimeSpan.TicksPerMillisecond;

    static JsonValue ReadEnvelope(JsonValue asked)
    {
        var headers = Values.Arrived(Values.ToClient(Values.HeadersFrom(asked.ContainsKey("headers") ? asked["headers"] : null)));
        var read = Envelope.Read(headers, Plans.Text(asked, "routingKey"), Plans.Text(asked, "messageId"));
        var written = read.OnHop(headers).Select(each => new KeyValuePair<string, JsonValue>(each.Key, Values.Typed(each.Value)));
        return new JsonObject
        {
            ["envelope"] = Values.EnvelopeFor(read, null), ["headers"] = Values.ToWireForm(read.Headers),
            ["written"] = new JsonObject(written),
        };
    }

    static JsonObject Placed(Policy policy, string queue, TimeSpan wait)
    {
        var rung = policy.RungFor(queue, wait);
        return new JsonObject { ["where"] = rung == null ? "consumer" : "broker", ["rung"] = Values.Maybe(rung) };
    }

    static JsonValue Schedule(JsonValue asked)
    {
        var policy = PolicyOf(asked);
        var queue = Plans.Text(asked, "queue") ?? "";
        var waits = new JsonArray();
        for (var attempt = 1; attempt < policy.Attempts; attempt++)
        {
            var each = Placed(policy, queue, policy.WaitAfter(attempt));
            each["afterAttempt"] = attempt;
            each["delayMs"] = Whole(policy.WaitAfter(attempt));
            waits.Add(each);
        }
        var rungs = policy.Rungs(queue).Select(each => (JsonValue)new JsonObject
        {
            ["queue"] = each.Key, ["arguments"] = Values.ToWireForm(Policy.RungArguments(queue, each.Value)),
        });
        return new JsonObject { ["waits"] = waits, ["rungs"] = new JsonArray(rungs) };
    }

    static JsonValue Waits(JsonValue asked)
    {
        var policy = PolicyOf(asked);
        var waits = ((JsonArray)asked["attempts"]).Select(attempt =>
            policy.GivesUp((int)attempt, TimeSpan.Zero) ? 0 : Whole(policy.WaitAfter((int)attempt)));
        return One("waits", new JsonArray(waits.Select(wait => (JsonValue)wait)));
    }

    /// <summary>The peer has one rule, and takes it where none is asked for.</summary>
    static int Partition(JsonValue asked)
    {
        var rule = Plans.Text(asked, "rule") ?? "unsigned";
        if (rule != "dotnet" && rule != "unsigned") throw new NotOffered("the peer has only its own rule");
        var key = asked.ContainsKey("keyBase64")
            ? Convert.FromBase64String(Plans.Text(asked, "keyBase64"))
            : Encoding.UTF8.GetBytes(Plans.Text(asked, "key"));
        return Policy.Partition(key, (int)asked["partitions"]);
    }

    static string OrderedQueue(JsonValue asked) => Plans.Text(asked, "name") + "." + Partition(asked);

    Broker Connected() => broker ?? throw new IOException("not connected");

    JsonValue Connect(JsonValue asked)
    {
        Close(asked);
        broker = new Broker(Plans.Text(asked, "url"));
        return new JsonObject();
    }

    JsonValue Close(JsonValue asked)
    {
        broker?.Dispose();
        broker = null;
        return new JsonObject();
    }

    JsonValue Topology(JsonValue asked)
    {
        Connected().Declare(Plans.Topology(asked["topology"]));
        return new JsonObject();
    }

    /// <summary>Publishes with a fresh envelope and what the request says over it.</summary>
    JsonValue Send(string exchange, string key, JsonValue message)
    {
        Only(message, "id", "type", "version", "correlation", "causation", "origin", "contentType", "headers", "replyTo",
            "priority", "expiration", "transient", "body", "bodyBase64");
        var going = Envelope.Fresh(key);
        going.Id = Plans.Text(message, "id") ?? going.Id;
        going.Type = Plans.Text(message, "type") ?? going.Type;
        going.Version = message.ContainsKey("version") ? (int)message["version"] : 1;
        going.Correlation = Plans.Text(message, "correlation");
        going.Causation = Plans.Text(message, "causation");
        going.Origin = Plans.Text(message, "origin") ?? going.Origin;
        going.Headers = Values.HeadersFrom(message.ContainsKey("headers") ? message["headers"] : null);
        var refused = going.Headers.Keys.FirstOrDefault(name => name.StartsWith(Envelope.Reserved, StringComparison.Ordinal));
        if (refused != null) throw new ArgumentException("reserved header: " + refused);
        var properties = Connected().Properties();
        properties.MessageId = going.Id;
        properties.ContentType = Plans.Text(message, "contentType") ?? "application/json";
        properties.DeliveryMode = (byte)(message.ContainsKey("transient") && (bool)message["transient"] ? 1 : 2);
        if (Plans.Text(message, "replyTo") is string replyTo) properties.ReplyTo = replyTo;
        if (message.ContainsKey("priority")) properties.Priority = (byte)(int)message["priority"];
        if (message.ContainsKey("expiration")) properties.Expiration = message["expiration"].ToString();
        Connected().Publish(exchange, key, Values.BodyOf(message), properties, going.Written());
        return One("id", going.Id);
    }

    JsonValue OrderedPublish(JsonValue asked) => Send("", OrderedQueue(asked), asked["message"]);

    JsonValue Consume(JsonValue asked)
    {
        var usual = new Dictionary<string, string>
        {
            ["members"] = "1", ["declare"] = "\"yes\"", ["requeueOnFailure"] = "false", ["idempotency"] = null,
        };
        foreach (var each in usual)
        {
            if (asked.ContainsKey(each.Key) && asked[each.Key]?.ToString() != each.Value)
                throw new NotOffered("the stand-in has no " + each.Key);
        }
        Only(asked, new[] { "queue", "retry", "codec", "script", "until", "prefetch" }.Concat(usual.Keys).ToArray());
        if (!Run.Codecs.Contains(Plans.Text(asked, "codec") ?? "bytes")) throw new NotOffered("the peer has no such codec");
        return new Run(Connected(), asked).Go();
    }

    static string Failures(JsonValue asked) =>
        Plans.Text(asked, "queue") + (asked.ContainsKey("parked") && (bool)asked["parked"] ? ".parked" : ".dlq");

    JsonValue Peek(JsonValue asked)
    {
        var seen = Connected().Peek(Plans.Text(asked, "queue"), asked.ContainsKey("max") ? (int)asked["max"] : 10);
        return One("messages", new JsonArray(seen.Select(each => (JsonValue)Values.MessageFor(each.RoutingKey, each.BasicProperties, each.Body))));
    }

    JsonValue Replay(JsonValue asked)
    {
        Only(asked, "queue", "parked", "max", "keepAttempts", "id", "headers");
        var headers = Values.HeadersFrom(asked.ContainsKey("headers") ? asked["headers"] : null);
        var id = Plans.Text(asked, "id");
        var most = asked.ContainsKey("max") && asked["max"] != null ? (int)asked["max"] : int.MaxValue;
        var keep = asked.ContainsKey("keepAttempts") && (bool)asked["keepAttempts"];
        var done = Connected().Replay(Plans.Text(asked, "queue"), Failures(asked), most, keep, envelope =>
            (id == null || id == envelope.Id)
            && headers.All(each => envelope.Headers.TryGetValue(each.Key, out var value) && Equals(value, each.Value)));
        return new JsonObject
        {
            ["replayed"] = done.Moved, ["declined"] = done.Declined, ["left"] = Connected().Waiting(Failures(asked)),
        };
    }

    static JsonObject Error(string name, Exception failure) =>
        One("error", new JsonObject { ["name"] = name, ["message"] = failure.Message });

    JsonObject Answer(JsonValue request)
    {
        if (!verbs.TryGetValue((string)request["do"], out var verb))
            return One("unsupported", "the peer, or its stand-in, has nothing for it");
        try
        {
            return One("ok", verb(request.ContainsKey("with") ? request["with"] : new JsonObject()));
        }
        catch (NotOffered missing)
        {
            return One("unsupported", missing.Message);
        }
        catch (Unroutable failure)
        {
            return Error("unroutable", failure);
        }
        catch (OperationInterruptedException failure)
        {
            var code = failure.ShutdownReason?.ReplyCode;
            return Error(code == 406 ? "differs" : code == 404 ? "not_found" : "broker", failure);
        }
        catch (IOException failure)
        {
            return Error("broker", failure);
        }
        catch (Exception failure)
        {
            return Error(failure.Message.StartsWith("reserved", StringComparison.Ordinal) ? "reserved_header" : "invalid_argument", failure);
        }
    }

    static void Main()
    {
        var utf8 = new UTF8Encoding(false);
        var standin = new Standin();
        var input = new StreamReader(Console.OpenStandardInput(), utf8);
        var output = new StreamWriter(Console.OpenStandardOutput(), utf8) { AutoFlush = true, NewLine = "\n" };
        output.WriteLine(One("hello", new JsonObject
        {
            ["protocol"] = 1, ["name"] = "standin_dotnet", ["version"] = "1",
            ["verbs"] = new JsonArray(standin.verbs.Keys.Select(name => (JsonValue)name)),
        }).ToString());
        for (var line = input.ReadLine(); line != null; line = input.ReadLine())
        {
            var request = JsonValue.Parse(line);
            var reply = standin.Answer(request);
            reply["id"] = request["id"];
            output.WriteLine(reply.ToString());
        }
        standin.Close(null);
        // Threads of the client must not keep the program.
        Environment.Exit(0);
    }
}
