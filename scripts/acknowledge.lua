-- acknowledge.lua: acknowledges and deletes stream entries whose orders are settled, both or neither.
--
-- KEYS
--   1  orders  stream
-- ARGV
--   1  group
--   2… ids of entries, 1 to 1,000; in stream order, or it takes longer
--
-- Returns how many were still pending in the group. Fewer than were given is normal only for entries that were
-- delivered twice and that another consumer acknowledged first.
--
-- XDEL walks to each entry from the beginning of its node of the stream (100 entries): 3.5 µs for each of a batch of 500,
-- so that Redis serves nobody else for 1.7 ms. Entries at the stream's beginning are therefore trimmed, a node at a time:
-- 0.7 µs for each. What lies between two entries that were pending has been delivered; once nothing of it is pending any
-- more, it is settled. (Or somebody has removed a consumer with its pending entries by hand. Those at the stream's
-- beginning stay there until take_over.lua has taken them over; of those between entries that were read apart from each
-- other and are acknowledged together, the hash of buyers still knows, and a rebuild queues them again.)

local MAX_ENTRIES = 1000

local n = #ARGV - 1
if n < 1 or n > MAX_ENTRIES then
  return redis.error_reply('ERR acknowledge.lua: bad arguments')
end
local last = ARGV[#ARGV]

-- Trims the stream up to the last of the entries, which stays, and reports whether all others are gone then.
local function trim()
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', '1')[1]
  if not first or first[1] ~= ARGV[2] or #redis.call('XPENDING', KEYS[1], ARGV[1], '-', last, '1') > 0 then
    return false
  end
  -- A server before Redis 6.2 does not know MINID; an error must not leave the entries there.
  return redis.pcall('XTRIM', KEYS[1], 'MINID', last) == n - 1
end

-- XACK first: some servers drop a deleted entry from the pending list without counting it.
local acknowledged = redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
if n > 1 and acknowledged == n and trim() then
  redis.call('XDEL', KEYS[1], last)
else
  redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
end
return acknowledged
