using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Json;
using RabbitMQ.Client;
using RabbitMQ.Client.Exceptions;

/// <summary>A mandatory message that reached no queue.</summary>
sealed class Unroutable : IOException
{
    internal Unroutable(string what) : base(what) { }
}

/// <summary>
/// One connection to a broker, with the client that there is for Mono. It speaks AMQP 0-9 and has no confirms: a
/// transaction for each message stands for one, which on the wire leaves the message what it is. It has no nack either:
/// a reject does the same for one message.
/// </summary>
sealed class Broker : IDisposable
{
    readonly ConcurrentQueue<string> returned = new ConcurrentQueue<string>();
    IModel publishing;

    internal readonly IConnection Connection;

    internal Broker(string url)
    {
        var at = new Uri(url);
        var login = at.UserInfo.Split(new[] { ':' }, 2);
        var path = at.AbsolutePath.TrimStart('/');
        var factory = new ConnectionFactory
        {
            Protocol = Protocols.AMQP_0_9,
            HostName = at.Host,
            Port = at.Port > 0 ? at.Port : 5672,
            UserName = Uri.UnescapeDataString(login[0]),
            Password = login.Length > 1 ? Uri.UnescapeDataString(login[1]) : "",
            VirtualHost = path.Length == 0 ? "/" : Uri.UnescapeDataString(path),
        };
        Connection = factory.CreateConnection();
        OpenPublishing();
    }

    void OpenPublishing()
    {
        publishing = Connection.CreateModel();
        publishing.TxSelect();
        publishing.BasicReturn += (model, back) => returned.Enqueue(back.ReplyText);
    }

    public void Dispose() => Connection.Close();

    /// <summary>Declares a plan, on a channel of its own since a refusal takes the channel with it.</summary>
    internal void Declare(IEnumerable<JsonObject> plan)
    {
        using (var channel = Connection.CreateModel())
        {
            foreach (var step in plan) Declare(channel, step);
        }
    }

    static void Declare(IModel channel, JsonObject step)
    {
        var name = (string)step["name"];
        switch ((string)step["kind"])
        {
            case "exchange":
                channel.ExchangeDeclare(name, (string)step["type"], false, true, false, false, false, null);
                break;
            case "queue":
                var arguments = Values.ToClient(Values.HeadersFrom(step["arguments"]));
                channel.QueueDeclare(name, false, true, false, false, false, arguments);
                break;
            default:
                channel.QueueBind(name, (string)step["exchange"], (string)step["routingKey"], false, null);
                break;
        }
    }

    internal IBasicProperties Properties() => publishing.CreateBasicProperties();

    /// <summary>Publishes, mandatory (16.4), and knows at the commit that the broker has it.</summary>
    internal void Publish(string exchange, string key, byte[] body, IBasicProperties properties, IDictionary<string, object> headers)
    {
        while (returned.TryDequeue(out _)) { }
        properties.Headers = Values.ToClient(headers);
        publishing.BasicPublish(exchange, key, true, false, properties, body);
        try
        {
            publishing.TxCommit();
        }
        catch (OperationInterruptedException refused) when (refused.ShutdownReason?.ReplyCode == 406)
        {
            // Where a confirm would be a nack, the broker ends the channel of a transaction.
            OpenPublishing();
            throw new Unroutable(key + ": not confirmed");
        }
        if (returned.TryDequeue(out var text)) throw new Unroutable(key + ": " + text);
    }

    /// <summary>Republishes by name with what this peer keeps: content type, an id and reply-to (16.13).</summary>
    internal void Hop(IBasicProperties from, byte[] body, string queue, string id, IDictionary<string, object> headers)
    {
        var properties = Properties();
        properties.DeliveryMode = 2;
        if (id != null) properties.MessageId = id;
        if (from.IsContentTypePresent()) properties.ContentType = from.ContentType;
        if (from.IsReplyToPresent()) properties.ReplyTo = from.ReplyTo;
        Publish("", queue, body, properties, headers);
    }

    /// <summary>How many lie there. The client does not hand on what a declaration says of it: the first message does.</summary>
    internal long Waiting(string queue)
    {
        using (var channel = Connection.CreateModel())
        {
            var first = channel.BasicGet(queue, false);
            if (first == null) return 0;
            channel.BasicReject(first.DeliveryTag, true);
            return first.MessageCount + 1;
        }
    }

    /// <summary>Looks at messages and leaves them.</summary>
    internal List<BasicGetResult> Peek(string queue, int most)
    {
        using (var channel = Connection.CreateModel())
        {
            var seen = new List<BasicGetResult>();
            BasicGetResult got;
            while (seen.Count < most && (got = channel.BasicGet(queue, false)) != null) seen.Add(got);
            foreach (var each in seen) channel.BasicReject(each.DeliveryTag, true);
            return seen;
        }
    }

    /// <summary>Moves failed messages back; those not wanted are held until the pass is over.</summary>
    internal (int Moved, int Declined) Replay(string queue, string source, int most, bool keep, Func<Envelope, bool> wanted)
    {
        using (var channel = Connection.CreateModel())
        {
            var moved = 0;
            var declined = new List<ulong>();
            BasicGetResult got;
            while (moved < most && (got = channel.BasicGet(source, false)) != null)
            {
                var from = got.BasicProperties;
                var arrived = Values.Arrived(from.Headers);
                if (!wanted(Envelope.Read(arrived, got.RoutingKey, Values.MessageId(from))))
                {
                    declined.Add(got.DeliveryTag);
                    continue;
                }
                Stamp(arrived, source, keep);
                Hop(from, got.Body, queue, Values.MessageId(from), arrived);
                channel.BasicAck(got.DeliveryTag, false);
                moved++;
            }
            foreach (var tag in declined) channel.BasicReject(tag, true);
            return (moved, declined.Count);
        }
    }

    /// <summary>A replay's headers: all that were there, the error gone (16.5), and its stamps (16.11).</summary>
    static void Stamp(IDictionary<string, object> headers, string source, bool keep)
    {
        if (!keep)
        {
            headers.Remove(Envelope.Reserved + "error");
            headers[Envelope.Reserved + "attempt"] = 1;
        }
        headers.TryGetValue("acemq-replay-count", out var count);
        headers["acemq-replay-count"] = Values.Count(count) + 1;
        headers["acemq-replayed-from"] = source;
        headers["acemq-replayed-at"] = DateTime.UtcNow.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'", CultureInfo.InvariantCulture);
    }
}
