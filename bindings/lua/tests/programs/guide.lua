-- The guide is true: each block of docs/lua.md in Lua is run, and prints what the page says.
local acemq = require("acemq")
local tap = require("tap")

-- Blocks with their line and the text block right behind them.
local function blocks_of(path)
  local blocks, open, number, behind = {}, nil, 0, false
  for line in assert(io.open(path)):lines() do
    number = number + 1
    local words = line:match("^```(.*)$")
    if open and words == "" then
      if open.words == "text" and behind then
        blocks[#blocks].expected = open.text
      elseif open.words == "lua" then
        blocks[#blocks + 1] = open
      end
      behind, open = open.words == "lua", nil
    elseif open then
      open.text = open.text .. line .. "\n"
    elseif words then
      open = { words = words, text = "", line = number }
    elseif line ~= "" then
      behind = false
    end
  end
  return blocks
end

-- A block that connects stands alone; the others have a connection, and a queue that is empty.
local function run(block)
  local printed = {}
  local environment = setmetatable({
    acemq = acemq,
    print = function(...)
      local words = {}
      for index = 1, select("#", ...) do
        words[index] = tostring((select(index, ...)))
      end
      printed[#printed + 1] = table.concat(words, "\t") .. "\n"
    end,
  }, { __index = _G })
  if not block.text:find("acemq.connect", 1, true) then
    environment.mq = acemq.connect("memory://" .. tap.name())
    environment.mq:declare("orders")
  end
  local chunk = assert(loadstring(block.text, "=block"))
  setfenv(chunk, environment)()
  if environment.mq then
    environment.mq:close()
  end
  if block.expected then
    tap.is(table.concat(printed), block.expected)
  end
end

local path = arg[0]:match("^(.*)/bindings/lua/") .. "/docs/lua.md"
local blocks = blocks_of(path)
for _, block in ipairs(blocks) do
  tap.test(("docs/lua.md:%d runs"):format(block.line), run, block)
end
tap.test("there are blocks", function() tap.ok(#blocks > 8) end)
tap.finish()
