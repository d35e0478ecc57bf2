using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Text;
using System.Threading;
using AceMQ;

/* The module for C#, on a broker in memory and on RabbitMQ: messages, errors, ownership under constant collection, exact
 * values. Prints TAP. */
internal static class Tests {
  private const string Memory = "memory://swig-csharp";
  private const string Queue = "swig.csharp";
  private const long Wait = 20 * Mq.SECOND;
  private static readonly string Url = Environment.GetEnvironmentVariable("ACEMQ_TEST_URL");
  private static readonly List<KeyValuePair<string, Action>> All = new List<KeyValuePair<string, Action>>();

  private static void Test(string title, Action body) {
    All.Add(new KeyValuePair<string, Action>(title, body));
  }

  private static void Same(object found, object expected) {
    if (!Equals(found, expected)) {
      throw new Exception(found + " instead of " + expected);
    }
  }

  private static T Raises<T>(Action action) where T : Exception {
    try {
      action();
    } catch (T exception) {
      return exception;
    }
    throw new Exception("no " + typeof(T).Name + " came");
  }

  private static byte[] Bytes(params int[] values) {
    return values.Select(value => (byte)value).ToArray();
  }

  private static void Fresh(Connection mq) {
    foreach (var suffix in new[] { "", ".dlq", ".parked" }) {
      Mq.QueueDelete(mq, Queue + suffix, Wait);
    }
    var topology = Mq.TopologyNew();
    Mq.TopologyQueue(topology, Queue, QueueType.QUEUE_QUORUM, 1);
    Mq.TopologyApply(mq, topology, Wait);
  }

  private static void Publish(Connection mq, byte[] body, string id = null, Table headers = null) {
    var message = Mq.MessageNew(body);
    Mq.MessageSetId(message, id);
    if (headers != null) {
      Mq.MessageSetHeaders(message, headers);
    }
    Mq.Publish(mq, Queue, message, Wait);
  }

  private static Table AwkwardHeaders() {
    var inner = Mq.TableNew();
    Mq.TableSetInt64(inner, "deep", long.MinValue);
    Mq.TableSetBytes(inner, "bytes", Bytes(0, 255, 0));
    var holder = Mq.TableNew();
    var array = Mq.ArrayNew();
    Mq.TableSetVoid(holder, "void");
    Mq.ArrayAppend(array, Mq.TableGet(holder, "void"));
    Mq.TableSetArray(inner, "array", array);
    var headers = Mq.TableNew();
    Mq.TableSetInt64(headers, "above", (1L << 53) + 1);
    Mq.TableSetInt64(headers, "least", long.MinValue);
    Mq.TableSetBytes(headers, "nul", Bytes('a', 0, 'b'));
    Mq.TableSetStringBytes(headers, "broken", Bytes(255, 254, 128));
    Mq.TableSetTable(headers, "nested", inner);
    Mq.TableSetVoid(headers, "void");
    Mq.TableSetDouble(headers, "double", 0.1);
    Mq.TableSetBool(headers, "bool", 1);
    return headers;
  }

  private const string Awkward =
      "above=INT64 9007199254740993\nleast=INT64 -9223372036854775808\nnul=BYTES 61-00-62\nbroken=STRING FF-FE-80\n" +
      "nested=TABLE {deep=INT64 -9223372036854775808,bytes=BYTES 00-FF-00,array=ARRAY {=VOID }}\nvoid=VOID \n" +
      "double=DOUBLE 0.1\nbool=BOOL 1";

  /* Kind and value, as text that nothing else reads the same. */
  private static string Shown(Value value) {
    var kind = Mq.ValueKind(value);
    var name = kind.ToString().Replace("KIND_", "") + " ";
    long number;
    double fraction;
    switch (kind) {
    case Kind.KIND_TABLE:
    case Kind.KIND_ARRAY:
      var members = new List<string>();
      for (ulong i = 0; i < Mq.ValueCount(value); i++) {
        string member;
        var inner = Mq.ValueAt(value, i, out member);
        members.Add(member + "=" + Shown(inner));
      }
      return name + "{" + string.Join(",", members) + "}";
    case Kind.KIND_STRING:
    case Kind.KIND_BYTES:
      return name + BitConverter.ToString(Mq.ValueBytes(value));
    case Kind.KIND_DOUBLE:
      Mq.ValueDouble(value, out fraction);
      return name + fraction.ToString("R", System.Globalization.CultureInfo.InvariantCulture);
    default:
      return name + (Mq.ValueInteger(value, out number) == 1 ? number.ToString() : "");
    }
  }

  private static string Shown(Table headers) {
    var names = new[] { "above", "least", "nul", "broken", "nested", "void", "double", "bool" };
    return string.Join("\n", names.Select(name => name + "=" + Shown(Mq.TableGet(headers, name))));
  }

