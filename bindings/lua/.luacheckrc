std = "luajit"
max_line_length = false -- in bytes, where the lines are counted in characters
ignore = { "212/self" } -- methods that do not need their object
files["tests"] = { ignore = { "311" } } -- what is dropped there is collected
