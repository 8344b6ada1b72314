-- Says who has the lock, and how many times. Changes nothing. After clock.lua.
--
-- KEYS[1]  the lock, sorted set (readers.lua)
--
-- Returns  {0}                             nobody has it
--          {token, owner, holds, ms, ...}  for each owner his holds whose leases are not over, and how long the
--                                          longest of these lasts if he does not renew

local now, holds, last, owners = clock(), {}, {}, {}
local found = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 3, #found, 2 do -- the token comes first
  local owner, left = string.match(found[i], '^%S+ (.*)$'), found[i + 1] - now
  if left > 0 then
    if not holds[owner] then
      table.insert(owners, owner)
    end
    holds[owner], last[owner] = (holds[owner] or 0) + 1, left
  end
end
if #owners == 0 then
  return {0}
end
local state = {tonumber(string.match(found[1], '%d+'))}
for _, owner in ipairs(owners) do
  for _, part in ipairs({owner, holds[owner], last[owner]}) do
    table.insert(state, part)
  end
end
return state
