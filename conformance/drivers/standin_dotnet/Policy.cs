using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text.RegularExpressions;

/// <summary>The peer has no such thing; the text says which.</summary>
sealed class NotOffered : Exception
{
    internal NotOffered(string what) : base(what) { }
}

/// <summary>The retry policy and the names as the .NET peer has them: sections 1, 5, 16.1, 16.2 and 16.6.</summary>
sealed class Policy
{
    static readonly Regex Factory = new Regex(@"^(none|fixed|exponential)(?:\(([^)]*)\))?");
    static readonly Regex Suffix = new Regex(@"\.(\w+)\(([^)]*)\)");
    static readonly Regex Length = new Regex(@"^(\d+)(ms|s|m|h|d)$");
    static readonly Random Draws = new Random();

    static readonly Dictionary<string, long> Units = new Dictionary<string, long>
    {
        ["ms"] = 1, ["s"] = 1000, ["m"] = 60000, ["h"] = 3600000, ["d"] = 86400000,
    };

    internal int Attempts = 1;
    internal TimeSpan Initial = TimeSpan.Zero;
    internal double Multiplier = 1;
    internal TimeSpan Cap = TimeSpan.MaxValue;
    internal double Jitter;
    internal TimeSpan Age = TimeSpan.MaxValue;
    internal TimeSpan Threshold = TimeSpan.FromSeconds(30);

    static TimeSpan Grown(TimeSpan delay, double factor)
    {
        var ticks = delay.Ticks * factor;
        return ticks >= long.MaxValue ? TimeSpan.MaxValue : TimeSpan.FromTicks((long)ticks);
    }

    /// <summary>The wait after an attempt, unjittered.</summary>
    internal TimeSpan WaitAfter(int attempt)
    {
        var delay = Initial;
        for (var n = 1; n < attempt && delay < Cap && Multiplier > 1; n++) delay = Grown(delay, Multiplier);
        return delay > Cap ? Cap : delay;
    }

    internal bool GivesUp(int attempt, TimeSpan age) =>
        attempt >= Attempts || (Age != TimeSpan.MaxValue && age >= Age);

    internal bool InBroker(TimeSpan wait) => Threshold > TimeSpan.Zero && wait > TimeSpan.Zero && wait >= Threshold;

    /// <summary>A wait in the consumer; nothing keeps it above 0.</summary>
    internal TimeSpan Jittered(TimeSpan wait, double? unit = null)
    {
        if (Jitter <= 0 || wait <= TimeSpan.Zero) return wait;
        var moved = Grown(wait, 1 + (unit ?? Draws.NextDouble() * 2 - 1) * Jitter);
        return moved < TimeSpan.Zero ? TimeSpan.Zero : moved;
    }

    /// <summary>Name and wait of each rung, one a name.</summary>
    internal List<KeyValuePair<string, TimeSpan>> Rungs(string queue)
    {
        var found = new List<KeyValuePair<string, TimeSpan>>();
        for (var attempt = 1; attempt < Attempts; attempt++)
        {
            var wait = WaitAfter(attempt);
            var name = Rung(queue, wait);
            if (InBroker(wait) && found.All(each => each.Key != name))
                found.Add(new KeyValuePair<string, TimeSpan>(name, wait));
        }
        return found;
    }

    /// <summary>The smallest rung that is long enough, else the longest; null for a wait in the consumer.</summary>
    internal string RungFor(string queue, TimeSpan wait)
    {
        if (!InBroker(wait)) return null;
        var ordered = Rungs(queue).OrderBy(each => each.Value).ToList();
        var enough = ordered.Where(each => each.Value >= wait).Select(each => each.Key).FirstOrDefault();
        return enough ?? ordered.Select(each => each.Key).LastOrDefault();
    }

    internal static string Rung(string queue, TimeSpan wait) => queue + ".retry." + Rendered(wait);

    static string Rendered(TimeSpan wait)
    {
        var millis = (long)wait.TotalMilliseconds;
        if (millis <= 0) return "0s";
        foreach (var unit in new[] { "h", "m", "s" })
        {
            if (millis % Units[unit] == 0) return (millis / Units[unit]).ToString(CultureInfo.InvariantCulture) + unit;
        }
        return millis.ToString(CultureInfo.InvariantCulture) + "ms";
    }

    internal static Dictionary<string, object> RungArguments(string queue, TimeSpan wait) =>
        new Dictionary<string, object>
        {
            ["x-message-ttl"] = (long)wait.TotalMilliseconds,
            ["x-dead-letter-exchange"] = "acemq.retry",
            ["x-dead-letter-routing-key"] = queue,
        };

    /// <summary>FNV-1a of 32 bits, its top bit masked, and the remainder of that.</summary>
    internal static int Partition(byte[] key, int count)
    {
        unchecked
        {
            var hashed = 2166136261;
            foreach (var each in key) hashed = (hashed ^ each) * 16777619;
            return (int)(hashed & 0x7FFFFFFF) % count;
        }
    }

    static TimeSpan Duration(string text, TimeSpan nothing)
    {
        if (text == "0" || text == "none") return nothing;
        var found = Length.Match(text);
        if (!found.Success) throw new ArgumentException("no duration: " + text);
        var count = long.Parse(found.Groups[1].Value, CultureInfo.InvariantCulture);
        return TimeSpan.FromTicks(checked(count * Units[found.Groups[2].Value] * TimeSpan.TicksPerMillisecond));
    }

    /// <summary>A policy from its text. The peer has no texts: this only makes its policies reachable.</summary>
    internal static Policy Parse(string text)
    {
        if (text == null) return new Policy();
        var start = Factory.Match(text);
        if (!start.Success) throw new ArgumentException("no policy: " + text);
        var policy = Made(start.Groups[1].Value, Regex.Split(start.Groups[2].Value, @",\s*"));
        foreach (Match each in Suffix.Matches(text.Substring(start.Length)))
            policy.Change(each.Groups[1].Value, each.Groups[2].Value);
        return policy;
    }

    static Policy Made(string kind, string[] given)
    {
        var policy = new Policy();
        if (kind == "none") return policy;
        policy.Attempts = int.Parse(given[0], CultureInfo.InvariantCulture);
        policy.Initial = Duration(given[1], TimeSpan.Zero);
        if (kind == "fixed") return policy;
        policy.Cap = Duration(given[2], TimeSpan.MaxValue);
        policy.Multiplier = 2;
        policy.Jitter = 0.2;
        return policy;
    }

    void Change(string name, string value)
    {
        switch (name)
        {
            case "giveUpAfter": Age = Duration(value, TimeSpan.MaxValue); break;
            case "threshold": Threshold = Duration(value, TimeSpan.Zero); break;
            case "jitter": Jitter = double.Parse(value, CultureInfo.InvariantCulture); break;
            case "multiplier": Multiplier = double.Parse(value, CultureInfo.InvariantCulture); break;
            default: throw new NotOffered("the peer's policies have no " + name);
        }
    }
}
