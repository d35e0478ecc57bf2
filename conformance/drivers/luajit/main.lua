-- The driver of the binding for LuaJIT: JSON lines in, JSON lines out, as docs/conformance.md has them.
local acemq = require("acemq")
local client = require("client")
local rules = require("rules")

local null = acemq.null
-- What has AMQP types in it goes to the library as it came.
local RAW = { headers = true, topology = true }

local verbs, names = {}, acemq.array()
for _, group in ipairs({ rules, client.verbs }) do
  for name, verb in pairs(group) do
    local known = {}
    for parameter in verb[1]:gmatch("%S+") do
      known[parameter] = true
    end
    verbs[name] = { known = known, run = verb[2] }
    names[#names + 1] = name
  end
end
table.sort(names)

local function write(answer)
  io.stdout:write(acemq.json.encode(answer), "\n")
  io.stdout:flush()
end

-- A member that is null is one that is missing.
local function without_null(with)
  for name, value in pairs(with) do
    if value == null or (acemq.is_raw(value) and value.text == "null") then
      with[name] = nil
    end
  end
  return with
end

local function failure(raised)
  if type(raised) == "table" and raised.unsupported then
    return { unsupported = raised.unsupported }
  elseif type(raised) == "table" and raised.name then
    return { error = { name = raised.name, message = raised.message } }
  end
  return { error = { name = "lua", message = tostring(raised) } }
end

local function answer_of(request)
  local verb = verbs[request["do"]]
  if not verb then
    return { unsupported = "no such verb" }
  end
  local with = without_null(request.with or {})
  for name in pairs(with) do
    if not verb.known[name] then
      return { unsupported = "no parameter " .. name }
    end
  end
  local fine, result = pcall(verb.run, with)
  return fine and { ok = result } or failure(result)
end

write({ hello = { protocol = 1, name = "luajit", version = acemq.version(), verbs = names } })
for line in io.lines() do
  local request = acemq.json.decode(line, RAW)
  local answer = answer_of(request)
  answer.id = request.id
  write(answer)
end
client.ended()
