-- publish.lua: ends a rebuild: the sale gets the rebuild's epoch and sequence 0, and sells again if mode and window
-- allow it. It deletes what apply.lua remembers of single operations, because the new stock includes them.
--
-- KEYS (one hash slot)
--   1  sale       hash
--   2  reports    hash  the recovery reports; deleted
--   3  reported   hash  which reporters are done; deleted
-- ARGV
--   1  epoch  the rebuild's
--   2  mode   "open", "paused", "off" or "over"
--   3  stock  units
--   4  begin, 5 end   the window in milliseconds since 1970, the end exclusive
--   6  op     number of the last operation that the stock contains
--   7  extra  units that the holders have beyond one each
--   8  identity  of that operation, as in apply.lua
--   9  decided   the last operation up to there that a person decided, as "number identity kind", or "none"; "" leaves
--                the field
--
-- Returns 1 (done), 0 (superseded: a newer rebuild has begun, or the sale is open at this epoch or a later one, also if
-- this call is repeated) or 2 (the rebuild is gone: this Redis does not know that it has begun, or is not the run of
-- the server on which it began and may have lost writes); the error FORMAT if the partition has other data
-- (format.lua).
--
-- Needs: format, identity, rebuild, server

local epoch = tonumber(ARGV[1])
if not epoch or #ARGV ~= 9 then
  return redis.error_reply('ERR publish.lua: bad arguments')
end
local refused = other_data(true)
if refused then
  return refused
end
local state = rebuild_state(KEYS[1], epoch)
if state ~= UNDER_WAY then
  return state
end
if (redis.call('HGET', KEYS[1], 'server') or '') ~= run_id() then
  return GONE
end
redis.call('HSET', KEYS[1], 'mode', ARGV[2], 'epoch', ARGV[1], 'seq', '0', 'stock', ARGV[3], 'returned', '0',
  'returned_at', '0', 'begin', ARGV[4], 'end', ARGV[5], 'op', ARGV[6], 'building', '0',
  'takes', '', 'reserved', '0')
if ARGV[8] ~= '0' or ARGV[6] == '0' then
  redis.call('HSET', KEYS[1], 'op_id', operation_text(tonumber(ARGV[6]), ARGV[8]))
else
  redis.call('HDEL', KEYS[1], 'op_id')
end
if ARGV[9] ~= '' then
  redis.call('HSET', KEYS[1], 'decided', ARGV[9])
end
if ARGV[7] ~= '0' then
  redis.call('HSET', KEYS[1], 'extra', ARGV[7])
else
  redis.call('HDEL', KEYS[1], 'extra')
end
redis.call('HDEL', KEYS[1], 'reserved_units', 'reserved_kept')
redis.call('UNLINK', KEYS[2], KEYS[3])
return 1
