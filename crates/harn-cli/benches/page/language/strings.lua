-- A string of Lua is copied each time it grows, so its programs collect the pieces in a table.
function run()
  local pieces = {}
  for i = 0, 199999 do
    pieces[#pieces + 1] = "line " .. i .. ";"
  end
  return #table.concat(pieces)
end
