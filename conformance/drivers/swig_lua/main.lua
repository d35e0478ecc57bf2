-- The module that SWIG makes for Lua 5.4, spoken to in JSON lines (docs/conformance.md).
local acemq = require "acemq"
local client = require "client"
local json = require "json"
local rules = require "rules"

local verbs = {}
for _, each in ipairs { rules, client } do
    for name, verb in pairs(each) do
        verbs[name] = verb
    end
end

local function say(line)
    io.write(json.write(line), "\n")
    io.flush()
end

-- The error's name and message, whoever raised it.
local function told(failure)
    if type(failure) == "table" and failure.unsupported then
        return { unsupported = failure.unsupported }
    elseif type(failure) == "table" then
        return { error = { name = failure.name, message = failure.message } }
    end
    return { error = { name = "invalid_argument", message = tostring(failure) } }
end

local function answer(name, given)
    local verb = verbs[name]
    if not verb then
        return { unsupported = "the verb " .. tostring(name) .. " is not known here" }
    end
    for parameter, value in pairs(given) do
        if not (" " .. verb.parameters .. " "):find(" " .. parameter .. " ", 1, true) then
            return { unsupported = "the parameter " .. parameter .. " is not known here" }
        end
        if value == json.null then
            given[parameter] = nil
        end
    end
    local done, result = pcall(verb.run, given)
    return done and { ok = result or {} } or told(result)
end

local names = json.list()
for name in pairs(verbs) do
    names[#names + 1] = name
end
table.sort(names)
say { hello = { protocol = 1, name = "swig_lua", version = acemq.version(), verbs = names } }
for line in io.lines() do
    local request = json.read(line)
    local said = answer(request["do"], request.with or {})
    said.id = request.id
    say(said)
end
client.close.run()
