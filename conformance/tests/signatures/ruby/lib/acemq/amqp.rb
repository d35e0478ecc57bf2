# frozen_string_literal: true

# What peer_ruby calls of its library, as declarations that do nothing.
module AceMQ
  module AMQP
    VERSION = "0"

    # What a handler says of a message.
    class Ack
      def self.accept = raise(NotImplementedError)
      def self.retry(_error = nil) = raise(NotImplementedError)
      def self.reject(_error = nil) = raise(NotImplementedError)
    end

    # Names that are derived from a queue's.
    module Naming
      def self.dead_letter_queue(_queue) = raise(NotImplementedError)
      def self.parked_queue(_queue) = raise(NotImplementedError)
    end

    # How often, and when.
    class RetryPolicy
      def self.none = raise(NotImplementedError)
      def self.fixed(_attempts, _delay) = raise(NotImplementedError)
      def self.exponential(_attempts, _initial, _longest) = raise(NotImplementedError)
    end

    # A connection with its publishers and consumers.
    class Connection
      def self.open(_url, codec:) = raise(NotImplementedError)
    end

    # Beyond publishing and consuming.
    module Patterns
      def self.replay(_connection, from:, routing_key:, limit:) = raise(NotImplementedError)
    end
  end
end
