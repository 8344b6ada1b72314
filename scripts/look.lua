-- look.lua: reads one share of a split sale, for a look at all of them (internal/order/split). It changes nothing.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  it must be readable too, as in seckill.lua
-- ARGV: none
--
-- Returns a flat array:
--   1   1 where it can be said what the share has, else 0: it is missing, unreadable or being rebuilt, or another server opened
--       it (as in seckill.lua). Then nothing follows
--   2   1 if it sells inside its window, else 0: paused, off the shelf, or as if paused just after a rebuild
--   3   epoch
--   4   number of the last operation applied
--   5   units that corrections have put back on sale in this epoch
--   6   units that moves have taken from it, 7 units that they have given to it
--   8   units that can be sold, returned ones included whose time has come
--   9   units that wait: returned ones whose time has not come, and reserved ones, those for offers included
--   10  1 while it keeps what it was just given from the moves of others, else 0

local MAX_DELAY = 60000 -- milliseconds; as in seckill.lua

local sale = redis.pcall('HMGET', KEYS[1], 'mode', 'epoch', 'seq', 'stock', 'op', 'building', 'returned', 'returned_at',
  'reserved', 'reserved_units', 'resumes', 'server', 'corrected', 'moved_out', 'moved_in', 'kept_until', 'kept_seq')
local function number(field) -- whole numbers that are exact in Lua, below 2^53; anything else was written by hand
  local n = field and string.find(field, '^%d+$') and tonumber(field)
  return n and n < 9007199254740992 and n or nil
end
local mode = sale[1] -- nil when the key is no hash
if type(redis.pcall('HLEN', KEYS[2])) ~= 'number' or not (mode == 'open' or mode == 'paused' or mode == 'off') or (number(sale[6]) or 0) > 0 then
  return {0}
end
for i = 2, 5 do
  if not number(sale[i]) then
    return {0}
  end
end
local info = redis.pcall('INFO', 'server') -- it may be forbidden
if type(info) == 'string' and sale[12] and not string.find(info, sale[12], 1, true) then
  return {0}
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
-- A time further off than MAX_DELAY comes from a clock that was set back since.
local function past(time)
  return now >= time or time - now > MAX_DELAY
end
local stock, returned = number(sale[4]), number(sale[7]) or 0
if returned > 0 and past(number(sale[8]) or 0) then
  stock, returned = stock + returned, 0
end
if (number(sale[9]) or 0) > 0 then
  returned = returned + (number(sale[10]) or 1)
end
local kept = sale[17] == sale[3] and not past(number(sale[16]) or 0)
return {1, mode == 'open' and past(number(sale[11]) or 0) and 1 or 0, number(sale[2]), number(sale[5]), number(sale[13]) or 0,
  number(sale[14]) or 0, number(sale[15]) or 0, stock, returned, kept and 1 or 0}
