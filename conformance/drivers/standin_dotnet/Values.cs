using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Json;
using System.Linq;
using System.Text;
using RabbitMQ.Client;

/// <summary>Headers, bodies and messages as the conformance protocol writes them, and as the client has them.</summary>
static class Values
{
    static readonly UTF8Encoding Strict = new UTF8Encoding(false, true);

    /// <summary>Headers that a request names, as this client takes them.</summary>
    internal static Dictionary<string, object> HeadersFrom(JsonValue given)
    {
        var headers = new Dictionary<string, object>();
        if (given is JsonObject table)
        {
            foreach (var each in table) headers[each.Key] = FromWireForm(each.Value);
        }
        return headers;
    }

    static object FromWireForm(JsonValue value)
    {
        if (value == null) return null;
        if (value is JsonArray list) return new ArrayList(list.Select(FromWireForm).ToArray());
        if (value is JsonObject held)
        {
            var typed = held.Count == 2 && held.ContainsKey("type");
            if (typed && held.ContainsKey("value")) return TypedFrom((string)held["type"], held["value"]);
            return typed && held.ContainsKey("base64") ? Decoded(held["base64"]) : (object)HeadersFrom(value);
        }
        if (value.JsonType == JsonType.Number) return Numeric(value.ToString());
        return value.JsonType == JsonType.Boolean ? (bool)value : (object)(string)value;
    }

    static object Numeric(string written) =>
        long.TryParse(written, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var whole)
            ? whole
            : (object)double.Parse(written, CultureInfo.InvariantCulture);

    static byte[] Decoded(JsonValue encoded) => Convert.FromBase64String((string)encoded);

    static string Plain(JsonValue held) => held.JsonType == JsonType.String ? (string)held : held.ToString();

    /// <summary>This client has no unsigned integers: they become the next wider one; its byte is the int8.</summary>
    static object TypedFrom(string kind, JsonValue held)
    {
        var given = CultureInfo.InvariantCulture;
        switch (kind)
        {
            case "void": return null;
            case "bytes": return Decoded(held);
            case "decimal": return decimal.Parse(Plain(held), given);
            case "float": return float.Parse(Plain(held), given);
            case "double": return double.Parse(Plain(held), given);
            case "timestamp": return new AmqpTimestamp(long.Parse(Plain(held), given));
            case "int8": return unchecked((byte)sbyte.Parse(Plain(held), given));
            case "int16": case "uint8": return short.Parse(Plain(held), given);
            case "int32": case "uint16": return int.Parse(Plain(held), given);
            case "int64": case "uint32": case "uint64": return long.Parse(Plain(held), given);
            default: return FromWireForm(held);
        }
    }

    /// <summary>Headers as they arrive: to the peer every byte array is a text.</summary>
    internal static Dictionary<string, object> Arrived(IDictionary headers)
    {
        var all = new Dictionary<string, object>();
        if (headers == null) return all;
        foreach (DictionaryEntry each in headers)
        {
            if (each.Value != null) all[(string)each.Key] = Arrived(each.Value);
        }
        return all;
    }

    static object Arrived(object value)
    {
        if (value is BinaryTableValue binary) value = binary.Bytes;
        return value is byte[] bytes ? Encoding.UTF8.GetString(bytes) : value;
    }

    /// <summary>Headers for the client: texts as bytes, tables in its own kind.</summary>
    internal static Hashtable ToClient(IDictionary<string, object> headers)
    {
        var table = new Hashtable();
        foreach (var each in headers) table[each.Key] = ToClient(each.Value);
        return table;
    }

    static object ToClient(object value)
    {
        if (value is IDictionary<string, object> table) return ToClient(table);
        return value is IList list && !(value is byte[]) ? new ArrayList(list.Cast<object>().Select(ToClient).ToArray()) : value;
    }

    /// <summary>A header for an answer, in plain JSON where that says enough.</summary>
    internal static JsonValue ToWireForm(object value)
    {
        if (value == null) return null;
        if (value is bool) return (bool)value;
        if (value is long) return (long)value;
        if (value is double) return (double)value;
        if (value is string) return (string)value;
        if (value is byte[]) return Maybe(Text((byte[])value)) ?? Typed(value);
        if (value is IDictionary<string, object>)
        {
            var table = (IDictionary<string, object>)value;
            return new JsonObject(table.Select(each => Pair(each.Key, ToWireForm(each.Value))));
        }
        if (value is IDictionary)
        {
            var table = ((IDictionary)value).Cast<DictionaryEntry>();
            return new JsonObject(table.Select(each => Pair((string)each.Key, ToWireForm(each.Value))));
        }
        return value is IList ? new JsonArray(((IList)value).Cast<object>().Select(ToWireForm)) : Typed(value);
    }

    static KeyValuePair<string, JsonValue> Pair(string name, JsonValue value) =>
        new KeyValuePair<string, JsonValue>(name, value);

