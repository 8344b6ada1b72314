-- drop.lua: removes an ended sale from Redis, unless one of its orders may still wait. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash
--   3  orders  stream
-- ARGV
--   1  voucher id
--   2  epoch, 3 sequence   the mark that the caller has seen
--   4  op                  the last operation that the caller has seen; if either has changed, the sale is kept
--   5  longest  how many entries are searched at most; while the stream is longer, the sale is kept
--
-- Returns 1 (removed) or 0 (kept: the sale has not ended, is being rebuilt or has changed, or the stream may have one
-- of its orders).
--
-- The script searches the stream, because times prove nothing: a rebuild may queue an order again long after the end of
-- the sale.
--
-- Needs: clock, number

local voucher, longest = ARGV[1], tonumber(ARGV[5])
local epoch, seq, op = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not (epoch and seq and op and longest) then
  return redis.error_reply('ERR drop.lua: bad arguments')
end
local now = clock()
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'end', 'building', 'mode', 'op')
if redis.call('EXISTS', KEYS[1]) == 1 then
  local closes = number(sale[3])
  if not closes or now < closes or sale[5] == 'rebuild' or (number(sale[4]) or 0) > 0
    or number(sale[1]) ~= epoch or number(sale[2]) ~= seq or (number(sale[6]) or 0) ~= op then
    return 0
  end
end
if redis.call('XLEN', KEYS[3]) > longest then
  return 0
end
for _, entry in ipairs(redis.call('XRANGE', KEYS[3], '-', '+')) do
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'v' and fields[i + 1] == voucher then
      return 0
    end
  end
end
redis.call('UNLINK', KEYS[1], KEYS[2])
return 1
