--- The client: one connection that publishes and one that consumes, kept alive.
local bit = require("bit")
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local events = require("acemq.events")
local loop = require("acemq.loop")
local options = require("acemq.options")
local publisher = require("acemq.publisher")
local values = require("acemq.values")

local connection = {}

local Connection = {}
Connection.__index = Connection
connection.methods = Connection

local OPTIONS = {
  name = "text", timeout = "duration", call_timeout = "duration", heartbeat = "duration",
  reconnect_initial = "duration", reconnect_max = "duration", outstanding = "number", publish_timeout = "duration",
  max_body = "number", frame_max = "number", channel_max = "number", credentials_file = "text", user_variable = "text",
  password_variable = "text", max_queued = "number", max_output = "number", max_headers = "number",
  max_header_entries = "number", max_nesting = "number", ca_file = "text", ca_folder = "text",
  certificate_file = "text", key_file = "text", key_password = "text", server_name = "text", verify = "flag",
  keepalive_count = "number", keepalive = "duration", keepalive_interval = "duration", tcp_user_timeout = "duration",
  log_level = options.one_of(events.levels),
}
local KEPT_PUBLISHERS = 64
local OF_BINDING = { on = true, loop = true, credentials = true, codec = true }

local function source_of(given)
  if given.credentials then
    if type(given.credentials) ~= "function" then
      errors.raise("invalid_argument", "option 'credentials' wants a function that answers user and password",
        "credentials")
    end
    return lib.ACEMQ_CREDENTIALS_EVENT
  elseif given.credentials_file then
    return lib.ACEMQ_CREDENTIALS_FILE
  elseif given.user_variable or given.password_variable then
    return lib.ACEMQ_CREDENTIALS_ENVIRONMENT
  end
  return lib.ACEMQ_CREDENTIALS_URL
end

local function wanted_events(given)
  local wanted = bit.lshift(1, lib.ACEMQ_EVENT_CONFIRM)
  if given.credentials then
    wanted = bit.bor(wanted, bit.lshift(1, lib.ACEMQ_EVENT_CREDENTIALS_WANTED))
  end
  for kind, handler in pairs(given.on or {}) do
    if not events.kinds[kind] then
      errors.raise("invalid_argument", ("option 'on' has no kind '%s'"):format(tostring(kind)), "on")
    elseif type(handler) ~= "function" then
      errors.raise("invalid_argument", ("option 'on.%s' is no function"):format(kind), "on")
    end
    wanted = bit.bor(wanted, bit.lshift(1, events.kinds[kind]))
  end
  return wanted
end

local function percent_encoded(text)
  return (text:gsub("[^%w%-%._~]", function(sign)
    return ("%%%02X"):format(sign:byte())
  end))
end

-- Nobody could answer an event while acemq_connect() runs, so that the first time they stand in the URL.
local function with_credentials(url, credentials)
  local user, password = credentials()
  if type(user) ~= "string" or type(password) ~= "string" then
    errors.raise("invalid_argument", "option 'credentials' answered no user and password", "credentials")
  end
  local scheme, rest = url:match("^(amqps?://)(.*)$")
  if not scheme then
    return url
  end
  local place = rest:match("^[^/?]*@(.*)$") or rest
  return ("%s%s:%s@%s"):format(scheme, percent_encoded(user), percent_encoded(password), place)
end

--- Connects and logs in; see docs/lua.md for the options. Raises an error, such as unreachable or login_refused.
function connection.connect(url, given)
  if type(url) ~= "string" then
    errors.raise("invalid_argument", "url is a " .. type(url) .. " and not a string", "url")
  end
  given = given or {}
  local struct, anchors = options.fill("connect_options", OPTIONS, given, OF_BINDING)
  struct.credentials = source_of(given)
  struct.events = wanted_events(given)
  if given.credentials then
    url = with_credentials(url, given.credentials)
  end
  local slot, out = errors.slot(), ffi.new("acemq_connection *[1]")
  errors.check(lib.acemq_connect(options.text(url, "url"), struct, out, slot), slot)
  local self = setmetatable({
    pointer = ffi.gc(out[0], lib.acemq_connection_free),
    on = given.on or {},
    credentials = given.credentials,
    codec = given.codec,
    publish_timeout = struct.publish_timeout,
    loop = given.loop or loop.new(),
    receipts = {},
    waiting_events = {},
    publishers = {},
    kept_publishers = 0,
    consumers = {},
    token = 0,
    anchors = anchors,
  }, Connection)
  self.loop.connections[self] = true
  return self
