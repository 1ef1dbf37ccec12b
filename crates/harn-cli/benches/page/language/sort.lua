function run()
  local numbers = {}
  local seed = 42
  for _ = 1, 100000 do
    seed = (seed * 1103515245 + 12345) % 2147483648
    numbers[#numbers + 1] = seed
  end
  table.sort(numbers)
  return numbers[1] + numbers[50001] + numbers[100000]
end
