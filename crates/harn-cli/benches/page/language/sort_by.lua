-- Its sort is not stable and takes a comparison, so the place decides between equals.
function run()
  local people = {}
  local seed = 42
  for i = 0, 49999 do
    seed = (seed * 1103515245 + 12345) % 2147483648
    people[#people + 1] = { name = "n" .. seed % 1000, age = seed % 100000, id = i }
  end
  table.sort(people, function(a, b)
    if a.age ~= b.age then return a.age < b.age end
    return a.id < b.id
  end)
  return people[1].id + people[25001].id * 3 + people[50000].id * 7
end
