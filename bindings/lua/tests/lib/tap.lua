--- TAP for the programs of this folder, and the two brokers that they run against.
local acemq = require("acemq")

local tap = { number = 0, failures = 0 }

local unique = ("lua.%s"):format(acemq.new_id():sub(1, 8))
local names = 0

--- A queue's name that no other test has.
function tap.name()
  names = names + 1
  return ("%s.%d"):format(unique, names)
end

local function report(fine, what, raised)
  tap.number = tap.number + 1
  print(("%s %d - %s"):format(fine and "ok" or "not ok", tap.number, what))
  if not fine then
    tap.failures = tap.failures + 1
    print("# " .. tostring(raised):gsub("\n", "\n# "))
  end
  io.stdout:flush()
end

local function traced(raised)
  raised = tostring(raised)
  return raised:find("stack traceback", 1, true) and raised or debug.traceback(raised, 2)
end

--- One test: it passes unless it raises.
local function checked(what, body, ...)
  local arguments, count = { ... }, select("#", ...)
  local fine, raised = xpcall(function()
    body(unpack(arguments, 1, count))
  end, traced)
  report(fine, what, raised)
end
tap.test = checked

--- The same against the memory broker and RabbitMQ, with a connection that is closed afterwards. `options` are of
-- acemq.connect().
function tap.on_each(what, body, options)
  for _, broker in ipairs({
    { "memory broker", "memory://" .. unique },
    { "RabbitMQ", os.getenv("ACEMQ_TEST_URL") },
  }) do
    checked(broker[1] .. ": " .. what, function()
      local mq = acemq.connect(broker[2], options)
      local queue = tap.name()
      local fine, raised = xpcall(body, traced, mq, queue, broker[2])
      pcall(function()
        for _, suffix in ipairs({ "", ".dlq", ".parked" }) do
          mq:delete_queue(queue .. suffix)
        end
      end)
      pcall(mq.close, mq)
      if not fine then
        error(raised, 0)
      end
    end)
  end
end

local function shown(value)
  if type(value) ~= "table" or getmetatable(value) and getmetatable(value).__tostring then
    return tostring(value)
  end
  local fine, text = pcall(acemq.json.encode, value)
  return fine and text or tostring(value)
end

local function same(one, other)
  if type(one) ~= "table" or type(other) ~= "table" or one == other then
    return one == other
  end
  for key, value in pairs(one) do
    if not same(value, other[key]) then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

--- Equal, tables by their members.
function tap.is(got, wanted, what)
  if not same(got, wanted) then
    error(("%s: got %s and wanted %s"):format(what or "value", shown(got), shown(wanted)), 2)
  end
end

function tap.ok(condition, what)
  if not condition then
    error(what or "it does not hold", 2)
  end
end

--- The call raises an error of that name; answers it.
function tap.raises(name, call, ...)
  local fine, raised = pcall(call, ...)
  if fine then
    error("nothing was raised instead of " .. name, 2)
  elseif not acemq.is_error(raised, name) then
    error(("raised %s instead of %s"):format(tostring(raised), name), 2)
  end
  return raised
end

--- Waits until `holds()` is true.
function tap.await(mq, what, holds)
  for _ = 1, 1500 do
    if holds() then
      return
    end
    mq:sleep(20)
  end
  error("waited in vain for " .. what, 2)
end

function tap.finish()
  print("1.." .. tap.number)
  os.exit(tap.failures == 0 and 0 or 1, true)
end

return tap
