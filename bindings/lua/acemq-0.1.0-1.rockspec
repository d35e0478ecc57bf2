rockspec_format = "3.0"
package = "acemq"
version = "0.1.0-1"
source = { url = "file://." }
description = {
  summary = "Messages on RabbitMQ that survive what happens to them",
  detailed = "libacemq for LuaJIT: confirmed publishing, retries, dead letters, replay, groups, order, idempotency and the outbox.",
  license = "Apache-2.0",
}
dependencies = { "lua == 5.1" }
build = {
  type = "builtin",
  modules = {
    ["acemq"] = "acemq/init.lua",
    ["acemq.codec"] = "acemq/codec.lua",
    ["acemq.connection"] = "acemq/connection.lua",
    ["acemq.consumer"] = "acemq/consumer.lua",
    ["acemq.declared_functions"] = "acemq/declared_functions.lua",
    ["acemq.declared_types"] = "acemq/declared_types.lua",
    ["acemq.errors"] = "acemq/errors.lua",
    ["acemq.events"] = "acemq/events.lua",
    ["acemq.frames"] = "acemq/frames.lua",
    ["acemq.idempotency"] = "acemq/idempotency.lua",
    ["acemq.json"] = "acemq/json.lua",
    ["acemq.library"] = "acemq/library.lua",
    ["acemq.loop"] = "acemq/loop.lua",
    ["acemq.message"] = "acemq/message.lua",
    ["acemq.msgpack"] = "acemq/msgpack.lua",
    ["acemq.names"] = "acemq/names.lua",
    ["acemq.options"] = "acemq/options.lua",
    ["acemq.ordered"] = "acemq/ordered.lua",
    ["acemq.outbox"] = "acemq/outbox.lua",
    ["acemq.policy"] = "acemq/policy.lua",
    ["acemq.publisher"] = "acemq/publisher.lua",
    ["acemq.received"] = "acemq/received.lua",
    ["acemq.replay"] = "acemq/replay.lua",
    ["acemq.topology"] = "acemq/topology.lua",
    ["acemq.values"] = "acemq/values.lua",
  },
}
