-- Returns who has the lock, 500 holds at a time. Changes nothing. Follows clock.lua.
--
-- KEYS[1]  the holds (holds.lua)
-- ARGV[1]  the first hold to return, from 1
--
-- Returns  {0}                     nobody has the lock, or no holds are left from here on
--          {token, hold, ms, ...}  for each hold, how long its lease lasts if not renewed; 0 or less: it has ended

local now = clock()
local token = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
local found = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + 499, 'WITHSCORES')
if #found == 0 then
  return {0}
end
local state = {tonumber(string.match(token, '%d+'))}
for i = 1, #found, 2 do
  table.insert(state, found[i])
  table.insert(state, math.max(found[i + 1] - now, 0)) -- -1 would mean a key without an end
end
return state
