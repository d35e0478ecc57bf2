# frozen_string_literal: true

# The module that SWIG makes for Ruby, spoken to in JSON lines (docs/conformance.md).

require "json"
require "acemq"
require_relative "protocol"
require_relative "rules"
require_relative "client"

VERBS = Rules::VERBS.merge(Client::VERBS)

def say(line)
  puts JSON.generate(line)
  $stdout.flush
end

def answer(name, given)
  known = VERBS[name]
  return { unsupported: "the verb #{name} is not known here" } unless known

  strangers = given.keys - known.split
  return { unsupported: "the parameter #{strangers.first} is not known here" } unless strangers.empty?

  { ok: (Rules::VERBS.key?(name) ? Rules : Client).public_send(name.tr(".", "_"), given) }
rescue Protocol::Unsupported => error
  { unsupported: error.message }
rescue Acemq::Error => error
  { error: { name: error.name, message: error.message } }
rescue ArgumentError, KeyError, RangeError, TypeError => error
  { error: { name: "invalid_argument", message: error.message } }
end

$stdin.set_encoding("UTF-8")
$stdout.set_encoding("UTF-8")
say({ hello: { protocol: 1, name: "swig_ruby", version: Acemq.version, verbs: VERBS.keys.sort } })
$stdin.each_line do |line|
  request = JSON.parse(line)
  say({ id: request["id"] }.merge(answer(request["do"], request["with"] || {})))
end
Client.close({})
