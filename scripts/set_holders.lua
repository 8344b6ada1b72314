-- set_holders.lua: sets and removes holders of a sale under rebuild. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order, as in seckill.lua
-- ARGV
--   1  epoch   the rebuild's
--   2  pairs   how many holders to set
--   3… user id and order for each of them; then the fields to remove: user ids without an order, or fields written by
--      hand. At most 4,000 arguments in all
--
-- Returns 1 (done), 0 (superseded: a newer rebuild has begun, or the sale is open at this epoch or a later one) or 2
-- (the rebuild is gone: this Redis does not know that it has begun).
--
-- Needs: rebuild

local epoch, n = tonumber(ARGV[1]), tonumber(ARGV[2])
if not (epoch and n) or #ARGV < 2 + 2 * n or #ARGV > 4000 then
  return redis.error_reply('ERR set_holders.lua: bad arguments')
end
local state = rebuild_state(KEYS[1], epoch)
if state ~= UNDER_WAY then
  return state
end
if n > 0 then
  redis.call('HSET', KEYS[2], unpack(ARGV, 3, 2 + 2 * n))
end
if #ARGV > 2 + 2 * n then
  redis.call('HDEL', KEYS[2], unpack(ARGV, 3 + 2 * n))
end
return 1
