-- Says who has the mutex. Changes nothing.
--
-- KEYS[1]  the lock, string (mutex_token.lua)
--
-- Returns  {0}                        nobody has it
--          {token, owner, 1, ms}      its owner, who holds it once, for so long if he does not renew

local state = redis.call('GET', KEYS[1])
if not state or string.byte(state) == 45 then -- "-"
  return {0}
end
local owner, token = string.match(state, '^(%S+) (%d+)')
return {tonumber(token), owner, 1, redis.call('PTTL', KEYS[1])}
