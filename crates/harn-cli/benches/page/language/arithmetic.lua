function run()
  local total = 0
  local scaled = 0.0
  local i = 0
  while i < 1000000 do
    total = total + i * i % 7
    scaled = scaled * 0.5 + 1.0
    if i % 3 == 0 then total = total - 1 end
    i = i + 1
  end
  for n = 0, 499999 do total = total + n % 5 end
  if scaled > 1.5 then total = total + 1 end
  return total
end
