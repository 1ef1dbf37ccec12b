local function map(list, f)
  local out = {}
  for i = 1, #list do out[i] = f(list[i]) end
  return out
end

local function filter(list, f)
  local out = {}
  for i = 1, #list do
    if f(list[i]) then out[#out + 1] = list[i] end
  end
  return out
end

local function reduce(list, result, f)
  for i = 1, #list do result = f(result, list[i]) end
  return result
end

local function items(list)
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

local function lazy_map(source, f)
  return function()
    local item = source()
    if item ~= nil then return f(item) end
  end
end

local function lazy_filter(source, f)
  return function()
    for item in source do
      if f(item) then return item end
    end
  end
end

local function take(source, n)
  return function()
    if n > 0 then
      n = n - 1
      return source()
    end
  end
end

local function sum(source)
  local total = 0
  for item in source do total = total + item end
  return total
end

function run()
  local factor = 3
  local numbers = {}
  for n = 0, 199999 do numbers[#numbers + 1] = n end
  local mapped = map(numbers, function(n) return n * factor end)
  local even = filter(mapped, function(n) return n % 2 == 0 end)
  local eager = reduce(even, 0, function(total, n) return total + n end)
  local moved = lazy_map(items(numbers), function(n) return n + factor end)
  local lazy = sum(take(lazy_filter(moved, function(n) return n % 3 == 0 end), 60000))
  return eager + lazy
end
