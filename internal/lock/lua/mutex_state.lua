-- Returns who has the mutex. Changes nothing.
--
-- KEYS[1]  the lock, string (mutex_acquire.lua)
--
-- Returns  {0}, or {token, hold, ms} as state.lua does

local state = redis.call('GET', KEYS[1])
if not state or string.byte(state) == 45 then -- "-"
  return {0}
end
local left = redis.call('PTTL', KEYS[1])
if left == 0 then
  left = 1 -- Redis rounded it down to 0
end
local owner, token, label = string.match(state, '^(%S+) (%d+) %d+ (%S+)')
if not owner then
  return {0, '- - ' .. state, left} -- not one of our values
end
return {tonumber(token), owner .. ' ' .. label .. ' ' .. owner, left}
