function run()
  local names = {}
  for n = 0, 999 do names[#names + 1] = "word" .. n end
  local counts = {}
  local state = { seen = 0, inner = { last = 0 } }
  local at = 1
  for _ = 1, 300000 do
    at = (at * 421 + 1663) % 7919
    local name = names[at % 1000 + 1]
    counts[name] = (counts[name] or 0) + 1
    state.seen = state.seen + 1
    state.inner.last = at
  end
  local total = 0
  for _, name in ipairs(names) do total = total + (counts[name] or 0) * #name end
  return total + state.seen + state.inner.last
end
