-- Coroutines alone: no scheduler wakes those that wait, each is resumed with its next message.
function run()
  local workers = {}
  for n = 1, 10000 do
    local worker = coroutine.create(function()
      local number = coroutine.yield()
      while true do number = coroutine.yield(number * 2) end
    end)
    coroutine.resume(worker)
    workers[n] = worker
  end
  local total = 0
  for i = 0, 49999 do
    local _, reply = coroutine.resume(workers[i % 10000 + 1], i)
    total = total + reply
  end
  return total
end
