using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text.RegularExpressions;
using AceMq.Amqp;

/// <summary>The peer has no such thing; the message says which.</summary>
sealed class NotOffered : Exception
{
    internal NotOffered(string what) : base(what)
    {
    }
}

/// <summary>Policies of the peer from the protocol's text.</summary>
static class Policies
{
    static readonly Regex Factory = new Regex(@"^(none|fixed|exponential)(?:\(([^)]*)\))?");
    static readonly Regex Suffix = new Regex(@"\.(\w+)\(([^)]*)\)");
    static readonly Regex Written = new Regex(@"^(\d+)(ms|s|m|h|d)$");

    static readonly Dictionary<string, long> Units = new Dictionary<string, long>
    {
        ["ms"] = 1, ["s"] = 1000, ["m"] = 60_000, ["h"] = 3_600_000, ["d"] = 86_400_000,
    };

    /// <summary>A policy of the peer; none at all is one attempt.</summary>
    internal static RetryPolicy Parse(string text)
    {
        if (text == null) return RetryPolicy.None();
        var start = Factory.Match(text);
        if (!start.Success) throw new FormatException(text + " is no policy");
        var given = start.Groups[2].Value.Split(',').Select(each => each.Trim()).ToArray();
        var suffixes = Suffix.Matches(text.Substring(start.Length)).Cast<Match>();
        return suffixes.Aggregate(
            Made(start.Groups[1].Value, given),
            (policy, each) => Adjusted(policy, each.Groups[1].Value, each.Groups[2].Value));
    }

    static RetryPolicy Made(string kind, string[] given)
    {
        if (kind == "none") return RetryPolicy.None();
        var wanted = kind == "fixed" ? 2 : 3;
        if (given.Length != wanted) throw new FormatException($"{kind} takes {wanted} arguments");
        var attempts = int.Parse(given[0], CultureInfo.InvariantCulture);
        return wanted == 2
            ? RetryPolicy.Fixed(attempts, Duration(given[1]))
            : RetryPolicy.Exponential(attempts, Duration(given[1]), Duration(given[2]));
    }

    static RetryPolicy Adjusted(RetryPolicy policy, string name, string given)
    {
        switch (name)
        {
            case "wholeSecondNames": throw new NotOffered("the peer has milliseconds in the names of its rungs");
            case "jitter": return policy.WithJitter(double.Parse(given, CultureInfo.InvariantCulture));
            case "giveUpAfter": return policy.GiveUpAfter(Duration(given));
            case "threshold": return policy.WaitInBrokerFrom(Duration(given));
            default: throw new NotOffered("the peer's policies have no " + name);
        }
    }

    static TimeSpan Duration(string text)
    {
        if (text == "0") return TimeSpan.Zero;
        var found = Written.Match(text);
        if (!found.Success) throw new FormatException(text + " is no duration");
        var count = long.Parse(found.Groups[1].Value, CultureInfo.InvariantCulture);
        return TimeSpan.FromTicks(checked(count * Units[found.Groups[2].Value] * TimeSpan.TicksPerMillisecond));
    }
}
