using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

/// <summary>The envelope as the .NET peer reads and writes it: section 2, and 16.9, 16.10, 16.16.</summary>
sealed class Envelope
{
    internal const string Reserved = "x-acemq-";

    internal string Id = Guid.NewGuid().ToString();
    internal string Type;
    internal int Version = 1;
    internal string Correlation;
    internal string Causation;
    internal int Attempt = 1;
    internal long FirstSeen = Now();
    internal string Origin;
    internal string Error;
    internal string Claim;
    internal Dictionary<string, object> Headers = new Dictionary<string, object>();

    static readonly DateTime Epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    internal static long Now() => (long)(DateTime.UtcNow - Epoch).TotalMilliseconds;

    /// <summary>What a publish starts from.</summary>
    internal static Envelope Fresh(string routingKey) =>
        new Envelope { Type = routingKey, Origin = "acemq@" + Environment.MachineName };

    /// <summary>From a delivery. A missing first-seen is 1970; a number that is none is an error.</summary>
    internal static Envelope Read(IDictionary<string, object> raw, string routingKey, string messageId)
    {
        var read = new Envelope();
        read.Id = Text(raw, "id") ?? messageId ?? read.Id;
        read.Type = Text(raw, "type") ?? routingKey ?? "";
        read.Version = (int)(Number(raw, "version", Convert.ToInt32) ?? 1);
        read.Correlation = Text(raw, "correlation");
        read.Causation = Text(raw, "causation");
        read.Attempt = (int)(Number(raw, "attempt", Convert.ToInt32) ?? 1);
        read.FirstSeen = Number(raw, "first-seen", Convert.ToInt64) ?? 0;
        read.Origin = Text(raw, "origin");
        read.Error = Text(raw, "error");
        read.Claim = Text(raw, "claim");
        foreach (var each in raw)
        {
            if (!each.Key.StartsWith(Reserved, StringComparison.Ordinal)) read.Headers[each.Key] = each.Value;
        }
        return read;
    }

    static string Text(IDictionary<string, object> raw, string name) =>
        raw.TryGetValue(Reserved + name, out var value) && value != null
            ? Convert.ToString(value, CultureInfo.InvariantCulture)
            : null;

    static long? Number<T>(IDictionary<string, object> raw, string name, Func<object, IFormatProvider, T> convert)
        where T : struct, IConvertible =>
        raw.TryGetValue(Reserved + name, out var value) && value != null
            ? convert(value, CultureInfo.InvariantCulture).ToInt64(CultureInfo.InvariantCulture)
            : (long?)null;

    /// <summary>The headers that this peer knows, and the application's.</summary>
    internal Dictionary<string, object> Written()
    {
        var all = new Dictionary<string, object>
        {
            [Reserved + "id"] = Id,
            [Reserved + "type"] = Type,
            [Reserved + "version"] = Version,
            [Reserved + "correlation"] = Correlation ?? Id,
            [Reserved + "attempt"] = Attempt,
            [Reserved + "first-seen"] = FirstSeen,
        };
        Optional(all, "causation", Causation);
        Optional(all, "origin", Origin);
        Optional(all, "error", Error);
        Optional(all, "claim", Claim);
        foreach (var each in Headers) all[each.Key] = each.Value;
        return all;
    }

    /// <summary>What goes on with a message that failed: all that arrived, its envelope laid over it.</summary>
    internal Dictionary<string, object> OnHop(IDictionary<string, object> arrived)
    {
        var all = new Dictionary<string, object>(arrived);
        foreach (var each in Written()) all[each.Key] = each.Value;
        if (Error == null) all.Remove(Reserved + "error");
        return all;
    }

    static void Optional(IDictionary<string, object> all, string name, string value)
    {
        if (value != null) all[Reserved + name] = value;
    }
}
