-- Says who has the lock, and how many times. Changes nothing. After clock.lua.
--
-- KEYS[1]  the lock, hash (holds.lua)
--
-- Returns  {0}                         nobody has it
--          {token, owner, holds, ms}   its owner, his holds whose leases are not over, and how long the longest of
--                                      these lasts if he does not renew

local fields, now = redis.call('HGETALL', KEYS[1]), clock()
local owner, token, holds = nil, 0, 0
for i = 1, #fields, 2 do
  if fields[i] == 'owner' then
    owner = fields[i + 1]
  elseif fields[i] == 'token' then
    token = tonumber(fields[i + 1])
  elseif tonumber(fields[i + 1]) > now then
    holds = holds + 1
  end
end
if holds == 0 then
  return {0}
end
return {token, owner, holds, redis.call('PTTL', KEYS[1])}
