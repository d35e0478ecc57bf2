using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Text;
using AceMQ;

/* The verbs that need a broker: one connection, and the stores in memory. */
internal static class Client {
  private const long Wait = 10 * Mq.SECOND;
  private const long Lease = 5 * Mq.MINUTE;
  private static readonly string[] answers = { "", "claimed", "duplicate", "in_progress" };
  private static readonly Dictionary<string, Idempotency> stores = new Dictionary<string, Idempotency>();
  private static Connection connection;

  internal static void AddVerbs() {
    Driver.Add("connect", "url timeout", Connect);
    Driver.Add("close", "", given => End());
    Driver.Add("topology", "topology", given => {
      Mq.TopologyApply(Connected(), Rules.TopologyOf(given), Wait);
      return null;
    });
    Driver.Add("publish", "queue exchange routingKey message timeout", Publish);
    Driver.Add("pending", "queue parked", given => new Members {
      { "pending", Mq.ReplayPending(Connected(), given.Text("queue"), Source(given), Wait) } });
    Driver.Add("peek", "queue max", Peek);
    Driver.Add("replay", "queue parked max keepAttempts id headers dryRun", Replay);
    AddVerbsOfClaims();
    Driver.Add("consume", "queue retry codec script until members prefetch declare requeueOnFailure idempotency",
               given => given.Number("members", 1) == 1 ? Consume(given) : ConsumeInGroup(given));
    Driver.Add("ordered.publish", "name key partitions rule message timeout", PublishInOrder);
    Driver.Add("ordered.consume", "name partitions failure retry codec script until", ConsumeInOrder);
    Driver.Add("outbox.enqueue", "store queue exchange routingKey message", Enqueue);
    Driver.Add("outbox.relay", "store", RunRelay);
  }

  private static void AddVerbsOfClaims() {
    Driver.Add("claim", "store key lease", given => {
      ClaimAnswer answer;
      var token = Mq.IdempotencyClaim(Store(given), given.Text("key"), given.Number("lease", Lease), Wait, out answer);
      return new Members { { "answer", answers[(int)answer] }, { "token", token } };
    });
    Driver.Add("claim.confirm", "store key token", given => {
      Mq.IdempotencyConfirm(Store(given), given.Text("key"), given.Text("token"), Wait);
      return null;
    });
    Driver.Add("claim.release", "store key token", given => {
      Mq.IdempotencyRelease(Store(given), given.Text("key"), given.Text("token"), Wait);
      return null;
    });
    Driver.Add("claim.renew", "store key token lease", given => {
      Mq.IdempotencyRenew(Store(given), given.Text("key"), given.Text("token"), given.Number("lease", Lease), Wait);
      return null;
    });
  }

  private static Connection Connected() {
    if (connection == null) {
      throw new Refused("state", "connect first");
    }
    return connection;
  }

  /* What is left comes again. */
  private static void Quietly(Action action) {
    try {
      action();
    } catch (AceMQException) {
      return;
    }
  }

  internal static Members End() {
    if (connection != null) {
      Quietly(() => Mq.ConnectionClose(connection, 5 * Mq.SECOND));
      connection.Dispose();
    }
    connection = null;
    foreach (var store in stores.Values) {
      store.Dispose();
    }
    stores.Clear();
    return null;
  }

  private static Members Connect(Given given) {
    End();
    connection = Mq.Connect(given.Text("url"), new ConnectOptions { Timeout = given.Number("timeout", Wait) });
    return null;
  }

  private static Members Publish(Given given) {
    var message = Protocol.Message(given);
    var timeout = given.Number("timeout", Wait);
    if (given.Text("queue") != null) {
      Mq.Publish(Connected(), given.Text("queue"), message, timeout);
    } else {
      Mq.PublishTo(Connected(), given.Text("exchange") ?? "", given.Text("routingKey"), message, timeout);
    }
    return new Members { { "id", Mq.MessageId(message) } };
  }

  private static FailureQueue Source(Given given) {
    return given.Flag("parked") ? FailureQueue.PARKED_LETTERS : FailureQueue.DEAD_LETTERS;
  }

