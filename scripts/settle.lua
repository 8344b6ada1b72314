-- settle.lua: acknowledges and deletes stream entries whose orders are recorded, both or neither.
--
-- KEYS
--   1  orders  stream
-- ARGV
--   1  group
--   2… ids of entries, 1 to 1,000; in stream order, or it takes longer
--
-- Returns how many were still pending in the group. Fewer than were given is normal only for entries that were
-- delivered twice and settled by another consumer first.
--
-- XDEL looks for each entry in a node of the stream from the node's beginning, and so costs more than all the rest.
-- Entries at the stream's beginning are cut off instead, a node at a time. What lies between two entries that were
-- pending has been delivered; once nothing of it is pending any more, it is settled. (Or somebody has removed a consumer
-- with its pending entries by hand. Those at the stream's beginning stay there until orphans.lua has taken them over; of
-- those between entries that were read apart from each other and are settled together, the buyers' places still tell, and
-- a rebuild queues them again.)

local n = #ARGV - 1
if n < 1 or n > 1000 then
  return redis.error_reply('ERR settle.lua: bad arguments')
end

local function id(text)
  local ms, seq = string.match(text, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

-- Cuts off the stream's beginning with the last of the entries, and reports whether all of them are gone then.
local function cut_off()
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', '1')[1]
  if not first or first[1] ~= ARGV[2] then
    return false
  end
  local ms, seq = id(ARGV[#ARGV])
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1])[2]
  if pending then
    local first_ms, first_seq = id(pending)
    if first_ms < ms or first_ms == ms and first_seq < seq then
      return false
    end
  end
  -- A server before Redis 6.2 does not know MINID; an error must not leave the entries there.
  return redis.pcall('XTRIM', KEYS[1], 'MINID', string.format('%.0f-%.0f', ms, seq + 1)) == n
end

-- XACK first: some servers drop a deleted entry from the pending list without counting it.
local settled = redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
if settled < n or not cut_off() then
  redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
end
return settled
