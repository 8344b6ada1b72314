-- correct.lua: corrects the holders of a sale after the ledger decided otherwise, and puts units back on sale. A
-- correction acts only while the user holds the order that it names, so it acts once, however often it is sent.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order, as in seckill.lua
-- ARGV
--   1  delay   milliseconds until a unit that comes back to a sold-out sale can be sold: as long as an instance may
--              go on answering SOLD_OUT from its cache (rule 11, docs/architecture.md)
--   2… user id, order, give back its units ("1" or "0"), new order (the user holds it from now on; "0" for none), until
--      (number of the last operation that the caller knew; "0" if it does not matter); 1 to 250 corrections
--
-- Returns a flat array:
--   1   the epoch of a rebuild that may count wrongly, else 0: during it a unit was given back, or an order of several
--       units was corrected, now or by an earlier call. The rebuild may have counted the units before, so the caller
--       has to request another one. The sale keeps this epoch while the rebuild goes on or the sale is at its epoch, so
--       that it is not lost with an answer or a caller
--   2…  for each correction, in order: 1 (acted), 0 (the user does not hold that order), or 2 (out of date: the user
--       does, but the sale is missing, or has operations that the caller did not know. One of them may have made the
--       user the holder, so the caller has to decide again)
--
-- A unit is put back only into a sale that exists; a lost sale is rebuilt from the ledger, which has the unit.
--
-- Needs: clock, limits, number, returned

local call = redis.call
local sale_key, buyers_key = KEYS[1], KEYS[2]
local delay = tonumber(ARGV[1])
local n = (#ARGV - 1) / 5
if not delay or delay > MAX_DELAY or n < 1 or n > MAX_CORRECTIONS or n ~= math.floor(n) then
  return redis.error_reply('ERR correct.lua: bad arguments')
end

local users = {}
for i = 1, n do
  users[i] = ARGV[5 * i - 3]
end
local holders = call('HMGET', buyers_key, unpack(users))
local sale = call('HMGET', sale_key, 'stock', 'returned', 'returned_at', 'epoch', 'building', 'returned_in', 'op',
  'extra')
local stock = number(sale[1])
local returned, returned_at = number(sale[2]) or 0, number(sale[3]) or 0
local epoch, building, returned_in = number(sale[4]) or 0, number(sale[5]) or 0, number(sale[6]) or 0
local op, extra = number(sale[7]), number(sale[8]) or 0
local now = clock()

local acted = {}
local set, removed = {}, {}
local changed = {} -- user id -> the order id that this call gave them, or '' for none
local units, more = 0, 0 -- units given back; change of the holders' units beyond one each
local function quantity(order)
  return tonumber(string.match(order, ':(%d+)$') or 1)
end
for i = 1, n do
  local at = 5 * i - 3
  local user, order, give_back, new_order, known = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local current = changed[user] or holders[i]
  if current ~= order then
    acted[i] = 0
  elseif known ~= 0 and not (op and known and op <= known) then
    acted[i] = 2
  else
    acted[i] = 1
    changed[user] = (new_order ~= '0') and new_order or ''
    more = more - (quantity(order) - 1) + (new_order ~= '0' and quantity(new_order) - 1 or 0)
    if give_back == '1' then
      units = units + quantity(order)
    end
  end
end
for user, order in pairs(changed) do
  removed[#removed + 1] = user
  if order ~= '' then
    set[#set + 1] = user
    set[#set + 1] = order
  end
end

-- A full Redis refuses only a script's first write, and never HDEL. So holders whose order changes are removed first: a
-- full Redis has to accept this call, because otherwise recording would stop and nothing would be freed.
if #removed > 0 then
  call('HDEL', buyers_key, unpack(removed))
end
if #set > 0 then
  call('HSET', buyers_key, unpack(set))
end
if units > 0 and stock then
  stock, returned = ripen(stock, returned, returned_at, now)
  stock, returned, returned_at = give_back(units, stock, returned, returned_at, now, delay)
  if building > 0 then
    returned_in = building
  end
  call('HSET', sale_key, 'stock', whole(stock), 'returned', whole(returned),
    'returned_at', whole(returned_at), 'returned_in', whole(returned_in))
end

if more ~= 0 and stock then
  call('HSET', sale_key, 'extra', whole(math.max(0, extra + more)))
  if building > 0 then
    returned_in = building
    call('HSET', sale_key, 'returned_in', whole(returned_in))
  end
end

local answer = {0}
if returned_in > 0 and returned_in == (building > 0 and building or epoch) then
  answer[1] = returned_in
end
for i = 1, n do
  answer[i + 1] = acted[i]
end
return answer
