--- Handling a message once: stores of claims, for the option `idempotency` of a consumer, and for calls of one's own.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local options = require("acemq.options")
local values = require("acemq.values")

local checked = options.text

local idempotency = {}

local Store = {}
Store.__index = Store

local OPTIONS = { name = "text", retention = "duration", timeout = "duration", entries = "number", map_limit = "number",
  statement_timeout = "duration", connections = "number",
  durability = options.one_of({ durable = lib.ACEMQ_DURABLE, nosync = lib.ACEMQ_NOSYNC }) }
local ANSWERS = { "claimed", "duplicate", "in_progress" }

--- Opens a store: "memory:", "lmdb:PATH" or a "postgresql://" URL.
function idempotency.open(where, given)
  local struct, anchors = options.fill("idempotency_options", OPTIONS, given)
  local slot, out = errors.slot(), ffi.new("acemq_idempotency *[1]")
  errors.check(lib.acemq_idempotency_open(checked(where, "where"), struct, out, slot), slot)
  return setmetatable({ handle = ffi.gc(out[0], lib.acemq_idempotency_free), anchors = anchors }, Store)
end

local function handle(self)
  return errors.open(self.handle, "the store")
end

local function timeout_of(timeout)
  return options.duration(timeout or 10000, "timeout")
end

--- Claims `key` for `lease` (default 5 minutes): "claimed" and the token, "duplicate" or "in_progress".
function Store:claim(key, lease, timeout)
  local slot, token, answer = errors.slot(), ffi.new("char[65]"), ffi.new("acemq_claim_answer[1]")
  errors.check(lib.acemq_idempotency_claim(handle(self), checked(key, "key"),
    options.duration(lease or 300000, "lease"), timeout_of(timeout), token, answer, slot), slot)
  local word = ANSWERS[tonumber(answer[0])]
  return word, word == "claimed" and ffi.string(token) or nil
end

--- It was handled. Like the two below raises `fenced` when the claim is somebody else's by now.
function Store:confirm(key, token, timeout)
  local slot = errors.slot()
  errors.check(lib.acemq_idempotency_confirm(handle(self), checked(key, "key"), token, timeout_of(timeout), slot), slot)
end

--- It was not handled: anybody may claim it at once.
function Store:release(key, token, timeout)
  local slot = errors.slot()
  errors.check(lib.acemq_idempotency_release(handle(self), checked(key, "key"), token, timeout_of(timeout), slot), slot)
end

--- The lease ends `lease` from now.
function Store:renew(key, token, lease, timeout)
  local slot = errors.slot()
  errors.check(lib.acemq_idempotency_renew(handle(self), checked(key, "key"), token,
    options.duration(lease or 300000, "lease"), timeout_of(timeout), slot), slot)
end

--- Takes away all entries whose time is over; answers how many.
function Store:purge_expired(timeout)
  local slot, purged = errors.slot(), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_idempotency_purge_expired(handle(self), timeout_of(timeout), purged, slot), slot)
  return values.integer(purged[0])
end

--- How many entries there are.
function Store:size(timeout)
  local slot, size = errors.slot(), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_idempotency_size(handle(self), timeout_of(timeout), size, slot), slot)
  return values.integer(size[0])
end

--- Up to `most` entries (default 1000) in the order of their keys, after the key `after`: key, token, recorded_at,
-- expires_at (ms since 1970), confirmed.
function Store:list(after, most, timeout)
  local slot, out = errors.slot(), ffi.new("acemq_claims *[1]")
  errors.check(lib.acemq_idempotency_list(handle(self), after, most or 1000, timeout_of(timeout), out, slot), slot)
  local claims, view, list = ffi.gc(out[0], lib.acemq_claims_free), ffi.new("acemq_claim_view"), {}
  for index = 0, tonumber(lib.acemq_claims_count(claims)) - 1 do
    errors.check(lib.acemq_claims_get(claims, index, view, slot), slot)
    list[#list + 1] = {
      key = ffi.string(view.key),
      token = ffi.string(view.token),
      recorded_at = values.integer(view.recorded_at),
      expires_at = values.integer(view.expires_at),
      confirmed = view.confirmed == 1,
    }
  end
  return list
end

--- Closes it here; consumers that have it go on. Again is fine.
function Store:close()
  if self.handle ~= nil then
    local pointer = self.handle
    self.handle = nil
    lib.acemq_idempotency_free(ffi.gc(pointer, nil))
  end
end

--- The statements that make the tables of the PostgreSQL stores; their names may be given.
function idempotency.schema(claims_table, outbox_table)
  local slot, out = errors.slot(), ffi.new("char *[1]")
  errors.check(lib.acemq_schema_postgres(claims_table, outbox_table, out, slot), slot)
  local text = ffi.string(out[0])
  lib.acemq_free(out[0])
  return text
end

return idempotency
