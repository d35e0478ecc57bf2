--- A loop over poll(2): coroutines that wait for messages, confirms and time, all in one thread.
--
-- What waits in this library (next, send, sleep …) yields inside a coroutine of spawn(), and blocks anywhere else.
local ffi = require("ffi")
local errors = require("acemq.errors")
local options = require("acemq.options")

ffi.cdef([[
typedef struct acemq_lua_pollfd { int fd; short events; short revents; } acemq_lua_pollfd;
int acemq_lua_poll(acemq_lua_pollfd *descriptors, unsigned long count, int timeout) __asm__("poll");
typedef struct acemq_lua_timespec { long seconds; long nanoseconds; } acemq_lua_timespec;
int acemq_lua_clock_gettime(int clock, acemq_lua_timespec *time) __asm__("clock_gettime");
]])

local POLLIN, MONOTONIC, EINTR = 1, 1, 4
local TURN = 32 -- messages that one coroutine handles before the others have their turn
local LONGEST = 1000 -- ms of one poll: a Ctrl-C while nothing is due is noticed by then
local timespec = ffi.new("acemq_lua_timespec")

local Loop = {}
Loop.__index = Loop
local loop = {}

-- The coroutines of loops. No values: a weak table that held their loops would hold all that these hold.
local is_task = setmetatable({}, { __mode = "k" })

--- Milliseconds that only grow.
function loop.now()
  ffi.C.acemq_lua_clock_gettime(MONOTONIC, timespec)
  return tonumber(timespec.seconds) * 1000 + tonumber(timespec.nanoseconds) / 1e6
end

--- When `timeout` (milliseconds, a duration, nil or math.huge: never) is over.
function loop.deadline(timeout)
  if timeout == nil then
    return math.huge
  end
  local milliseconds = tonumber(options.duration(timeout, "timeout"))
  if milliseconds < 0 then
    errors.raise("invalid_argument", "a timeout is at least 0", "timeout")
  end
  return milliseconds >= 2 ^ 62 and math.huge or loop.now() + milliseconds
end

local function poll(descriptors, deadline)
  local count = #descriptors
  local set = ffi.new("acemq_lua_pollfd[?]", count + 1)
  for index = 1, count do
    set[index - 1].fd, set[index - 1].events = descriptors[index], POLLIN
  end
  local wait = math.max(0, math.min(math.ceil(deadline - loop.now()), LONGEST))
  local ready = ffi.C.acemq_lua_poll(set, count, wait)
  if ready < 0 and ffi.errno() ~= EINTR then
    errors.raise("system", "poll failed with the error number " .. ffi.errno())
  end
  local readable = {}
  for index = 1, ready > 0 and count or 0 do
    if set[index - 1].revents ~= 0 then
      readable[descriptors[index]] = true
    end
  end
  return readable
end

local function satisfied(request, readable)
  return (request.fd and readable[request.fd]) or (request.done and request.done())
end

--- Waits until `request.fd` is readable, `request.done()` holds, or `deadline` is over: then false. `connection`'s
-- events are told meanwhile.
function loop.wait(connection, request, deadline)
  local co = coroutine.running()
  request.deadline = deadline
  if co and is_task[co] then
    return coroutine.yield(request)
  end
  while true do
    if request.done and request.done() then
      return true
    end
    local readable = poll({ connection:event_fd(), request.fd }, deadline)
    connection:dispatch()
    if satisfied(request, readable) then
      return true
    elseif loop.now() >= deadline then
      return false
    end
  end
end

--- A loop of its own, for several connections: acemq.connect(url, {loop = loop}).
function loop.new()
  return setmetatable({ tasks = {}, connections = {}, stopped = false, handled = 0, wanted = 0, last = 0 }, Loop)
end

local NOTHING_TO_WAIT_FOR = function()
  return true
end

