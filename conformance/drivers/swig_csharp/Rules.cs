using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using AceMQ;

/* The verbs that need no broker. */
internal static class Rules {
  private static readonly string[] frames = { "none", "inline", "stored" };
  private static readonly string[] kinds = { "", "exchange", "queue", "binding" };

  internal static void AddVerbs() {
    Driver.Add("envelope", "headers routingKey messageId", ReadEnvelope);
    Driver.Add("policy", "text", DescribePolicy);
    Driver.Add("schedule", "policy queue", Schedule);
    Driver.Add("waits", "policy attempts", Waits);
    Driver.Add("decide", "policy attempt age", given => new Members {
      { "retries", Mq.PolicyRetries(given.Policy("policy"), given.Number("attempt", 1), given.Number("age", -1)) == 1 } });
    Driver.Add("place", "policy queue delay",
               given => SetPlace(new Members(), given.Policy("policy"), given.Text("queue"), given.Number("delay", 0)));
    Driver.Add("jitter", "policy delay unit", given => new Members {
      { "delay", Mq.PolicyJittered(given.Policy("policy"), given.Number("delay", 0), Convert.ToDouble(given["unit"])) } });
    Driver.Add("names", "queue", given => new Members { { "deadLetter", Mq.DeadLetterQueue(given.Text("queue")) },
                                                        { "parked", Mq.ParkedQueue(given.Text("queue")) } });
    Driver.Add("duration.parse", "text",
               given => new Members { { "milliseconds", Mq.DurationParse(given.Text("text")) } });
    Driver.Add("duration.format", "milliseconds",
               given => new Members { { "text", Mq.DurationFormat(given.Number("milliseconds", 0)) } });
    Driver.Add("time.parse", "text", ReadTime);
    Driver.Add("time.format", "milliseconds",
               given => new Members { { "text", Mq.TimeFormat(given.Number("milliseconds", 0)) } });
    Driver.Add("partition", "key keyBase64 partitions rule", PartitionOf);
    Driver.Add("ordered.queue", "name key partitions rule", given => new Members {
      { "queue", Mq.OrderedQueue(given.Text("name"), Partitioning(given), Key(given), null) } });
    AddVerbsOfBodies();
    Driver.Add("topology.plan", "topology", given => Objects(TopologyOf(given)));
    Driver.Add("consumer.plan", "queue policy", given => {
      var topology = Mq.TopologyNew();
      Mq.TopologyConsumer(topology, given.Text("queue"), given.Policy("policy"));
      return Objects(topology);
    });
  }

  private static void AddVerbsOfBodies() {
    Driver.Add("claim.read", "body bodyBase64", given => {
      ClaimFrame frame;
      var rest = Mq.ClaimFrameRead(given.Body(), out frame);
      return Protocol.SetBody(new Members { { "frame", frames[(int)frame] } }, rest);
    });
    Driver.Add("claim.write", "frame body bodyBase64", given => {
      var frame = (ClaimFrame)System.Array.IndexOf(frames, given.Text("frame"));
      return Protocol.SetBody(new Members(), Mq.ClaimFrameWrite(frame, given.Body()));
    });
    Driver.Add("encrypted.read", "body bodyBase64", ReadEncrypted);
    Driver.Add("encrypt", "keyId keyBase64 body bodyBase64", given => {
      var codec = Encrypting(new Members { { given.Text("keyId"), given.Text("keyBase64") } });
      return Protocol.SetBody(new Members(), Mq.CodecEncode(codec, given.Body()));
    });
    Driver.Add("decrypt", "keys body bodyBase64", given => {
      var codec = Encrypting((Members)given["keys"]);
      return Protocol.SetBody(new Members(), Mq.CodecDecode(codec, given.Body(), Mq.CodecContentType(codec)));
    });
    Driver.Add("codec.reads", "codec contentType", given => new Members {
      { "reads", Mq.CodecReads(given.Text("codec"), given.Text("contentType")) == 1 } });
    Driver.Add("codec.check", "codec body bodyBase64 contentType", given => {
      Mq.CodecCheck(CodecNamed(given), given.Body(), given.Text("contentType"));
      return null;
    });
  }

  internal static Codec CodecNamed(Given given) {
    var codec = Mq.CodecBuiltin(given.Text("codec") ?? "bytes");
    if (codec == null) {
      throw new Unsupported("no such codec");
    }
    return codec;
  }

  private static Members ReadEnvelope(Given given) {
    var headers = given.Table("headers");
    var read = Mq.EnvelopeRead(headers, given.Text("routingKey"), given.Text("messageId"));
    var written = Mq.TableCopy(headers);
    Mq.EnvelopeWrite(read, written);
    return new Members { { "envelope", Protocol.Json(read) },
                         { "headers", Protocol.Json(Mq.EnvelopeApplicationHeaders(headers)) },
                         { "written", Protocol.Json(written, 1) } };
  }

