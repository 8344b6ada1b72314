-- begin_rebuild.lua: stops a sale so that it can be rebuilt at a new epoch. Safe to repeat.
--
-- KEYS
--   1  sale   hash; created when missing
-- ARGV
--   1  epoch  the rebuild's epoch, its fencing token
--   2  delay  for how many milliseconds instances go on saying SOLD_OUT from memory at most (rule 11,
--             docs/architecture.md)
--   3  alone  "1": nobody remembers anything of a sale that is missing here, as this Redis began empty with the only
--             process that uses it; else "0"
--
-- Returns 1 (the sale stands still, building = epoch) or 0 (superseded: a newer rebuild has begun, or the sale is
-- open at this epoch or a later one).
--
-- The rebuild may find units in the ledger. So a sale that may be remembered as sold out sells again only when that is
-- forgotten (the field resumes), and until then is as if paused.

local epoch, delay = tonumber(ARGV[1]), tonumber(ARGV[2])
if not (epoch and delay) then
  return redis.error_reply('ERR begin_rebuild.lua: bad arguments')
end
local names = {'epoch', 'seq', 'stock', 'returned', 'returned_at', 'begin', 'end', 'op', 'building', 'mode',
  'resumes'}
local sale = redis.call('HMGET', KEYS[1], unpack(names))
local function number(field)
  return field and tonumber(field) or nil
end
if (number(sale[1]) or 0) >= epoch or (number(sale[9]) or 0) > epoch then
  return 0
end
local fields = {'mode', 'rebuild', 'building', ARGV[1]}
if (number(sale[9]) or 0) == 0 then -- the first attempt to rebuild it
  local clock = redis.call('TIME')
  local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
  local known -- not remembered as sold out, for certain
  if not sale[10] then
    known = epoch == 1 or ARGV[3] == '1' -- it was never open
  else
    known = sale[10] ~= 'rebuild' and (number(sale[3]) or 0) > 0 -- 'rebuild': it may lack its tail
  end
  if not known then
    fields[5], fields[6] = 'resumes', string.format('%.0f', now + delay)
  elseif not number(sale[11]) then
    fields[5], fields[6] = 'resumes', '0' -- else what an earlier rebuild had to wait for still holds
  end
end
for i = 1, 8 do
  if not number(sale[i]) then -- missing or unreadable
    fields[#fields + 1] = names[i]
    fields[#fields + 1] = '0'
  end
end
redis.call('HSET', KEYS[1], unpack(fields))
return 1
