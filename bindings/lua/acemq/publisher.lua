--- Publishing: confirmed, persistent and mandatory unless asked otherwise, with many under way at once.
local ffi = require("ffi")
local lib = require("acemq.library")
local errors = require("acemq.errors")
local loop = require("acemq.loop")
local message = require("acemq.message")
local options = require("acemq.options")

local publisher = {}

local Publisher = {}
Publisher.__index = Publisher

local Receipt = {}
Receipt.__index = Receipt

local OF_PUBLISHER = { exchange = "text", routing_key = "text", timeout = "duration", unconfirmed = "flag",
  optional = "flag" }
local OF_BINDING = { window = true, codec = true }
local OF_SEND = { routing_key = true, timeout = true }
local WINDOW = 256

local function create(connection, given)
  given = given or {}
  local struct, anchors = options.fill("publisher_options", OF_PUBLISHER, given, OF_BINDING)
  local slot, out = errors.slot(), ffi.new("acemq_publisher *[1]")
  errors.check(lib.acemq_publisher_new(connection:handle(), struct, out, slot), slot)
  local window = given.window or WINDOW
  if type(window) ~= "number" or not (window >= 1 and window <= 65535) then
    errors.raise("limit", "option 'window' is not within 1 to 65535", "window", 65535)
  end
  return setmetatable({
    connection = connection,
    handle = ffi.gc(out[0], lib.acemq_publisher_free),
    window = window,
    codec = given.codec,
    timeout = given.timeout,
    in_flight = 0,
    failed = {},
    anchors = anchors,
  }, Publisher)
end
publisher.new = create

local function settled(self, failure)
  local owner = self.publisher
  owner.in_flight = owner.in_flight - 1
  self.done, self.error = true, failure
  if failure and not self.awaited then
    owner.failed[self] = failure
  end
end

--- How a publish of this publisher ends; for the connection, which has the events.
function publisher.settle(receipt, failure)
  settled(receipt, failure)
end

-- The library would hold the thread while the client's own window is full; here it yields, and Ctrl-C is heard. Answers
-- what is left of the timeout, 0 where the library's default holds.
local function wait_for_room(self, built, timeout)
  local size = lib.acemq_message_body(built).length
  local function has_room()
    return self.handle == nil or lib.acemq_publisher_has_room(self.handle, size) == 1
  end
  if has_room() then
    return timeout
  end
  local deadline = loop.deadline(timeout > 0 and timeout or self.connection.publish_timeout)
  repeat -- room opens as confirms come, which are events; the rest is seen when it is looked for
    local opened = has_room()
    if not opened then
      loop.wait(self.connection, { done = has_room }, math.min(deadline, loop.now() + 100))
    end
  until opened or loop.now() >= deadline
  return deadline == math.huge and timeout or math.max(1, math.floor(deadline - loop.now()))
end

--- One message, without waiting for its confirm: answers a receipt with `done`, `error` and wait(). It waits for room
-- while `window` of them are under way. `given`: the options of a message, routing_key, timeout.
function Publisher:submit(payload, given)
  given = given or {}
  errors.open(self.handle, "the publisher")
  local built = message.build(payload, given, self.codec, OF_SEND)
  local connection = self.connection
  if self.in_flight >= self.window then
    loop.wait(connection, { done = function()
      return self.in_flight < self.window or self.handle == nil
    end }, math.huge)
    errors.open(self.handle, "the publisher")
  end
  local token, slot = connection:new_token(), errors.slot()
  local timeout = wait_for_room(self, built, options.duration(given.timeout or self.timeout or 0, "timeout"))
  local handle = errors.open(self.handle, "the publisher")
  errors.check(lib.acemq_publisher_submit(handle, options.text(given.routing_key, "routing_key"), built, timeout, token,
    slot), slot)
  local receipt = setmetatable({ publisher = self, done = false }, Receipt)
  self.in_flight = self.in_flight + 1
  connection:expect(token, receipt)
  return receipt
end

local function await(self, timeout)
  self.awaited = true
  self.publisher.failed[self] = nil
  if not self.done then
    loop.wait(self.publisher.connection, { done = function() return self.done end }, loop.deadline(timeout))
  end
end

--- Waits for the end of the publish: true; false when it is still under way after `timeout`. Raises what it failed
-- with.
function Receipt:wait(timeout)
  await(self, timeout)
  if self.error then
    error(self.error, 0)
  end
  return self.done
end

--- One message, and wait for its confirm. Raises how it ended otherwise: unroutable, nacked, refused, unknown_outcome.
function Publisher:send(payload, given)
  local receipt = self:submit(payload, given)
  receipt:wait()
end

--- Waits until nothing is under way. Answers the errors of submitted messages whose receipts nobody waited for, since
-- the last flush. Raises `timeout`.
function Publisher:flush(timeout)
  local idle = loop.wait(self.connection, { done = function() return self.in_flight == 0 end }, loop.deadline(timeout))
  if not idle then
    errors.raise("timeout", ("%d messages are still under way"):format(self.in_flight))
  end
  local failed = {}
  for _, failure in pairs(self.failed) do
    failed[#failed + 1] = failure
  end
  self.failed = {}
  return failed
end

--- A list of payloads: everything goes out, as the window opens, before anything is awaited. Not atomic. Answers how
-- many were confirmed, and a table from the index to the error of those that were not.
function Publisher:send_batch(payloads, given)
  local receipts, failures, confirmed = {}, {}, 0
  for index, payload in ipairs(payloads) do
    local fine, receipt = pcall(self.submit, self, payload, given)
    if fine then
      receipt.awaited = true
      receipts[index] = receipt
    else
      failures[index] = receipt
    end
  end
  for index in ipairs(payloads) do
    local receipt = receipts[index]
    if receipt then
      await(receipt)
      failures[index] = receipt.error
      confirmed = confirmed + (receipt.error and 0 or 1)
    end
  end
  return confirmed, failures
end

--- Ends it; what was submitted goes on.
function Publisher:close()
  local handle = self.handle
  if handle ~= nil then
    self.handle = nil
    lib.acemq_publisher_free(ffi.gc(handle, nil))
  end
end

return publisher
