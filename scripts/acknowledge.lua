-- acknowledge.lua: acknowledges and deletes stream entries whose orders are settled, in one step.
--
-- KEYS
--   1  orders  stream
-- ARGV
--   1  group
--   2… ids of entries, 1 to 1,000; fastest in stream order
--
-- Returns how many of the entries were still pending in the group. It is normally the number given. It is lower only if
-- entries were delivered twice and another consumer acknowledged them first.
--
-- XDEL walks to each entry from the beginning of its node of the stream (100 entries). In a batch of 500 that takes 3.5
-- µs for each entry, so Redis would serve nobody else for 1.7 ms. Entries at the beginning of the stream are therefore
-- trimmed, a whole node at a time: 0.7 µs for each entry. Trimming deletes everything before the last entry. That is
-- safe: entries between the given ones have been delivered, and the script trims only once none of them is pending any
-- more, so they are settled.
--
-- The exception is a consumer that somebody removed by hand together with its pending entries. Such entries at the
-- beginning of the stream remain until take_over.lua takes them over. Such entries further back may be trimmed; the
-- hash of buyers still has their orders, and a rebuild queues them again.
--
-- Needs: limits

local n = #ARGV - 1
if n < 1 or n > MAX_ENTRIES then
  return redis.error_reply('ERR acknowledge.lua: bad arguments')
end
local last = ARGV[#ARGV]

-- trim deletes all entries before the last given one, which stays, and reports whether all the other given ones are
-- gone.
local function trim()
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', '1')[1]
  if not first or first[1] ~= ARGV[2] or #redis.call('XPENDING', KEYS[1], ARGV[1], '-', last, '1') > 0 then
    return false
  end
  -- A server before Redis 6.2 does not know MINID; the entries must be deleted even then.
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
