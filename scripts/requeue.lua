-- requeue.lua: appends accepted orders of a sale under rebuild whose stream entries were lost. If it is repeated, an
-- order is queued twice, which is harmless: the recorder identifies orders by id.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  orders  stream
-- ARGV
--   1  epoch       the rebuild's
--   2  voucher id
--   3… user id, order (as in seckill.lua's buyers), epoch, sequence of each order, the latter two 0 if unknown;
--      1 to 1,000 orders
--
-- Returns 1 (done), 0 (superseded: a newer rebuild has begun, or the sale is open at this epoch or a later one) or 2
-- (the rebuild is gone: this Redis does not know that it has begun); the error FORMAT if the partition has other data
-- (format.lua).
--
-- Needs: format, rebuild

local epoch = tonumber(ARGV[1])
local n = (#ARGV - 2) / 4
if not epoch or n < 1 or n > 1000 or n ~= math.floor(n) then
  return redis.error_reply('ERR requeue.lua: bad arguments')
end
local refused = other_data(true)
if refused then
  return refused
end
local state = rebuild_state(KEYS[1], epoch)
if state ~= UNDER_WAY then
  return state
end
for i = 3, #ARGV, 4 do
  redis.call('XADD', KEYS[2], '*', 'v', ARGV[2], 'u', ARGV[i], 'o', ARGV[i + 1], 'e', ARGV[i + 2], 's', ARGV[i + 3])
end
return 1