  private static Members Peek(Given given) {
    var messages = new List<object>();
    using (var browser = Mq.BrowserOpen(Connected(), given.Text("queue"), new BrowserOptions { Force = 1 })) {
      while (messages.Count < given.Number("max", 10)) {
        using (var delivery = Mq.BrowserNext(browser)) {
          if (delivery == null) {
            break;
          }
          messages.Add(Protocol.Json(delivery));
        }
      }
    }
    return new Members { { "messages", messages } };
  }

  private static Members Replay(Given given) {
    var wanted = given["headers"] as Members;
    var options = new ReplayOptions {
      Id = given.Text("id"), Max = given.Number("max", -1), Source = (int)Source(given),
      KeepAttempts = given.Flag("keepAttempts") ? 1 : 0, DryRun = given.Flag("dryRun") ? 1 : 0
    };
    if (wanted != null) {
      options.Filter = delivery => wanted.All(header => {
        var value = Mq.ValueBytes(Mq.TableGet(Mq.DeliveryHeaders(delivery), header.Key));
        return value != null && value.SequenceEqual(Encoding.UTF8.GetBytes((string)header.Value));
      });
    }
    var result = Mq.Replay(Connected(), given.Text("queue"), options);
    return new Members { { "replayed", result.Replayed }, { "declined", result.Declined }, { "left", result.Left } };
  }

  private static Idempotency Store(Given given) {
    var where = given.Text("store");
    if (!stores.ContainsKey(where)) {
      stores[where] = Mq.IdempotencyOpen(where.StartsWith("memory:", StringComparison.Ordinal) ? "memory:" : where);
    }
    return stores[where];
  }

  private static ConsumerOptions Options(Given given) {
    var options = new ConsumerOptions {
      Codec = Rules.CodecNamed(given), Retry = given.Policy("retry"), Declare = given.Text("declare") == "verify" ? 1 : 0,
      RequeueOnFailure = given.Flag("requeueOnFailure") ? 1 : 0
    };
    options.Prefetch = (int)given.Number("prefetch", options.Prefetch);
    if (given["idempotency"] != null) {
      var claims = given.Inner("idempotency");
      options.Idempotency = Store(claims);
      options.Lease = claims.Number("lease", options.Lease);
      options.PutBackWait = claims.Number("putBackWait", options.PutBackWait);
    }
    return options;
  }

  private static Members Handled(Script script, ConsumerCounters counters) {
    var counted = new Members { { "acknowledged", counters.Acknowledged }, { "rejected", counters.Rejected },
                                { "retried", counters.Retried }, { "deadLettered", counters.DeadLettered },
                                { "parked", counters.Parked }, { "duplicates", counters.Duplicates } };
    return new Members { { "deliveries", script.Deliveries }, { "counters", counted } };
  }

  private static Members Consume(Given given) {
    var script = new Script(given);
    using (var consumer = Mq.ConsumerOpen(Connected(), given.Text("queue"), Options(given))) {
      script.Follow(wait => Mq.ConsumerNext(consumer, wait));
      Quietly(() => Mq.ConsumerDrain(consumer, Wait));
      return Handled(script, Mq.ConsumerGetCounters(consumer));
    }
  }

  private static Members ConsumeInGroup(Given given) {
    var script = new Script(given);
    var options = new GroupOptions { Consumer = Options(given), Members = given.Number("members", 1) };
    using (var group = Mq.GroupOpen(Connected(), given.Text("queue"), options)) {
      script.Follow(wait => Mq.GroupNext(group, wait));
      Quietly(() => Mq.GroupDrain(group, Wait));
      return Handled(script, Mq.GroupGetCounters(group));
    }
  }

  private static Members PublishInOrder(Given given) {
    var message = Protocol.Message(given);
    Mq.OrderedPublish(Connected(), given.Text("name"), Rules.Partitioning(given), Rules.Key(given), message,
                      given.Number("timeout", Wait));
    return new Members { { "id", Mq.MessageId(message) } };
  }

  private static List<object> Gaps(Ordered ordered) {
    var gaps = Mq.OrderedGetGaps(ordered);
    var listed = new List<object>();
    for (ulong index = 0; index < Mq.GapsCount(gaps); index++) {
      listed.Add(new Members { { "partition", Mq.GapsPartition(gaps, index) }, { "id", Mq.GapsId(gaps, index) },
                               { "reason", Mq.GapsReason(gaps, index) },
                               { "parked", Mq.GapsParked(gaps, index) == 1 } });
    }
    return listed;
  }