  private static void MessagesArePublishedAndSettled(string url) {
    var mq = Mq.Connect(url);
    Fresh(mq);
    Publish(mq, Bytes('a', 0, 'b'), "one");
    var consumer = Mq.ConsumerOpen(mq, Queue);
    var delivery = Mq.ConsumerNext(consumer, Wait);
    Same(BitConverter.ToString(Mq.DeliveryBody(delivery)), "61-00-62");
    Same(Mq.EnvelopeId(Mq.DeliveryEnvelope(delivery)), "one");
    Same(Mq.DeliveryProperty(delivery, Property.PROPERTY_REPLY_TO), null);
    long number;
    Same(Mq.DeliveryPropertyNumber(delivery, Property.PROPERTY_DELIVERY_MODE, out number), 1);
    Same(number, 2L);
    Mq.DeliverySettle(delivery, Outcome.ACCEPTED);
    Raises<SettledException>(() => Mq.DeliverySettle(delivery, Outcome.ACCEPTED));
    Mq.ConsumerDrain(consumer, Wait);
    Same(Mq.ConsumerGetCounters(consumer).Acknowledged, 1UL);
    Mq.ConsumerClose(consumer);
    ulong ready, consumers;
    Mq.QueueCount(mq, Queue, Wait, out ready, out consumers);
    Same(ready, 0UL);
    Mq.ConnectionClose(mq, Wait);
  }

  private static void ValuesAreTheSameAfterARetry() {
    var mq = Mq.Connect(Url);
    Fresh(mq);
    Same(Shown(AwkwardHeaders()), Awkward);
    Publish(mq, Bytes('x'), null, AwkwardHeaders());
    var policy = Mq.PolicyFixed(2, 1000);
    Mq.PolicyThreshold(policy, 1); // each wait is spent in the broker
    var consumer = Mq.ConsumerOpen(mq, Queue, new ConsumerOptions { Retry = policy });
    for (var attempt = 1; attempt <= 2; attempt++) {
      var delivery = Mq.ConsumerNext(consumer, Wait);
      Same(Mq.EnvelopeAttempt(Mq.DeliveryEnvelope(delivery)), attempt);
      Same(Shown(Mq.DeliveryHeaders(delivery)), Awkward);
      Mq.DeliverySettle(delivery, attempt == 1 ? Outcome.FAILED : Outcome.ACCEPTED);
    }
    Mq.ConnectionClose(mq, Wait);
  }

  private static void NumbersAreExact() {
    var headers = Mq.TableParseJson("{\"most\": {\"type\": \"uint64\", \"value\": \"18446744073709551615\"}}");
    ulong most;
    long number;
    Same(Mq.ValueUnsigned(Mq.TableGet(headers, "most"), out most), 1);
    Same(most, ulong.MaxValue);
    Same(Mq.ValueInteger(Mq.TableGet(headers, "most"), out number), 0);
  }

  private static void ErrorsAreExceptions() {
    var mq = Mq.Connect(Memory);
    var unroutable = Raises<UnroutableException>(() => Mq.Publish(mq, "swig.nowhere", Mq.MessageText("x"), Wait));
    Same(unroutable.Code, Mq.E_UNROUTABLE);
    Same(unroutable.Name, "unroutable");
    Same(unroutable.ReplyCode, 312);
    Same(unroutable.Message.Contains("swig.nowhere"), true);
    var headers = Mq.TableNew();
    var limit = Raises<LimitException>(() => Mq.TableSetInt64(headers, new string('n', 256), 1));
    Same(limit.Limit, 255L);
    Same(limit.Field != "" && limit.IsFatal, true);
    Raises<ParseException>(() => Mq.Connect("nonsense"));
    Raises<UnreachableException>(() => Mq.Connect("amqp://127.0.0.1:1/"));
    Raises<InvalidArgumentException>(() => Mq.Connect(null));
    Raises<ArgumentException>(() => Mq.TableSetInt64(headers, "a\0b", 1));
    AceMQException why;
    Mq.ConnectionClose(mq, Wait);
    Same(Mq.ConnectionGetState(mq, out why), ConnectionState.CONNECTION_CLOSED);
    Same(why.Name, "closed");
  }

