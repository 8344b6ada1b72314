-- seat.lua: gives and empties places in a sale under rebuild. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order id
-- ARGV
--   1  epoch   the rebuild's
--   2  seats   how many pairs follow
--   3… user id, order id, for each seat; then the ids of users whose places are emptied. At most 4,000 in all
--
-- Returns 1 (done), 0 (superseded: a newer rebuild has begun, or the sale is open at this epoch or a later one) or
-- 2 (the rebuild is gone: this Redis no longer knows that it has begun).

local epoch, seats = tonumber(ARGV[1]), tonumber(ARGV[2])
if not (epoch and seats) or #ARGV < 2 + 2 * seats or #ARGV > 4000 then
  return redis.error_reply('ERR seat.lua: bad arguments')
end
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'building')
local current, building = tonumber(sale[1] or '0') or 0, tonumber(sale[2] or '0') or 0
if current >= epoch or building > epoch then
  return 0
end
if building ~= epoch then
  return 2
end
if seats > 0 then
  redis.call('HSET', KEYS[2], unpack(ARGV, 3, 2 + 2 * seats))
end
if #ARGV > 2 + 2 * seats then
  redis.call('HDEL', KEYS[2], unpack(ARGV, 3 + 2 * seats))
end
return 1
