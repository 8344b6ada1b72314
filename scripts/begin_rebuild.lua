-- begin_rebuild.lua: stops a sale so that it can be rebuilt at a new epoch. Safe to repeat.
--
-- KEYS
--   1  sale   hash; created when missing
-- ARGV
--   1  epoch  the rebuild's epoch, its fencing token
--
-- Returns 1 (the sale stands still, building = epoch) or 0 (superseded: a newer rebuild has begun, or the sale is
-- open at this epoch or a later one).

local epoch = tonumber(ARGV[1])
if not epoch then
  return redis.error_reply('ERR begin_rebuild.lua: bad arguments')
end
local names = {'epoch', 'seq', 'stock', 'returned', 'returned_at', 'begin', 'end', 'op', 'building'}
local sale = redis.call('HMGET', KEYS[1], unpack(names))
local function number(field)
  return field and tonumber(field) or nil
end
if (number(sale[1]) or 0) >= epoch or (number(sale[9]) or 0) > epoch then
  return 0
end
local fields = {'mode', 'rebuild', 'building', ARGV[1]}
for i = 1, 8 do
  if not number(sale[i]) then -- missing or unreadable
    fields[#fields + 1] = names[i]
    fields[#fields + 1] = '0'
  end
end
redis.call('HSET', KEYS[1], unpack(fields))
return 1
