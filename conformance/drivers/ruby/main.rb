# frozen_string_literal: true

# The driver of the binding for Ruby: JSON lines in, JSON lines out, as docs/conformance.md has them.

require "acemq"
require "json"
require_relative "describe"
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
rescue Describe::Unsupported => e
  { unsupported: e.message }
rescue AceMQ::Error => e
  { error: { name: e.name, message: e.message } }
rescue ArgumentError, KeyError, RangeError, TypeError => e
  { error: { name: "invalid_argument", message: e.message } }
end

$stdin.set_encoding("UTF-8")
$stdout.set_encoding("UTF-8")
say({ hello: { protocol: 1, name: "ruby", version: AceMQ.library_version, verbs: VERBS.keys.sort } })
$stdin.each_line do |line|
  request = JSON.parse(line)
  say({ id: request["id"] }.merge(answer(request["do"], request["with"] || {})))
end
Client.close({})
