using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

/* JSON: null, bool, long, double, string, List<object> and Members. */
internal sealed class Members : Dictionary<string, object> {
}

internal static class Json {
  internal static string Write(object value) {
    var text = new StringBuilder();
    Write(value, text);
    return text.ToString();
  }

  private static void Write(object value, StringBuilder text) {
    if (value == null) {
      text.Append("null");
    } else if (value is bool) {
      text.Append((bool)value ? "true" : "false");
    } else if (value is string) {
      Quote((string)value, text);
    } else if (value is double) {
      var number = ((double)value).ToString("R", CultureInfo.InvariantCulture);
      text.Append(number.IndexOfAny(new[] { '.', 'E' }) < 0 ? number + ".0" : number);
    } else if (value is Members) {
      var separator = '{';
      foreach (var member in (Members)value) {
        text.Append(separator);
        Quote(member.Key, text);
        text.Append(':');
        Write(member.Value, text);
        separator = ',';
      }
      text.Append(separator == '{' ? "{}" : "}");
    } else if (value is List<object>) {
      var separator = '[';
      foreach (var member in (List<object>)value) {
        text.Append(separator);
        Write(member, text);
        separator = ',';
      }
      text.Append(separator == '[' ? "[]" : "]");
    } else {
      text.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
    }
  }

  private static void Quote(string value, StringBuilder text) {
    text.Append('"');
    foreach (var character in value) {
      if (character < ' ' || character == '"' || character == '\\' || character == '\x7f') {
        text.AppendFormat("\\u{0:x4}", (int)character);
      } else {
        text.Append(character);
      }
    }
    text.Append('"');
  }

  internal static object Read(string text) {
    var at = 0;
    return Value(text, ref at);
  }

  private static char Next(string text, ref int at) {
    while (char.IsWhiteSpace(text[at])) {
      at++;
    }
    return text[at];
  }

  private static object Value(string text, ref int at) {
    switch (Next(text, ref at)) {
    case '{':
      return Object(text, ref at);
    case '[':
      return Array(text, ref at);
    case '"':
      return String(text, ref at);
    case 't':
      at += 4;
      return true;
    case 'f':
      at += 5;
      return false;
    case 'n':
      at += 4;
      return null;
    default:
      return Number(text, ref at);
    }
  }

  private static object Number(string text, ref int at) {
    var from = at;
    while (at < text.Length && "+-.eE0123456789".IndexOf(text[at]) >= 0) {
      at++;
    }
    var digits = text.Substring(from, at - from);
    long whole;
    ulong large;
    if (long.TryParse(digits, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out whole)) {
      return whole;
    }
    if (ulong.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out large)) {
      return large;
    }
    return double.Parse(digits, CultureInfo.InvariantCulture);
  }

  private static string String(string text, ref int at) {
    var read = new StringBuilder();
    for (at++; text[at] != '"'; at++) {
      if (text[at] != '\\') {
        read.Append(text[at]);
        continue;
      }
      at++;
      if (text[at] == 'u') {
        read.Append((char)Convert.ToInt32(text.Substring(at + 1, 4), 16));
        at += 4;
      } else {
        var plain = "bfnrt".IndexOf(text[at]);
        read.Append(plain < 0 ? text[at] : "\b\f\n\r\t"[plain]);
      }
    }
    at++;
    return read.ToString();
  }

  private static List<object> Array(string text, ref int at) {
    var members = new List<object>();
    for (at++; Next(text, ref at) != ']';) {
      members.Add(Value(text, ref at));
      if (Next(text, ref at) == ',') {
        at++;
      }
    }
    at++;
    return members;
  }

  private static Members Object(string text, ref int at) {
    var members = new Members();
    for (at++; Next(text, ref at) != '}';) {
      var name = String(text, ref at);
      Next(text, ref at);
      at++;
      members[name] = Value(text, ref at);
      if (Next(text, ref at) == ',') {
        at++;
      }
    }
    at++;
    return members;
  }
}
