using System.Collections.Generic;
using System.Json;
using System.Linq;

/// <summary>What the .NET peer declares.</summary>
static class Plans
{
    internal static JsonObject Exchange(string name, string type) =>
        new JsonObject { ["kind"] = "exchange", ["name"] = name, ["type"] = type };

    /// <summary>A queue without a type in its arguments is classic.</summary>
    internal static JsonObject Queue(string name, Dictionary<string, object> arguments) =>
        new JsonObject
        {
            ["kind"] = "queue", ["name"] = name,
            ["type"] = arguments.TryGetValue("x-queue-type", out var type) ? (string)type : "classic",
            ["arguments"] = Values.ToWireForm(arguments),
        };

    internal static JsonObject Binding(string queue, string exchange, string key) =>
        new JsonObject { ["kind"] = "binding", ["name"] = queue, ["exchange"] = exchange, ["routingKey"] = key };

    /// <summary>What a consumer declares: the retry half only with rungs (16.14), its failure queues always.</summary>
    internal static List<JsonObject> Consumer(string queue, Policy policy) =>
        Ladder(queue, policy).Concat(Failures(queue)).ToList();

    static IEnumerable<JsonObject> Ladder(string queue, Policy policy)
    {
        var rungs = policy.Rungs(queue);
        if (rungs.Count == 0) yield break;
        yield return Exchange("acemq.retry", "direct");
        foreach (var each in rungs) yield return Queue(each.Key, Policy.RungArguments(queue, each.Value));
        yield return Binding(queue, "acemq.retry", queue);
    }

    static IEnumerable<JsonObject> Failures(string queue)
    {
        yield return Exchange("acemq.dlx", "direct");
        foreach (var name in new[] { queue + ".dlq", queue + ".parked" })
        {
            yield return Queue(name, new Dictionary<string, object>());
            yield return Binding(name, "acemq.dlx", name);
        }
    }

    /// <summary>What a topology declares: exchanges, then queues, then bindings.</summary>
    internal static List<JsonObject> Topology(JsonValue given)
    {
        Standin.Only(given, "exchanges", "queues", "bindings");
        var steps = Each(given, "exchanges").Select(one => Exchange(Text(one, "name"), Text(one, "type"))).ToList();
        steps.AddRange(Each(given, "queues").SelectMany(WithQueue));
        steps.AddRange(Each(given, "bindings").Select(one => Binding(Text(one, "queue"), Text(one, "exchange"), Text(one, "key") ?? "")));
        var unique = steps.GroupBy(step => step.ToString()).Select(same => same.First()).ToList();
        return new[] { "exchange", "queue", "binding" }.SelectMany(kind => unique.Where(step => Text(step, "kind") == kind)).ToList();
    }

    static IEnumerable<JsonObject> WithQueue(JsonValue one)
    {
        Standin.Only(one, "name", "type", "deadLetter", "retry", "arguments");
        var name = Text(one, "name");
        var arguments = Values.HeadersFrom(one.ContainsKey("arguments") ? one["arguments"] : null);
        var type = Text(one, "type") ?? "quorum";
        if (type != "classic") arguments["x-queue-type"] = type;
        var beside = Ladder(name, Policy.Parse(Text(one, "retry"))).ToList();
        if (one.ContainsKey("deadLetter") && (bool)one["deadLetter"])
        {
            arguments["x-dead-letter-exchange"] = "acemq.dlx";
            arguments["x-dead-letter-routing-key"] = name + ".dlq";
            beside.AddRange(Failures(name));
        }
        return new[] { Queue(name, arguments) }.Concat(beside);
    }

    static IEnumerable<JsonValue> Each(JsonValue given, string member) =>
        given.ContainsKey(member) ? (IEnumerable<JsonValue>)(JsonArray)given[member] : new JsonValue[0];

    internal static string Text(JsonValue from, string member) =>
        from.ContainsKey(member) && from[member] != null ? (string)from[member] : null;
}
