-- inventory.lua: counts what Redis holds of one sale, all at one moment.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash    user id -> order id
--   3  orders  stream
--   4  dead    stream
-- ARGV
--   1  voucher id
--   2  longest  how many entries are searched at most; in a longer stream the sale's are not counted
--
-- Returns a flat array: mode ("rebuild" also while one has begun; "" when there is no readable sale, as where a key is of
-- another type), epoch,
-- sequence, stock (returned and reserved units included, but not one that is reserved for an acceptance), buyers, number of the last operation that it contains, orders of
-- the sale in the stream, delivered or not (-1: the stream is too long), dead letters of the partition, units that the
-- buyers have beyond one each.
-- An entry that names no sale counts as an order of this sale, because it may be one.
--
-- Needs: number, sale

local voucher, longest = ARGV[1], tonumber(ARGV[2])
if not longest then
  return redis.error_reply('ERR inventory.lua: bad arguments')
end
local sale = redis.pcall('HMGET', KEYS[1], 'mode', 'epoch', 'seq', 'stock', 'returned', 'reserved', 'op', 'building',
  'reserved_units', 'extra', 'reserved_kept')
local buyers, letters = redis.pcall('HLEN', KEYS[2]), redis.call('XLEN', KEYS[4])
if type(buyers) ~= 'number' then
  return {'', 0, 0, 0, 0, 0, -1, letters, 0}
end
local mode, epoch, seq, stock = sale[1], number(sale[2]), number(sale[3]), number(sale[4])
if not (mode and MODES[mode] and epoch and seq and stock) then
  return {'', 0, 0, 0, buyers, 0, -1, letters, 0}
end
if (number(sale[8]) or 0) > 0 then
  mode = 'rebuild'
end
stock = unsold(stock, number(sale[5]), number(sale[6]), number(sale[9]), sale[11])

local waiting = -1
if redis.call('XLEN', KEYS[3]) <= longest then
  waiting = 0
  for _, entry in ipairs(redis.call('XRANGE', KEYS[3], '-', '+')) do
    local fields = entry[2]
    local named, packed
    for i = 1, #fields, 2 do
      if fields[i] == 'v' then
        named = fields[i + 1]
      elseif fields[i] == 'p' then
        packed = fields[i + 1] -- user, order, user, order… (seckill.lua)
      end
    end
    if named == voucher or not (named and string.match(named, '^%d+$')) then
      local _, words = string.gsub(packed or '', '%S+', '')
      waiting = waiting + math.max(1, math.floor(words / 2))
    end
  end
end
return {mode, epoch, seq, stock, buyers, number(sale[7]) or 0, waiting, letters, number(sale[10]) or 0}
