--- Finding libacemq, and loading it once.
-- `ACEMQ_LIBRARY` (a file's path) comes first, then a copy beside this module, then the system's loader.
local ffi = require("ffi")


local ABI = 0 -- the number in the library's name that these declarations belong to

ffi.cdef(require("acemq.declared_types"))
ffi.cdef(require("acemq.declared_functions"))
ffi.cdef([[
void *acemq_lua_dlopen(const char *path, int flags) __asm__("dlopen");
]])

local RTLD_NOW, RTLD_NODELETE = 2, 0x1000

local function bundled()
  local here = debug.getinfo(1, "S").source:match("^@(.*)library%.lua$")
  local path = here and (here .. "libacemq.so." .. ABI)
  local file = path and io.open(path, "rb")
  if not file then
    return nil
  end
  file:close()
  return path
end

local function load()
  local path = os.getenv("ACEMQ_LIBRARY")
  if path == "" then
    path = nil
  end
  path = path or bundled() or ("libacemq.so." .. ABI)
  local loaded, library = pcall(ffi.load, path)
  if not loaded then
    error("libacemq cannot be loaded: " .. tostring(library) .. "; ACEMQ_LIBRARY may name its file", 0)
  end
  -- Its threads may outlive this state, whose end would unmap it under them.
  pcall(function()
    ffi.C.acemq_lua_dlopen(path, RTLD_NOW + RTLD_NODELETE)
  end)
  local abi = library.acemq_abi_version()
  if abi ~= ABI then
    error(("libacemq %s has the ABI %d, and this module needs %d"):format(path, abi, ABI), 0)
  end
  return library
end

return load()
