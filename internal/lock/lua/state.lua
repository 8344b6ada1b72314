-- Says who has the lock, 500 holds at a time. Changes nothing. After clock.lua.
--
-- KEYS[1]  the holds (holds.lua)
-- ARGV[1]  at which hold to begin, from 1
--
-- Returns  {0}                     nobody has it; or from here on no holds are left
--          {token, hold, ms, ...}  for each hold how long its lease lasts if it is not renewed: 0 or less, it is over

local now = clock()
local token = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
local found = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + 499, 'WITHSCORES')
if #found == 0 then
  return {0}
end
local state = {tonumber(string.match(token, '%d+'))}
for i = 1, #found, 2 do
  table.insert(state, found[i])
  table.insert(state, math.max(found[i + 1] - now, 0)) -- never -1, which means a key without an end
end
return state
