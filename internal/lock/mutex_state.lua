-- Says who has the mutex. Changes nothing.
--
-- KEYS[1]  the lock, string "owner token"
--
-- Returns  {token}                    nobody has it; the token is 0
--          {token, owner, 1, ms}      its owner, who holds it once, for so long if he does not renew

local held = redis.call('GET', KEYS[1])
if not held then
  return {0}
end
local gap = string.find(held, ' ', 1, true)
return {tonumber(string.sub(held, gap + 1)), string.sub(held, 1, gap - 1), 1, redis.call('PTTL', KEYS[1])}