  private static void AnswersAreWithTheException() {
    var mq = Mq.Connect(Memory);
    Fresh(mq);
    var other = Mq.TopologyNew();
    Mq.TopologyQueue(other, Queue, QueueType.QUEUE_CLASSIC, 0);
    var differs = Raises<DiffersException>(() => Mq.TopologyApply(mq, other, Wait));
    Same(Mq.PlanHasDrift((Plan)differs.Result), 1);
    var publisher = Mq.PublisherNew(mq, new PublisherOptions { RoutingKey = Queue });
    Mq.PublisherSendBatch(publisher, null, new[] { Mq.MessageText("a"), Mq.MessageText("b") }, Wait);
    var messages = new[] { Mq.MessageText("a"), Mq.MessageJson("{") };
    var decode = Raises<DecodeException>(() => Mq.PublisherSendBatch(publisher, null, messages, Wait));
    var each = (AceMQException[])decode.Result;
    Same(each[0] == null && each[1] is DecodeException, true);
  }

  /* Handles that hold on to each other, dropped in whatever order the collector likes. */
  private static void OneOfEverything(Connection mq) {
    var options = new ConsumerOptions { Retry = Mq.PolicyFixed(3, 1), Codec = Mq.CodecBuiltin("bytes") };
    options.Retry = Mq.PolicyExponential(3, 1, 10);
    var groupOptions = new GroupOptions { Consumer = options, Members = 1 };
    options.Dispose();
    options.Dispose();
    GC.Collect();
    Publish(mq, Bytes('x'), null, AwkwardHeaders());
    var group = Mq.GroupOpen(mq, Queue, groupOptions);
    var delivery = Mq.GroupNext(group, Wait);
    var envelope = Mq.DeliveryEnvelope(delivery);
    var nested = Mq.TableGet(Mq.DeliveryHeaders(delivery), "nested");
    Mq.DeliverySettle(delivery, Outcome.ACCEPTED);
    delivery.Dispose();
    GC.Collect();
    Same(Mq.EnvelopeAttempt(envelope), 1);
    Same(Mq.ValueCount(nested), 3UL);
    Raises<InvalidArgumentException>(() => Mq.DeliverySettle(delivery, Outcome.ACCEPTED));
    Mq.GroupClose(group);
  }

  private static void HandlesAreFreedInAnyOrder() {
    var mq = Mq.Connect(Memory);
    Fresh(mq);
    var ended = false;
    var collector = new Thread(() => {
      while (!ended) {
        GC.Collect();
        GC.WaitForPendingFinalizers();
      }
    });
    collector.Start();
    try {
      for (var i = 0; i < 20; i++) {
        OneOfEverything(mq);
      }
    } finally {
      ended = true;
      collector.Join();
    }
    Publish(mq, Bytes('x'));
    var consumer = Mq.ConsumerOpen(mq, Queue);
    mq.Dispose(); // which the consumer still needs
    Mq.DeliverySettle(Mq.ConsumerNext(consumer, Wait), Outcome.ACCEPTED);
    Raises<InvalidArgumentException>(() => Publish(mq, Bytes('x')));
    consumer.Dispose();
  }

  private static void ReplayTakesWhatTheFilterTakes() {
    var mq = Mq.Connect(Memory);
    Fresh(mq);
    var consumer = Mq.ConsumerOpen(mq, Queue);
    for (var number = 0; number < 3; number++) {
      Publish(mq, Bytes('x'), number.ToString());
      Mq.DeliverySettle(Mq.ConsumerNext(consumer, Wait), Outcome.REJECTED, "no");
    }
    Mq.ConsumerDrain(consumer, Wait);
    Mq.ConsumerClose(consumer);
    Same(Mq.ReplayPending(mq, Queue, FailureQueue.DEAD_LETTERS, Wait), 3UL);
    Delivery kept = null;
    var asked = 0;
    var refusing = new ReplayOptions {
      Filter = delivery => {
        kept = delivery;
        asked++;
        throw new KeyNotFoundException("mine");
      }
    };
    Raises<KeyNotFoundException>(() => Mq.Replay(mq, Queue, refusing));
    Same(asked, 1);
    Same(Mq.DeliveryBody(kept).Length, 0);
    var envelopes = new List<Envelope>();
    var result = Mq.Replay(mq, Queue, new ReplayOptions {
      Filter = delivery => {
        envelopes.Add(Mq.DeliveryEnvelope(delivery));
        return Mq.EnvelopeId(envelopes.Last()) != "1";
      }
    });
    Same(string.Join(" ", envelopes.Select(Mq.EnvelopeId)), "0 1 2");
    Same(result.Replayed, 2UL);
    Same(result.Left, 1UL);
  }

  private static void AnOutboxWrites() {
    var mq = Mq.Connect(Memory);
    Fresh(mq);
    var outbox = Mq.OutboxOpen("memory:");
    var id = Mq.OutboxEnqueue(outbox, "", Queue, Mq.MessageJson("[1]"), Wait);
    var rows = Mq.OutboxPending(outbox, 10, Wait);
    var row = Mq.OutboxListRow(rows, 0);
    rows.Dispose();
    Same(row.Id, id);
    Same(Encoding.UTF8.GetString(row.Body), "[1]");
    var relay = Mq.RelayStart(mq, outbox);
    Mq.RelayDrain(relay, Wait);
    Same(Mq.RelayCount(relay).Published, 1UL);
    Mq.RelayStop(relay, Wait);
  }

