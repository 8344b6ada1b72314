-- settle.lua: acknowledges and deletes stream entries whose orders are recorded, both or neither.
--
-- KEYS
--   1  orders  stream
-- ARGV
--   1  group
--   2… ids of entries, 1 to 1,000
--
-- Returns how many were still pending in the group. Fewer than were given is normal only for entries that were
-- delivered twice and settled by another consumer first.

local n = #ARGV - 1
if n < 1 or n > 1000 then
  return redis.error_reply('ERR settle.lua: bad arguments')
end
-- XACK first: some servers drop a deleted entry from the pending list without counting it.
local settled = redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
return settled
