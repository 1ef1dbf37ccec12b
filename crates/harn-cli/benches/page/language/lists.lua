function run()
  local size = 300000
  local is_prime = {}
  for _ = 1, size do is_prime[#is_prime + 1] = true end
  local n = 2
  while n * n < size do
    if is_prime[n + 1] then
      local m = n * n
      while m < size do
        is_prime[m + 1] = false
        m = m + n
      end
    end
    n = n + 1
  end
  local total = 0
  for k = 2, size - 1 do
    if is_prime[k + 1] then total = total + k end
  end
  return total
end