end

--- The library's handle; raises `closed`.
function Connection:handle()
  return errors.open(self.pointer, "the connection")
end

-- --- events ---

--- Readable while there is an event: for a loop of the program's own, which then calls dispatch().
function Connection:event_fd()
  return self.pointer ~= nil and lib.acemq_connection_event_fd(self.pointer) or -1
end

function Connection:new_token()
  self.token = self.token + 1
  return self.token
end

function Connection:expect(token, receipt)
  self.receipts[token] = receipt
end

local function confirm(self, event)
  local token = tonumber(lib.acemq_event_number(event))
  local receipt = self.receipts[token]
  if receipt then
    self.receipts[token] = nil
    publisher.settle(receipt, errors.read(lib.acemq_event_error(event)))
  end
end

local function give_credentials(self)
  local user, password = self.credentials()
  local slot = errors.slot()
  if lib.acemq_connection_give_credentials(self.pointer, user, password, slot) ~= 0 then
    errors.take(slot) -- the attempt that asked has ended meanwhile; the next one asks again
  end
end

local function abandon_receipts(self)
  for token, receipt in pairs(self.receipts) do
    self.receipts[token] = nil
    publisher.settle(receipt, errors.new("unknown_outcome", "the connection was closed before a confirm came"))
  end
end

local function take_events(self)
  local slot, out = errors.slot(), ffi.new("acemq_event *[1]")
  while self.pointer ~= nil do
    local status = lib.acemq_connection_next_event(self.pointer, 0, out, slot)
    if status ~= 0 then
      local err = errors.take(slot)
      if err.name == "closed" then
        abandon_receipts(self)
      end
      return
    end
    local event = ffi.gc(out[0], lib.acemq_event_free)
    local kind = tonumber(lib.acemq_event_get_kind(event))
    if kind == lib.ACEMQ_EVENT_CONFIRM then
      confirm(self, event)
    elseif kind == lib.ACEMQ_EVENT_CREDENTIALS_WANTED and self.credentials then
      give_credentials(self)
    else
      self.waiting_events[#self.waiting_events + 1] = events.read(event)
    end
    lib.acemq_event_free(ffi.gc(event, nil))
  end
end

--- Takes what has happened and tells the functions of the option `on`. Everything that waits does so by itself. What
-- such a function raises is raised from here.
function Connection:dispatch()
  take_events(self)
  if self.dispatching then
    return
  end
  self.dispatching = true
  local fine, raised = true, nil
  while fine and #self.waiting_events > 0 do
    local event = table.remove(self.waiting_events, 1)
    local handler = self.on[event.kind]
    if handler then
      fine, raised = pcall(handler, event)
    end
  end
  self.dispatching = false
  if not fine then
    error(raised, 0)
  end
end

-- --- the loop ---

--- Runs the loop of this connection: see Loop:run().
function Connection:run(given)
  return self.loop:run(given)
end

--- Ends run().
function Connection:stop()
  self.loop:stop()
end

--- Starts a coroutine in the loop of this connection.
function Connection:spawn(body, ...)
  return self.loop:spawn(body, ...)
end

--- Waits for `duration`, events told meanwhile.
function Connection:sleep(duration)
  loop.wait(self, {}, loop.deadline(duration))
end

-- --- publishing ---

--- A publisher. `given`: exchange, routing_key, timeout, unconfirmed, optional, window (under way at once, default
-- 256), codec.
function Connection:publisher(given)
  return publisher.new(self, given)
end

--- One message to a queue, or with the option `exchange` to that exchange with `queue` as routing key; waits for the
-- confirm. `given`: the options of a message, timeout, exchange.
function Connection:publish(queue, payload, given)
  local exchange, send = given and given.exchange or "", {}
  if exchange == "" and queue == "" then
    errors.raise("invalid_argument", "queue is empty", "queue")
  end
  for name, value in pairs(given or {}) do
    send[name] = value
  end
  send.exchange, send.routing_key = nil, queue
  local one = self.publishers[exchange]
  if not one then
    if self.kept_publishers >= KEPT_PUBLISHERS then -- of exchanges that are many, none is kept for long
      self.publishers, self.kept_publishers = {}, 0
    end
    self.kept_publishers = self.kept_publishers + 1
    one = publisher.new(self, { exchange = exchange ~= "" and exchange or nil, codec = self.codec })
    self.publishers[exchange] = one
  end
  one:send(payload, send)
end

--- Publishes are refused until resume_publishing().
function Connection:pause_publishing()
  local slot = errors.slot()
  errors.check(lib.acemq_connection_pause_publishing(self:handle(), slot), slot)
end

function Connection:resume_publishing()
  local slot = errors.slot()
  errors.check(lib.acemq_connection_resume_publishing(self:handle(), slot), slot)
end

function Connection:publishing_paused()
  return lib.acemq_connection_publishing_paused(self:handle()) == 1
end

-- --- state ---

--- "open", "blocked", "reconnecting", "failed" or "closed", and why it is not open.
function Connection:state()
  if self.pointer == nil then
    return "closed"
  end
  local reason = errors.slot()
  local state = tonumber(lib.acemq_connection_get_state(self.pointer, reason))
  local why = errors.read(reason[0])
  lib.acemq_error_free(reason[0])
  return events.states[state], why
end

--- "up", "degraded" or "down", and a table of what is behind it. Answers at once.
function Connection:health()
  if self.pointer == nil then
    return "down", { status = "down", reason = "closed" }
  end
  local slot, health, out = errors.slot(), ffi.new("acemq_health[1]"), ffi.new("char *[1]")
  errors.check(lib.acemq_health_check(self.pointer, health, out, slot), slot)
  local document = require("acemq.json").decode(ffi.string(out[0]))
  lib.acemq_free(out[0])
  return ffi.string(lib.acemq_health_name(health[0])), document
end

-- --- the end ---

local function left_of(work)
  local left = {}
  for index = 0, tonumber(lib.acemq_work_count(work)) - 1 do
    left[#left + 1] = {
      queue = ffi.string(lib.acemq_work_queue(work, index)),
      id = ffi.string(lib.acemq_work_id(work, index)),
      running = values.integer(lib.acemq_work_running(work, index)),
    }
  end
  lib.acemq_work_free(work)
  return left
end
connection.left_of = left_of

--- Closes: publishes under way are awaited, and what is unsettled goes back, within `timeout` (default 5 s). Answers
-- what was left, as in the error `timeout`, after which it is closed all the same. Again is fine.
function Connection:close(timeout)
  if self.pointer == nil then
    return {}
  end
  local slot, left = errors.slot(), ffi.new("acemq_work *[1]")
  local milliseconds = options.duration(timeout or 5000, "timeout")
  local status = lib.acemq_connection_close_naming(self.pointer, milliseconds, left, slot)
  take_events(self)
  abandon_receipts(self)
  local pointer = self.pointer
  self.pointer = nil
  self.loop.connections[self] = nil
  for consumer in pairs(self.consumers) do
    consumer:ended()
  end
  lib.acemq_connection_free(ffi.gc(pointer, nil))
  local in_hand = left_of(left[0])
  if status ~= 0 then
    local err = errors.take(slot)
    if err.name ~= "closed" then
      err.left = in_hand
      error(err, 0)
    end
  end
  return in_hand
end

return connection
