--- Looking at queues, and bringing dead letters and parked messages home.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local options = require("acemq.options")
local received = require("acemq.received")
local values = require("acemq.values")

local text = options.text

local replay = {}

local SOURCES = { dead_letters = lib.ACEMQ_DEAD_LETTERS, parked = lib.ACEMQ_PARKED_LETTERS }
local source_of = options.one_of(SOURCES)

local function timeout_of(timeout)
  return options.duration(timeout or 30000, "timeout")
end

--- How many wait among the dead letters of a queue, or with "parked" in its parking lot.
function replay.pending(mq, queue, source, timeout)
  local slot, pending = errors.slot(), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_replay_pending(mq:handle(), text(queue, "queue"),
    source_of(source or "dead_letters", "source"), timeout_of(timeout), pending, slot), slot)
  return values.integer(pending[0])
end

-- Runs `ask` of the application inside the library's call, in this thread; an error must not pass through that, so it
-- fires a token that ends the pass, and is kept.
local function guarded(ask, cancel, kept)
  return function(...)
    if kept.raised then
      return 0
    end
    local fine, answer = pcall(ask, ...)
    if not fine then
      kept.raised = { answer }
      lib.acemq_cancel_fire(cancel)
      return 0
    end
    return answer and 1 or 0
  end
end

local function run(mq, queue, struct, kept)
  local slot, result = errors.slot(), ffi.new("acemq_replay_result")
  result.size = ffi.sizeof(result)
  local status = lib.acemq_replay(mq:handle(), text(queue, "queue"), struct, result, slot)
  local moved = { replayed = values.integer(result.replayed), declined = values.integer(result.declined),
    left = values.integer(result.left) }
  local err = status ~= 0 and errors.take(slot) or nil
  if kept.raised then
    error(kept.raised[1], 0)
  elseif err then
    err.result = moved
    error(err, 0)
  end
  return moved
end
jit.off(run)

local function filter_callback(filter, cancel, kept)
  local ask = guarded(function(delivery)
    local message = received.borrow(ffi.cast("acemq_delivery *", delivery))
    message.body = message.payload
    local answer = filter(message)
    message:release()
    return answer
  end, cancel, kept)
  return ffi.cast("acemq_replay_filter", function(delivery)
    return ask(delivery)
  end)
end

local function progress_callback(progress, cancel, kept)
  local ask = guarded(function(replayed, declined, total)
    progress(values.integer(replayed), values.integer(declined), values.integer(total))
  end, cancel, kept)
  return ffi.cast("acemq_replay_progress", function(replayed, declined, total)
    ask(replayed, declined, total)
  end)
end

local OPTIONS = { id = "text", max = "number", timeout = "duration", acknowledgement_limit = "duration",
  source = source_of, keep_attempts = "flag", dry_run = "flag" }

--- Moves messages back to `queue`. `given`: source ("dead_letters" or "parked"), id, max, filter (a function of the
-- message, whose body is its bytes), progress (of replayed, declined, total), keep_attempts, dry_run, timeout,
-- acknowledgement_limit. Answers replayed, declined and left; an error has them as `result`.
function replay.run(mq, queue, given)
  given = given or {}
  if given.filter ~= nil and type(given.filter) ~= "function" then
    errors.raise("invalid_argument", "option 'filter' wants a function and has a " .. type(given.filter), "filter")
  end
  local struct, anchors = options.fill("replay_options", OPTIONS, given, { filter = true, progress = true })
  local slot, token, kept = errors.slot(), ffi.new("acemq_cancel *[1]"), {}
  errors.check(lib.acemq_cancel_new(token, slot), slot)
  local cancel = ffi.gc(token[0], lib.acemq_cancel_free)
  struct.cancel = cancel
  local callbacks = {}
  if given.filter then
    callbacks[1] = filter_callback(given.filter, cancel, kept)
    struct.filter = callbacks[1]
  end
  if given.progress then
    callbacks[#callbacks + 1] = progress_callback(given.progress, cancel, kept)
    struct.progress = callbacks[#callbacks]
  end
  local fine, moved = pcall(run, mq, queue, struct, kept)
  for _, callback in ipairs(callbacks) do
    callback:free()
  end
  anchors[1] = nil
  if not fine then
    error(moved, 0)
  end
  return moved
end

--- Messages ready in a queue, and its consumers.
function replay.count(mq, queue, timeout)
  local slot, ready, consumers = errors.slot(), ffi.new("uint64_t[1]"), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_queue_count(mq:handle(), text(queue, "queue"), timeout_of(timeout), ready, consumers,
    slot), slot)
  return values.integer(ready[0]), values.integer(consumers[0])
end

--- Throws the ready messages of a queue away; answers how many.
function replay.purge(mq, queue, timeout)
  local slot, messages = errors.slot(), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_queue_purge(mq:handle(), text(queue, "queue"), timeout_of(timeout), messages, slot), slot)
  return values.integer(messages[0])
end

--- Deletes a queue with all that lies in it; answers how many that were. One that does not exist is fine.
function replay.delete(mq, queue, timeout)
  local slot, messages = errors.slot(), ffi.new("uint64_t[1]")
  errors.check(lib.acemq_queue_delete(mq:handle(), text(queue, "queue"), timeout_of(timeout), messages, slot), slot)
  return values.integer(messages[0])
end

-- --- browsing ---

local Browser = {}
Browser.__index = Browser

--- The next message, or nil at the queue's end. Its body is its bytes.
function Browser:next()
  local slot, out = errors.slot(), ffi.new("const acemq_delivery *[1]")
  errors.check(lib.acemq_browser_next(errors.open(self.pointer, "the browser"), out, slot), slot)
  if out[0] == nil then
    return nil
  end
  local message = received.borrow(ffi.cast("acemq_delivery *", out[0]))
  message.body = message.payload
  self.seen[#self.seen + 1] = message
  return message
end

--- Iterates: `for message in browser:messages() do`.
function Browser:messages()
  return function()
    return self:next()
  end
end

--- Takes the message that was read last off the queue for good.
function Browser:remove()
  local slot = errors.slot()
  errors.check(lib.acemq_browser_remove(errors.open(self.pointer, "the browser"), slot), slot)
end

--- Puts back what was not removed. Again is fine.
function Browser:close()
  local pointer = self.pointer
  if pointer ~= nil then
    self.pointer = nil
    for _, message in ipairs(self.seen) do
      message:release()
    end
    lib.acemq_browser_free(ffi.gc(pointer, nil))
  end
end

--- Looks through a queue from its head. `given`: max (held at most, default 10 000), timeout, force (a quorum queue
-- too).
function replay.browse(mq, queue, given)
  local struct = options.fill("browser_options", { max = "number", timeout = "duration", force = "flag" }, given)
  local slot, out = errors.slot(), ffi.new("acemq_browser *[1]")
  errors.check(lib.acemq_browser_open(mq:handle(), text(queue, "queue"), struct, out, slot), slot)
  return setmetatable({ pointer = ffi.gc(out[0], lib.acemq_browser_free), seen = {} }, Browser)
end

return replay
