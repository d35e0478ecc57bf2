using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using AceMq.Amqp;

/// <summary>Headers, bodies and envelopes as the conformance protocol writes them, and as the peer has them.</summary>
static class Values
{
    static readonly UTF8Encoding Strict = new UTF8Encoding(false, true);

    /// <summary>A member, or null.</summary>
    internal static object Get(this Members asked, string name) =>
        asked.TryGetValue(name, out var value) ? value : null;

    internal static string Text(this Members asked, string name) => (string)asked.Get(name);

    internal static bool IsTrue(this Members asked, string name) => asked.Get(name) is bool given && given;

    internal static int Whole(this Members asked, string name, int missing) =>
        asked.Get(name) is long given ? checked((int)given) : missing;

    internal static TimeSpan Milliseconds(this Members asked, string name, int missing) =>
        TimeSpan.FromMilliseconds(asked.Whole(name, missing));

    /// <summary>A member that is an object, or an empty one.</summary>
    internal static Members Inner(this Members asked, string name) => asked.Get(name) as Members ?? new Members();

    internal static IEnumerable<Members> Each(this Members asked, string name) =>
        (asked.Get(name) as List<object> ?? new List<object>()).Cast<Members>();

    /// <summary>A value that a request names, as the peer takes it.</summary>
    internal static object FromWireForm(object value)
    {
        if (value is List<object> list) return list.Select(FromWireForm).ToList();
        if (!(value is Members held)) return value;
        if (held.Count == 2 && held.ContainsKey("type") && held.ContainsKey("value"))
        {
            return TypedFrom(held.Text("type"), held["value"]);
        }
        throw new NotOffered("the driver gives the peer no table in a header");
    }

    static object TypedFrom(string kind, object held)
    {
        var given = CultureInfo.InvariantCulture;
        switch (kind)
        {
            case "array":
            case "bool":
            case "longstr": return FromWireForm(held);
            case "void": return null;
            case "bytes": return Convert.FromBase64String((string)held);
            case "decimal": return decimal.Parse((string)held, given);
            case "float": return Convert.ToSingle(held, given);
            case "double": return Convert.ToDouble(held, given);
            case "int8": return Convert.ToSByte(held, given);
            case "uint8": return Convert.ToByte(held, given);
            case "int16": return Convert.ToInt16(held, given);
            case "uint16": return Convert.ToUInt16(held, given);
            case "int32": return Convert.ToInt32(held, given);
            case "uint32": return Convert.ToUInt32(held, given);
            case "int64": return Convert.ToInt64(held, given);
            default: throw new NotOffered("the peer's driver has no " + kind);
        }
    }

    static readonly Dictionary<Type, string> Narrow = new Dictionary<Type, string>
    {
        [typeof(sbyte)] = "int8", [typeof(byte)] = "uint8", [typeof(short)] = "int16", [typeof(ushort)] = "uint16",
        [typeof(int)] = "int32", [typeof(uint)] = "uint32",
    };

    /// <summary>A header for an answer: plain where plain JSON keeps the type.</summary>
    internal static object ToWireForm(object value)
    {
        if (value == null) return null;
        if (value is byte[] bytes) return Typed("bytes", Convert.ToBase64String(bytes));
        if (value is decimal number) return Typed("decimal", number.ToString(CultureInfo.InvariantCulture));
        if (value is float single) return Typed("float", (double)single);
        if (value is IList list) return list.Cast<object>().Select(ToWireForm).ToList();
        if (value is IDictionary<string, object> table) return HeadersFor(table);
        return Narrow.TryGetValue(value.GetType(), out var kind)
            ? Typed(kind, Convert.ToInt64(value, CultureInfo.InvariantCulture))
            : value;
    }

    static Members Typed(string kind, object value) => new Members { ["type"] = kind, ["value"] = value };

    internal static Members HeadersFor(IEnumerable<KeyValuePair<string, object>> headers)
    {
        var made = new Members();
        foreach (var each in headers) made[each.Key] = ToWireForm(each.Value);
        return made;
    }

    internal static byte[] BodyFrom(Members message) =>
        message.ContainsKey("bodyBase64")
            ? Convert.FromBase64String(message.Text("bodyBase64"))
            : Strict.GetBytes(message.Text("body") ?? string.Empty);

    internal static void AddBody(Members answer, byte[] body)
    {
        try
        {
            answer["body"] = Strict.GetString(body);
        }
        catch (DecoderFallbackException)
        {
            answer["bodyBase64"] = Convert.ToBase64String(body);
        }
    }

    /// <summary>An envelope for an answer. The stamps of a replay are headers to the peer.</summary>
    internal static Members EnvelopeFor(Envelope read)
    {
        var seen = read.FirstSeen.ToUnixTimeMilliseconds();
        read.Headers.TryGetValue("acemq-replayed-from", out var from);
        read.Headers.TryGetValue("acemq-replay-count", out var count);
        read.Headers.TryGetValue("acemq-replayed-at", out var at);
        var stamped = DateTimeOffset.TryParse(
            at as string, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind, out var instant);
        return new Members
        {
            ["id"] = read.Id, ["type"] = read.Type, ["version"] = read.Version, ["correlation"] = read.CorrelationId,
            ["causation"] = read.CausationId, ["attempt"] = read.Attempt, ["firstSeen"] = seen > 0 ? seen : (object)null,
            ["origin"] = read.Origin, ["error"] = read.Error, ["claim"] = read.Claim, ["replayedFrom"] = from,
            ["replayedAt"] = stamped ? instant.ToUnixTimeMilliseconds() : (object)null,
            ["replayCount"] = Convert.ToInt64(count ?? 0, CultureInfo.InvariantCulture),
        };
    }
}