  private static void ClaimsAndCodecs() {
    var store = Mq.IdempotencyOpen("memory:");
    ClaimAnswer answer;
    var token = Mq.IdempotencyClaim(store, "k", 1000, Wait, out answer);
    Same(answer, ClaimAnswer.CLAIMED);
    Mq.IdempotencyConfirm(store, "k", token, Wait);
    Mq.IdempotencyClaim(store, "k", 1000, Wait, out answer);
    Same(answer, ClaimAnswer.CLAIM_DUPLICATE);
    var ring = Mq.KeyringNew();
    Mq.KeyringAdd(ring, "id", Encoding.UTF8.GetBytes(new string('k', 32)));
    var codec = Mq.CodecEncrypted(ring, Mq.CodecBuiltin("bytes"));
    var body = Mq.CodecEncode(codec, Bytes('s', 0));
    Same(BitConverter.ToString(Mq.CodecDecode(codec, body, Mq.CodecContentType(codec))), "73-00");
    Same(Encoding.UTF8.GetString(Mq.EncryptedFrameRead(body).KeyId), "id");
    Raises<DecodeException>(() => Mq.EncryptedFrameRead(Bytes(0xae, 1)));
    Same(Mq.DeadLetterQueue("q"), "q.dlq");
    Same(Mq.DurationFormat(1500), "1500ms");
    Same(Mq.NewId().Length, 36);
  }

  private static void AWaitIsWoken() {
    var mq = Mq.Connect(Memory);
    Fresh(mq);
    var consumer = Mq.ConsumerOpen(mq, Queue);
    var thread = new Thread(() => Mq.ConsumerWake(consumer));
    thread.Start();
    Raises<CancelledException>(() => Mq.ConsumerNext(consumer, Wait));
    thread.Join();
  }

  private static void Example(string url, string name) {
    // The queues of the examples have the same names in every language.
    var start = new ProcessStartInfo("flock",
        "'" + Environment.GetEnvironmentVariable("ACEMQ_TEST_BUILD") + "/swig/examples.lock' examples/story/compare " +
        url + " " + name + " swig/csharp/run swig/examples/csharp/" + name + ".cs") {
      UseShellExecute = false, RedirectStandardOutput = true
    };
    using (var process = Process.Start(start)) {
      var printed = process.StandardOutput.ReadToEnd();
      process.WaitForExit();
      Same(process.ExitCode + printed, "0");
    }
  }

  private static int Main() {
    Test("a message is published, consumed and settled in memory", () => MessagesArePublishedAndSettled(Memory));
    Test("a message is published, consumed and settled on RabbitMQ", () => MessagesArePublishedAndSettled(Url));
    Test("2^53+1, -2^63, bytes with NUL, invalid UTF-8, nested tables and void are the same after a retry",
         ValuesAreTheSameAfterARetry);
    Test("a uint64 is exact over its whole range", NumbersAreExact);
    Test("an error is an exception of its class, with code, name, message, field and limit", ErrorsAreExceptions);
    Test("what a call answers besides failing is with its exception", AnswersAreWithTheException);
    Test("handles are freed by the collector in any order, however often it runs", HandlesAreFreedInAnyOrder);
    Test("replay takes what the filter takes, and its exception arrives", ReplayTakesWhatTheFilterTakes);
    Test("an outbox writes, and its relay publishes", AnOutboxWrites);
    Test("claims, codecs and names answer as the headers say", ClaimsAndCodecs);
    Test("another thread runs while a call waits, and wakes it", AWaitIsWoken);
    foreach (var name in new[] { "publish", "consume_with_retry", "replay", "idempotent_consumer", "outbox" }) {
      Test("the example " + name + " tells its story in memory", () => Example("memory://example", name));
      Test("the example " + name + " tells its story on RabbitMQ", () => Example(Url, name));
    }
    var failed = 0;
    Console.WriteLine("1..{0}", All.Count);
    for (var i = 0; i < All.Count; i++) {
      try {
        All[i].Value();
        Console.WriteLine("ok {0} - {1}", i + 1, All[i].Key);
      } catch (Exception exception) {
        failed++;
        Console.WriteLine("not ok {0} - {1}", i + 1, All[i].Key);
        Console.WriteLine("# " + exception.ToString().Replace("\n", "\n# "));
      }
    }
    return failed == 0 ? 0 : 1;
  }
}