  private static Members ConsumeInOrder(Given given) {
    var failure = given.Text("failure") == "retry" ? OrderFailure.ORDER_RETRY_IN_PLACE
                  : given.Text("failure") == "skip" ? OrderFailure.ORDER_SKIP : OrderFailure.ORDER_STOP;
    var script = new Script(given);
    var options = new OrderedOptions { Consumer = Options(given), Partitions = given.Number("partitions", 8),
                                       Failure = (long)failure };
    using (var ordered = Mq.OrderedOpen(Connected(), given.Text("name"), options)) {
      script.Follow(wait => Mq.OrderedNext(ordered, wait));
      Quietly(() => Mq.OrderedDrain(ordered, Wait));
      var halted = new List<object>();
      for (long partition = 0; partition < options.Partitions; partition++) {
        AceMQException why;
        if (Mq.OrderedHalted(ordered, partition, out why) == 1) {
          halted.Add(partition);
        }
      }
      return new Members { { "deliveries", script.Deliveries }, { "gaps", Gaps(ordered) }, { "halted", halted } };
    }
  }

  private static Members Enqueue(Given given) {
    var queue = given.Text("queue");
    using (var outbox = Mq.OutboxOpen(given.Text("store"))) {
      var id = Mq.OutboxEnqueue(outbox, queue != null ? "" : given.Text("exchange") ?? "",
                                queue ?? given.Text("routingKey"), Protocol.Message(given), Wait);
      return new Members { { "id", id } };
    }
  }

  private static Members RunRelay(Given given) {
    var mq = Connected();
    using (var outbox = Mq.OutboxOpen(given.Text("store")))
    using (var relay = Mq.RelayStart(mq, outbox)) {
      Mq.RelayDrain(relay, Wait);
      return new Members { { "published", Mq.RelayCount(relay).Published } };
    }
  }
}

/* What the handler does with each message, and until when. */
internal sealed class Script {
  internal readonly List<object> Deliveries = new List<object>();
  private readonly Given entries;
  private readonly Dictionary<string, int> seen = new Dictionary<string, int>();
  private readonly Stopwatch clock = Stopwatch.StartNew();
  private readonly long most, idle, timeout;

  internal Script(Given given) {
    var limits = given.Inner("until");
    entries = given.Inner("script");
    most = limits.Number("deliveries", long.MaxValue);
    idle = limits.Number("idle", long.MaxValue);
    timeout = limits.Number("timeout", 10000);
  }

  internal void Follow(Func<long, Delivery> take) {
    while (Deliveries.Count < most) {
      var wait = Math.Min(timeout - clock.ElapsedMilliseconds, idle);
      if (wait <= 0) {
        return;
      }
      try {
        using (var delivery = take(wait)) {
          Handle(delivery);
        }
      } catch (TimedOutException) {
        return;
      }
    }
  }

  private string Entry(string id) {
    int times;
    seen.TryGetValue(id, out times);
    seen[id] = times + 1;
    var list = (entries[id] ?? entries["*"]) as List<object>;
    return list == null || list.Count == 0 ? "accept" : (string)list[Math.Min(times, list.Count - 1)];
  }

  private void Handle(Delivery delivery) {
    var listed = Protocol.Json(delivery);
    var entry = Entry((string)((Members)listed["envelope"])["id"]);
    listed["outcome"] = entry;
    listed["queue"] = Mq.DeliveryQueue(delivery);
    listed["routingKey"] = Mq.DeliveryRoutingKey(delivery);
    listed["redelivered"] = Mq.DeliveryRedelivered(delivery) == 1;
    Deliveries.Add(listed);
    var outcome = entry[0] == 'a' ? Outcome.ACCEPTED : entry[0] == 'r' ? Outcome.REJECTED
                  : entry[0] == 'p' ? Outcome.PARKED : Outcome.FAILED;
    var colon = entry.IndexOf(": ", StringComparison.Ordinal);
    Mq.DeliverySettle(delivery, outcome, colon < 0 ? null : entry.Substring(colon + 2));
  }
}
