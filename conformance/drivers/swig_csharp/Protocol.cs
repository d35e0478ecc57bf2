using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using AceMQ;

internal sealed class Unsupported : Exception {
  internal Unsupported(string why) : base(why) {
  }
}

/* What the driver itself refuses. */
internal sealed class Refused : Exception {
  internal readonly string Name;

  internal Refused(string name, string message) : base(message) {
    Name = name;
  }
}

/* Parameters of a request: absent and null are the same. */
internal sealed class Given {
  private readonly Members members;

  internal Given(object members) {
    this.members = members as Members ?? new Members();
  }

  internal IEnumerable<string> Names {
    get { return members.Keys; }
  }

  internal object this[string name] {
    get {
      object value;
      return members.TryGetValue(name, out value) ? value : null;
    }
  }

  internal string Text(string name) {
    return this[name] as string;
  }

  internal long Number(string name, long other) {
    return this[name] is long ? (long)this[name] : other;
  }

  internal bool Flag(string name) {
    return Equals(this[name], true);
  }

  internal Given Inner(string name) {
    return new Given(this[name]);
  }

  internal Policy Policy(string name) {
    return Text(name) == null ? null : Mq.PolicyParse(Text(name));
  }

  internal byte[] Body() {
    return Text("bodyBase64") != null ? Convert.FromBase64String(Text("bodyBase64"))
                                      : Encoding.UTF8.GetBytes(Text("body") ?? "");
  }

  internal Table Table(string name) {
    return this[name] == null ? Mq.TableNew() : Mq.TableParseJson(Json.Write(this[name]));
  }
}

/* How the protocol writes bodies, tables, envelopes and messages. */
internal static class Protocol {
  private static readonly Encoding strict = new UTF8Encoding(false, true);

  internal static object Json(Table table, int typed = 0) {
    return table == null ? null : global::Json.Read(Mq.TableFormatJson(table, typed));
  }

  internal static Members SetBody(Members result, byte[] body) {
    try {
      result["body"] = strict.GetString(body);
    } catch (DecoderFallbackException) {
      result["bodyBase64"] = Convert.ToBase64String(body);
    }
    return result;
  }

  internal static Members Json(Envelope envelope) {
    var steps = new List<object>();
    for (ulong step = 0; step < Mq.EnvelopeRouteCount(envelope); step++) {
      steps.Add(Mq.EnvelopeRouteStep(envelope, step));
    }
    long replayed;
    var seen = Mq.EnvelopeFirstSeen(envelope);
    return new Members {
      { "id", Mq.EnvelopeId(envelope) },
      { "type", Mq.EnvelopeType(envelope) },
      { "version", Mq.EnvelopeVersion(envelope) },
      { "correlation", Mq.EnvelopeCorrelation(envelope) },
      { "causation", Mq.EnvelopeCausation(envelope) },
      { "attempt", Mq.EnvelopeAttempt(envelope) },
      { "firstSeen", seen > 0 ? (object)seen : null },
      { "origin", Mq.EnvelopeOrigin(envelope) },
      { "error", Mq.EnvelopeError(envelope) },
      { "claim", Mq.EnvelopeClaim(envelope) },
      { "replayedFrom", Mq.EnvelopeReplayedFrom(envelope) },
      { "replayedAt", Mq.EnvelopeReplayedAt(envelope, out replayed) == 1 ? (object)replayed : null },
      { "replayCount", Mq.EnvelopeReplayCount(envelope) },
      { "replyTo", Mq.EnvelopeReplyTo(envelope) },
      { "route", steps.Count > 0 ? steps : null },
      { "routePosition", steps.Count > 0 ? (object)Mq.EnvelopeRoutePosition(envelope) : null },
      { "routeId", Mq.EnvelopeRouteId(envelope) }
    };
  }

  private static readonly Dictionary<string, Property> texts = new Dictionary<string, Property> {
    { "messageId", Property.PROPERTY_MESSAGE_ID }, { "contentType", Property.PROPERTY_CONTENT_TYPE },
    { "contentEncoding", Property.PROPERTY_CONTENT_ENCODING }, { "replyTo", Property.PROPERTY_REPLY_TO },
    { "correlationId", Property.PROPERTY_CORRELATION_ID }, { "type", Property.PROPERTY_TYPE },
    { "appId", Property.PROPERTY_APP_ID }
  };
  private static readonly Dictionary<string, Property> numbers = new Dictionary<string, Property> {
    { "deliveryMode", Property.PROPERTY_DELIVERY_MODE }, { "priority", Property.PROPERTY_PRIORITY },
    { "timestamp", Property.PROPERTY_TIMESTAMP }
  };

  internal static Members Json(Delivery delivery) {
    var properties = new Members();
    foreach (var text in texts) {
      properties[text.Key] = Mq.DeliveryProperty(delivery, text.Value);
    }
    foreach (var number in numbers) {
      long value;
      var known = Mq.DeliveryPropertyNumber(delivery, number.Value, out value) == 1;
      properties[number.Key] = known ? (object)value : null;
    }
    using (var envelope = Mq.DeliveryEnvelope(delivery)) {
      var listed = new Members { { "envelope", Json(envelope) }, { "headers", Json(Mq.DeliveryHeaders(delivery)) },
                                 { "properties", properties } };
      return SetBody(listed, Mq.DeliveryBody(delivery));
    }
  }

  private static readonly Dictionary<string, Action<Message, object>> setters =
      new Dictionary<string, Action<Message, object>> {
    { "id", (message, value) => Mq.MessageSetId(message, (string)value) },
    { "type", (message, value) => Mq.MessageSetType(message, (string)value) },
    { "version", (message, value) => Mq.MessageSetVersion(message, checked((int)(long)value)) },
    { "correlation", (message, value) => Mq.MessageSetCorrelation(message, (string)value) },
    { "causation", (message, value) => Mq.MessageSetCausation(message, (string)value) },
    { "origin", (message, value) => Mq.MessageSetOrigin(message, (string)value) },
    { "contentType", (message, value) => Mq.MessageSetContentType(message, (string)value) },
    { "replyTo", (message, value) => Mq.MessageSetReplyTo(message, (string)value) },
    { "priority", (message, value) => Mq.MessageSetPriority(message, checked((int)(long)value)) },
    { "expiration", (message, value) => Mq.MessageSetExpiration(message, (long)value) }
  };
  private static readonly string[] others = { "headers", "transient", "body", "bodyBase64" };

  internal static Message Message(Given given) {
    var wanted = given.Inner("message");
    var message = Mq.MessageNew(wanted.Body());
    foreach (var name in wanted.Names.Where(name => !others.Contains(name))) {
      if (!setters.ContainsKey(name)) {
        throw new Unsupported("a message has no such member here");
      }
      if (wanted[name] != null) {
        setters[name](message, wanted[name]);
      }
    }
    if (wanted.Flag("transient")) {
      Mq.MessageSetTransient(message);
    }
    Mq.MessageSetHeaders(message, wanted.Table("headers"));
    return message;
  }
}
