namespace AceMQ {
  /* Arguments that may be left out, and durations. */
  public partial class Mq {
    public const long FOREVER = long.MaxValue;
    public const long MILLISECOND = 1;
    public const long SECOND = 1000;
    public const long MINUTE = 60000;
    public const long HOUR = 3600000;
    public const long DAY = 86400000;
    public const long CLAIM_THRESHOLD = 65536;

    public static Browser BrowserOpen(Connection connection, string queue) {
      return BrowserOpen(connection, queue, null);
    }

    public static Connection Connect(string url) {
      return Connect(url, null);
    }

    public static Consumer ConsumerOpen(Connection connection, string queue) {
      return ConsumerOpen(connection, queue, null);
    }

    public static void DeliverySettle(Delivery delivery, Outcome outcome) {
      DeliverySettle(delivery, outcome, null);
    }

    public static Group GroupOpen(Connection connection, string queue) {
      return GroupOpen(connection, queue, null);
    }

    public static Idempotency IdempotencyOpen(string where) {
      return IdempotencyOpen(where, null);
    }

    public static Ordered OrderedOpen(Connection connection, string name) {
      return OrderedOpen(connection, name, null);
    }

    public static Outbox OutboxOpen(string store) {
      return OutboxOpen(store, null);
    }

    public static Publisher PublisherNew(Connection connection) {
      return PublisherNew(connection, null);
    }

    public static Relay RelayStart(Connection connection, Outbox outbox) {
      return RelayStart(connection, outbox, null);
    }

    public static ReplayResult Replay(Connection connection, string queue) {
      return Replay(connection, queue, null);
    }

    public static void TopologyQueue(Topology topology, string name, QueueType type, int deadLetter) {
      TopologyQueue(topology, name, type, deadLetter, null, null);
    }

    public static void TopologyQueue(Topology topology, string name, QueueType type, int deadLetter, Policy retry) {
      TopologyQueue(topology, name, type, deadLetter, retry, null);
    }
  }
}
