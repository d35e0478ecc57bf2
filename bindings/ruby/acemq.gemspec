# frozen_string_literal: true

require_relative "lib/acemq/version"

Gem::Specification.new do |gem|
  gem.name = "acemq"
  gem.version = AceMQ::VERSION
  gem.summary = "Messages on RabbitMQ that survive what happens to them"
  gem.description = "Publishing and consuming with retries on a ladder in the broker, dead letters, replay, groups, " \
                    "order by key, idempotency and an outbox, on the C library libacemq."
  gem.authors = ["The AceMQ authors"]
  gem.license = "Apache-2.0"
  gem.required_ruby_version = ">= 3.0"
  gem.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "lib/acemq/native/libacemq.so*", "README.md", "LICENSE", "examples/*"] }
  # With the library inside it is for machines of this kind alone.
  gem.platform = Gem::Platform.local unless Dir[File.join(__dir__, "lib/acemq/native/libacemq.so*")].empty?
  gem.add_runtime_dependency "ffi", ">= 1.15", "< 2"
end