  private static Members DescribePolicy(Given given) {
    var read = Mq.PolicyParse(given.Text("text"));
    return new Members { { "text", Mq.PolicyFormat(read) }, { "maxAttempts", Mq.PolicyMaxAttempts(read) },
                         { "maxAge", Mq.PolicyMaxAge(read) }, { "threshold", Mq.PolicyBrokerThreshold(read) },
                         { "jitter", Mq.PolicyJitterFactor(read) } };
  }

  private static Members SetPlace(Members place, Policy policy, string queue, long delay) {
    var isBroker = Mq.PolicyWaitsInBroker(policy, delay) == 1;
    place["where"] = isBroker ? "broker" : "consumer";
    place["rung"] = isBroker ? Mq.PolicyRungName(policy, queue, Mq.PolicyChooseRung(policy, delay)) : null;
    return place;
  }

  private static Members Schedule(Given given) {
    var queue = given.Text("queue") ?? "orders";
    var policy = given.Policy("policy");
    var waits = new List<object>();
    for (long after = 1; after < Mq.PolicyMaxAttempts(policy); after++) {
      var delay = Mq.PolicyWait(policy, after);
      waits.Add(SetPlace(new Members { { "afterAttempt", after }, { "delayMs", delay } }, policy, queue, delay));
    }
    var rungs = new List<object>();
    for (ulong index = 0; index < Mq.PolicyRungCount(policy); index++) {
      var delay = Mq.PolicyRungDelay(policy, index);
      rungs.Add(new Members { { "queue", Mq.PolicyRungName(policy, queue, delay) },
                              { "arguments", Protocol.Json(Mq.PolicyRungArguments(policy, queue, delay)) } });
    }
    return new Members { { "waits", waits }, { "rungs", rungs } };
  }

  private static Members Waits(Given given) {
    var policy = given.Policy("policy");
    var attempts = (List<object>)given["attempts"];
    return new Members { { "waits", attempts.Select(each => (object)Mq.PolicyWait(policy, (long)each)).ToList() } };
  }

  private static Members ReadTime(Given given) {
    long seconds;
    int nanoseconds;
    Mq.TimeParse(given.Text("text"), out seconds, out nanoseconds);
    return new Members { { "seconds", seconds }, { "nanoseconds", nanoseconds } };
  }

  private static int Rule(Given given) {
    var rule = given.Text("rule") == null ? (int)PartitionRule.PARTITION_UNSIGNED
                                          : Mq.PartitionRuleNamed(given.Text("rule"));
    if (rule < 0) {
      throw new Unsupported("no such rule");
    }
    return rule;
  }

  internal static byte[] Key(Given given) {
    return given.Text("keyBase64") != null ? Convert.FromBase64String(given.Text("keyBase64"))
                                           : Encoding.UTF8.GetBytes(given.Text("key") ?? "");
  }

  private static Members PartitionOf(Given given) {
    var number = Mq.Partition(Key(given), given.Number("partitions", 8), (PartitionRule)Rule(given));
    if (number < 0) {
      throw new Refused("invalid_argument", "partitions is out of range");
    }
    return new Members { { "partition", number } };
  }

  internal static Partitioning Partitioning(Given given) {
    return new Partitioning { Partitions = given.Number("partitions", 8), Rule = Rule(given) };
  }

  private static Members ReadEncrypted(Given given) {
    var frame = Mq.EncryptedFrameRead(given.Body());
    return new Members { { "keyId", Encoding.UTF8.GetString(frame.KeyId) },
                         { "authenticatedBase64", Convert.ToBase64String(frame.Authenticated) },
                         { "nonceBase64", Convert.ToBase64String(frame.Nonce) },
                         { "ciphertextBase64", Convert.ToBase64String(frame.Ciphertext) },
                         { "tagBase64", Convert.ToBase64String(frame.Tag) } };
  }

  private static Codec Encrypting(Members keys) {
    var ring = Mq.KeyringNew();
    foreach (var key in keys) {
      Mq.KeyringAdd(ring, key.Key, Convert.FromBase64String((string)key.Value));
    }
    return Mq.CodecEncrypted(ring, Mq.CodecBuiltin("bytes"));
  }

  internal static Topology TopologyOf(Given given) {
    return Mq.TopologyParse(Json.Write(given["topology"]));
  }

  private static Members Objects(Topology topology) {
    var plan = Mq.TopologyPlan(topology);
    var listed = new List<object>();
    for (ulong index = 0; index < Mq.PlanCount(plan); index++) {
      listed.Add(new Members { { "kind", kinds[(int)Mq.PlanGetKind(plan, index)] }, { "name", Mq.PlanName(plan, index) },
                               { "type", Mq.PlanType(plan, index) },
                               { "arguments", Protocol.Json(Mq.PlanArguments(plan, index)) },
                               { "exchange", Mq.PlanExchange(plan, index) },
                               { "routingKey", Mq.PlanRoutingKey(plan, index) } });
    }
    return new Members { { "objects", listed } };
  }
}