    /// <summary>A header with the type that the client gives it on the wire.</summary>
    internal static JsonValue Typed(object value)
    {
        if (value == null) return Typed("void", null);
        if (value is bool) return Typed("bool", (bool)value);
        if (value is byte) return Typed("int8", (int)unchecked((sbyte)(byte)value));
        if (value is short) return Typed("int16", (int)(short)value);
        if (value is int) return Typed("int32", (int)value);
        if (value is long) return Typed("int64", (long)value);
        if (value is float) return Typed("float", (float)value);
        if (value is double) return Typed("double", (double)value);
        if (value is decimal) return Typed("decimal", ((decimal)value).ToString(CultureInfo.InvariantCulture));
        if (value is AmqpTimestamp) return Typed("timestamp", ((AmqpTimestamp)value).UnixTime);
        if (value is string) return Typed("longstr", (string)value);
        if (value is byte[])
        {
            var text = Text((byte[])value);
            return text != null
                ? Typed("longstr", text)
                : new JsonObject { ["type"] = "longstr", ["base64"] = Convert.ToBase64String((byte[])value) };
        }
        return Typed(value is IList ? "array" : "table", ToWireForm(value));
    }

    static JsonObject Typed(string kind, JsonValue value) => new JsonObject { ["type"] = kind, ["value"] = value };

    static string Text(byte[] bytes)
    {
        try
        {
            return Strict.GetString(bytes);
        }
        catch (DecoderFallbackException)
        {
            return null;
        }
    }

    internal static bool IsText(byte[] bytes) => Text(bytes) != null;

    internal static byte[] BodyOf(JsonValue given)
    {
        if (given.ContainsKey("bodyBase64")) return Decoded(given["bodyBase64"]);
        return given.ContainsKey("body") ? Encoding.UTF8.GetBytes((string)given["body"]) : new byte[0];
    }

    /// <summary>A text or null, which a JsonValue would make an empty text of.</summary>
    internal static JsonValue Maybe(string text) => text == null ? null : new JsonPrimitive(text);

    /// <summary>An envelope for an answer. The replay's stamps are ordinary headers to this peer.</summary>
    internal static JsonObject EnvelopeFor(Envelope read, string replyTo)
    {
        read.Headers.TryGetValue("acemq-replayed-from", out var from);
        read.Headers.TryGetValue("acemq-replayed-at", out var at);
        read.Headers.TryGetValue("acemq-replay-count", out var count);
        read.Headers.TryGetValue("acemq-reply-to", out var wanted);
        return new JsonObject
        {
            ["id"] = read.Id, ["type"] = read.Type, ["version"] = read.Version,
            ["correlation"] = read.Correlation ?? read.Id, ["causation"] = Maybe(read.Causation), ["attempt"] = read.Attempt,
            ["firstSeen"] = read.FirstSeen, ["origin"] = Maybe(read.Origin), ["error"] = Maybe(read.Error),
            ["claim"] = Maybe(read.Claim), ["route"] = null, ["routePosition"] = null, ["routeId"] = null,
            ["replayedFrom"] = Maybe(from?.ToString()), ["replayedAt"] = ReplayedAt(at), ["replayCount"] = Count(count),
            ["replyTo"] = Maybe(wanted?.ToString() ?? replyTo),
        };
    }

    internal static int Count(object value)
    {
        try
        {
            return Convert.ToInt32(value, CultureInfo.InvariantCulture);
        }
        catch (Exception failure) when (failure is FormatException || failure is InvalidCastException || failure is OverflowException)
        {
            return 0;
        }
    }

    static JsonValue ReplayedAt(object stamped)
    {
        if (stamped is long millis) return millis;
        return DateTimeOffset.TryParse(stamped?.ToString(), CultureInfo.InvariantCulture, DateTimeStyles.None, out var at)
            ? (JsonValue)at.ToUnixTimeMilliseconds()
            : null;
    }

    /// <summary>A message for an answer.</summary>
    internal static JsonObject MessageFor(string routingKey, IBasicProperties properties, byte[] body)
    {
        var read = Envelope.Read(Arrived(properties.Headers), routingKey, MessageId(properties));
        var answer = new JsonObject
        {
            ["envelope"] = EnvelopeFor(read, properties.IsReplyToPresent() ? properties.ReplyTo : null),
            ["headers"] = ToWireForm(read.Headers),
            ["properties"] = new JsonObject
            {
                ["messageId"] = Maybe(MessageId(properties)),
                ["contentType"] = Maybe(properties.IsContentTypePresent() ? properties.ContentType : null),
                ["contentEncoding"] = Maybe(properties.IsContentEncodingPresent() ? properties.ContentEncoding : null),
                ["deliveryMode"] = properties.IsDeliveryModePresent() ? (JsonValue)(int)properties.DeliveryMode : null,
                ["priority"] = properties.IsPriorityPresent() ? (JsonValue)(int)properties.Priority : null,
                ["replyTo"] = Maybe(properties.IsReplyToPresent() ? properties.ReplyTo : null),
                ["correlationId"] = Maybe(properties.IsCorrelationIdPresent() ? properties.CorrelationId : null),
                ["type"] = Maybe(properties.IsTypePresent() ? properties.Type : null),
                ["timestamp"] = properties.IsTimestampPresent() ? (JsonValue)properties.Timestamp.UnixTime : null,
                ["appId"] = Maybe(properties.IsAppIdPresent() ? properties.AppId : null),
            },
        };
        if (Text(body) is string text) answer["body"] = text;
        else answer["bodyBase64"] = Convert.ToBase64String(body);
        return answer;
    }

    internal static string MessageId(IBasicProperties properties) =>
        properties.IsMessageIdPresent() ? properties.MessageId : null;
}