--- Starts a coroutine that runs while run() does. `what` follows as its arguments.
function Loop:spawn(body, ...)
  local arguments, count = { ... }, select("#", ...)
  local task = { request = { done = NOTHING_TO_WAIT_FOR, deadline = math.huge } }
  task.co = coroutine.create(function()
    return body(unpack(arguments, 1, count))
  end)
  is_task[task.co] = true
  self.tasks[#self.tasks + 1] = task
  return task
end

--- Waits without holding the loop up; outside a coroutine of it, it blocks.
function Loop:sleep(duration)
  loop.wait({ event_fd = function() return -1 end, dispatch = function() end }, {}, loop.deadline(duration))
end

--- Waits until a file descriptor of the program's own is readable: true; false when the time is over.
function Loop:readable(fd, timeout)
  return loop.wait({ event_fd = function() return -1 end, dispatch = function() end }, { fd = fd },
    loop.deadline(timeout))
end

--- Ends run() as soon as the coroutine that runs yields.
function Loop:stop()
  self.stopped = true
end

local function is_over(self)
  return self.stopped or self.handled >= self.wanted
end

--- Told by consumers, inside a coroutine of this loop: a message was handled.
function Loop:count_message()
  self.handled = self.handled + 1
  self.last = loop.now()
  if is_over(self) or self.handled % TURN == 0 then
    coroutine.yield({ done = NOTHING_TO_WAIT_FOR, deadline = math.huge })
  end
end

local function resume(self, task, answer)
  task.request = nil
  local fine, request = coroutine.resume(task.co, answer)
  if coroutine.status(task.co) == "dead" then
    task.ended = true
    if not fine then
      error(request, 0)
    end
  else
    -- Who yields by itself lets the others have their turn.
    task.request = type(request) == "table" and request or { done = NOTHING_TO_WAIT_FOR, deadline = math.huge }
  end
  return self
end

local function descriptors_of(self)
  local descriptors = {}
  for connection in pairs(self.connections) do
    descriptors[#descriptors + 1] = connection:event_fd()
  end
  for _, task in ipairs(self.tasks) do
    if task.request and task.request.fd then
      descriptors[#descriptors + 1] = task.request.fd
    end
  end
  return descriptors
end

local function next_deadline(self, deadline)
  for _, task in ipairs(self.tasks) do
    local request = task.request
    if request and request.done and request.done() then
      return 0
    end
    deadline = math.min(deadline, request and request.deadline or math.huge)
  end
  return deadline
end

local function without_ended(self)
  local alive = {}
  for _, task in ipairs(self.tasks) do
    if not task.ended then
      alive[#alive + 1] = task
    end
  end
  self.tasks = alive
end

local function resume_ready(self, readable)
  local now = loop.now()
  for _, task in ipairs(self.tasks) do
    local request = task.request
    local ready = request and satisfied(request, readable)
    if ready or (request and now >= request.deadline) then
      resume(self, task, ready and true or false)
    end
    if is_over(self) then
      return
    end
  end
end

local function step(self, deadline)
  local readable = poll(descriptors_of(self), next_deadline(self, deadline))
  for connection in pairs(self.connections) do
    connection:dispatch()
  end
  local fine, raised = pcall(resume_ready, self, readable)
  without_ended(self)
  if not fine then
    error(raised, 0)
  end
end

--- Runs until no coroutine is left, or stop() is called, or `timeout` is over, or nothing was handled for `idle`, or
-- `count` messages were. What a coroutine raises, other than in a handler, is raised here. Answers how many messages
-- were handled.
function Loop:run(given)
  given = given or {}
  options.known(given, { timeout = true, idle = true, count = true })
  if self.running then
    errors.raise("state", "the loop runs already")
  end
  local idle = given.idle and tonumber(options.duration(given.idle, "idle")) or math.huge
  local ends = loop.deadline(given.timeout)
  if given.count ~= nil and type(given.count) ~= "number" then
    errors.raise("invalid_argument", "option 'count' wants a number and has a " .. type(given.count), "count")
  end
  self.stopped, self.running, self.handled, self.last = false, true, 0, loop.now()
  self.wanted = given.count or math.huge
  local fine, raised = pcall(function()
    while #self.tasks > 0 and not is_over(self) do
      local now = loop.now()
      if now >= ends or now - self.last >= idle then
        break
      end
      step(self, math.min(ends, self.last + idle))
    end
  end)
  self.running = false
  if not fine then
    error(raised, 0)
  end
  return self.handled
end

return loop
