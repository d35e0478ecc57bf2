# frozen_string_literal: true

require "json"

module Standin
  # One run of a consumer, deciding and settling as the Ruby peer does: section 6, 16.3, 16.7, 16.13 and 16.15.
  class Consumer
    CODECS = %w[bytes json text].freeze
    COUNTERS = %w[acknowledged rejected retried deadLettered parked duplicates].freeze

    def initialize(broker, asked)
      @broker = broker
      @queue = asked["queue"]
      @policy = Policies.parse(asked["retry"])
      @codec = asked["codec"] || "bytes"
      @script = asked["script"] || {}
      @until = asked["until"] || {}
      @prefetch = asked["prefetch"] || 20
      @seen = Hash.new(0)
      @deliveries = []
      @counters = COUNTERS.to_h { |name| [name, 0] }
      @arrived = Thread::Queue.new
      @rungs_seen = {}
    end

    # Declares, subscribes, handles as told, and closes.
    def run
      @ends_at = clock + ((@until["timeout"] || 10_000) / 1000.0)
      @broker.declare(Plans.consumer(@queue, @policy))
      @channel = @broker.session.create_channel
      @channel.prefetch(@prefetch)
      subscription = Bunny::Consumer.new(@channel, @queue, @channel.generate_consumer_tag, false)
      subscription.on_delivery { |info, properties, body| @arrived << Delivery.new(info, properties, body) }
      @channel.basic_consume_with(subscription)
      work
      @channel.basic_cancel(subscription.consumer_tag)
      @channel.nack(@arrived.pop.tag, false, true) until @arrived.empty?
      { "deliveries" => @deliveries, "counters" => @counters }
    ensure
      @channel.close if @channel&.open? && !@broker.lost?
    end

    private

    def clock
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # Takes one message after the other, as one worker does, until the end is reached.
    def work
      wanted = @until["deliveries"]
      while wanted.nil? || @deliveries.size < wanted
        delivery = next_delivery or return
        handle(delivery)
      end
    end

    # The next message, or nil when nothing comes for so long or the time is over.
    def next_delivery
      gives_up_at = [@ends_at, @until["idle"] ? clock + (@until["idle"] / 1000.0) : @ends_at].min
      while clock < gives_up_at
        return @arrived.pop unless @arrived.empty?
        raise IOError, "the client hears nothing more" if @broker.lost?

        sleep 0.002
      end
    end

    def handle(delivery)
      envelope = Envelope.read(delivery.headers, delivery.key)
      begin
        decode(delivery.body)
      rescue JSON::ParserError, EncodingError => e
        @counters["rejected"] += 1
        return set_aside("parked", delivery, envelope, "could not be decoded: #{e.message}")
      end
      entry = entry_for(envelope.id)
      @deliveries << Values.message_for(delivery.key, delivery.properties, delivery.body).merge(
        "outcome" => entry, "routingKey" => delivery.key, "redelivered" => delivery.info.redelivered?
      )
      settle(delivery, envelope, *entry.split(": ", 2))
    rescue Unroutable
      # As in the peer: what cannot be moved is left, and comes back when the channel closes.
    end

    def decode(body)
      JSON.parse(body) if @codec == "json"
      raise EncodingError, "not UTF-8" if @codec == "text" && !Values.utf8(body).valid_encoding?
    end

    # What the script says about this delivery.
    def entry_for(id)
      entries = @script[id] || @script["*"] || ["accept"]
      turn = @seen[id]
      @seen[id] += 1
      entries[[turn, entries.size - 1].min]
    end

    def settle(delivery, envelope, verb, why = nil)
      return acknowledge(delivery) if verb == "accept"

      @counters["rejected"] += 1
      why ||= "no reason given"
      case verb
      when "park" then set_aside("parked", delivery, envelope, "parked by the handler: #{why}")
      when "reject" then set_aside("dlq", delivery, envelope, "rejected by the handler: #{why}")
      else retry_or_give_up(delivery, envelope, why)
      end
    end

    def acknowledge(delivery)
      @counters["acknowledged"] += 1
      @channel.ack(delivery.tag)
    end

    def retry_or_give_up(delivery, envelope, why)
      age = (Envelope.now - envelope.first_seen) / 1000.0
      if @policy.gives_up?(envelope.attempt, age)
        return set_aside("dlq", delivery, envelope, "#{gave_up(envelope)}: #{why}")
      end

      @counters["retried"] += 1
      again(delivery, envelope.but(attempt: envelope.attempt + 1), @policy.wait_after(envelope.attempt))
    end

    def gave_up(envelope)
      return "gave up after #{@policy.attempts} attempts" if envelope.attempt >= @policy.attempts

      "gave up on a message older than #{@policy.age} seconds"
    end

    # To its rung when there is one, or waits here and puts it back.
    def again(delivery, envelope, wait)
      rung = @policy.rung_for(@queue, wait)
      unless rung && (@rungs_seen[rung] ||= @broker.queue?(rung))
        rung = @queue
        @ends_at = clock if @deliveries.size == @until["deliveries"]
        sleep [@policy.jittered(wait), [@ends_at - clock, 0].max].min
      end
      @broker.hop(delivery, rung, envelope)
      @channel.ack(delivery.tag)
    end

    def set_aside(suffix, delivery, envelope, why)
      @counters[suffix == "parked" ? "parked" : "deadLettered"] += 1
      @broker.hop(delivery, "#{@queue}.#{suffix}", envelope.but(error: why))
      @channel.ack(delivery.tag)
    end
  end
end
