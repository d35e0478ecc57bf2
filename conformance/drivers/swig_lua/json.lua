-- JSON with whole numbers as integers. A null is json.null; a list is a table that json.list() made.
local json = { null = setmetatable({}, { __tostring = function() return "null" end }) }

local list = {}

function json.list(members)
    return setmetatable(members or {}, list)
end

-- --- writing ---

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(character)
        return escapes[character] or ("\\u%04x"):format(character:byte())
    end) .. '"'
end

local function write_members(value)
    local parts = {}
    if getmetatable(value) == list then
        for _, member in ipairs(value) do
            parts[#parts + 1] = json.write(member)
        end
        return "[" .. table.concat(parts, ",") .. "]"
    end
    for name, member in pairs(value) do
        parts[#parts + 1] = quoted(name) .. ":" .. json.write(member)
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

function json.write(value)
    local kind = math.type(value) or type(value)
    if value == nil or value == json.null then
        return "null"
    elseif kind == "table" then
        return write_members(value)
    elseif kind == "string" then
        return quoted(value)
    elseif kind == "float" then
        return (("%.17g"):format(value):gsub("^(-?%d+)$", "%1.0"))
    end
    return tostring(value)
end

-- --- reading ---

local read_value

local function skip(text, at)
    return text:find("[^ \t\r\n]", at) or #text + 1
end

local plain = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function read_escape(text, at)
    local character = text:sub(at, at)
    if character ~= "u" then
        return plain[character] or character, at + 1
    end
    local unit = tonumber(text:sub(at + 1, at + 4), 16)
    at = at + 5
    if unit >= 0xd800 and unit < 0xdc00 and text:sub(at, at + 1) == "\\u" then
        unit = 0x10000 + (unit - 0xd800) * 0x400 + tonumber(text:sub(at + 2, at + 5), 16) - 0xdc00
        at = at + 6
    end
    return utf8.char(unit), at
end

local function read_string(text, at)
    local parts = {}
    while true do
        local stop = assert(text:find('["\\]', at), "a string without an end")
        parts[#parts + 1] = text:sub(at, stop - 1)
        if text:sub(stop, stop) == '"' then
            return table.concat(parts), stop + 1
        end
        parts[#parts + 1], at = read_escape(text, stop + 1)
    end
end

local function read_number(text, at)
    local digits = assert(text:match("^-?[%d.eE+-]+", at), "no value")
    return assert(math.tointeger(digits:match("^-?%d+$")) or tonumber(digits)), at + #digits
end

local function read_list(text, at)
    local members = json.list()
    at = skip(text, at)
    while text:sub(at, at) ~= "]" do
        members[#members + 1], at = read_value(text, at)
        at = skip(text, skip(text, at) + (text:sub(skip(text, at), skip(text, at)) == "," and 1 or 0))
    end
    return members, at + 1
end

local function read_object(text, at)
    local members = {}
    at = skip(text, at)
    while text:sub(at, at) ~= "}" do
        local name
        name, at = read_string(text, at + 1)
        members[name], at = read_value(text, skip(text, at) + 1)
        at = skip(text, at)
        at = skip(text, at + (text:sub(at, at) == "," and 1 or 0))
    end
    return members, at + 1
end

local words = { t = { "true", true }, f = { "false", false }, n = { "null", json.null } }

function read_value(text, at)
    at = skip(text, at)
    local first = text:sub(at, at)
    local word = words[first]
    if first == "{" then
        return read_object(text, at + 1)
    elseif first == "[" then
        return read_list(text, at + 1)
    elseif first == '"' then
        return read_string(text, at + 1)
    elseif word and text:sub(at, at + #word[1] - 1) == word[1] then
        return word[2], at + #word[1]
    end
    return read_number(text, at)
end

function json.read(text)
    return (read_value(text, 1))
end

return json
