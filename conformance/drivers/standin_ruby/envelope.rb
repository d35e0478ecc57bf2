# frozen_string_literal: true

require "securerandom"
require "socket"

module Standin
  # The envelope as the Ruby peer reads and writes it: section 2, and 16.9, 16.10, 16.16.
  Envelope = Struct.new(:id, :type, :version, :correlation, :causation, :attempt, :first_seen, :origin, :error, :claim,
                        :headers, keyword_init: true) do
    def self.fresh(**given)
      id = given[:id] || SecureRandom.uuid
      new(type: "", version: 1, correlation: id, causation: "", attempt: 1, first_seen: now, origin: own_origin,
          error: "", claim: "", headers: {}, **given, id: id)
    end

    # From a delivery. The message-id does not stand in for a missing id, and what has no first-seen is new.
    def self.read(raw, routing_key)
      raw ||= {}
      id = filled(text(raw["x-acemq-id"]), SecureRandom.uuid)
      new(id: id, type: filled(text(raw["x-acemq-type"]), routing_key),
          version: [number(raw["x-acemq-version"], 1), 1].max,
          correlation: filled(text(raw["x-acemq-correlation"]), id), causation: text(raw["x-acemq-causation"]),
          attempt: [number(raw["x-acemq-attempt"], 1), 1].max, first_seen: number(raw["x-acemq-first-seen"], now),
          origin: text(raw["x-acemq-origin"]), error: text(raw["x-acemq-error"]), claim: text(raw["x-acemq-claim"]),
          headers: raw.reject { |name, _| name.start_with?("x-acemq-") })
    end

    def self.text(value)
      value.to_s
    end

    # Any header as an integer; of a float, even a whole one, nothing is made.
    def self.number(value, otherwise)
      return value if value.is_a?(Integer)

      [nil, true, false].include?(value) ? otherwise : Integer(value.to_s, 10)
    rescue ArgumentError
      otherwise
    end

    def self.filled(value, otherwise)
      value.empty? ? otherwise : value
    end

    def self.now
      Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
    end

    def self.own_origin
      "acemq@#{Socket.gethostname}"
    end

    def but(**changes)
      dup.tap { |copy| changes.each { |name, value| copy[name] = value } }
    end

    # All headers. Reserved ones that this peer does not know are gone, its routes among them. The peer takes first-seen
    # through a float, and is one millisecond short once in a thousand; a suite that must repeat cannot have that.
    def written(routing_key)
      all = { "x-acemq-id" => id, "x-acemq-type" => type.empty? ? routing_key : type, "x-acemq-version" => version,
              "x-acemq-correlation" => correlation.empty? ? id : correlation, "x-acemq-attempt" => attempt,
              "x-acemq-first-seen" => first_seen }
      { "causation" => causation, "origin" => origin, "error" => error, "claim" => claim }.each do |name, value|
        all["x-acemq-#{name}"] = value unless value.empty?
      end
      all.merge(headers)
    end
  end
end
