-- views.lua: reads sales, all at one moment.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order id; and so on, a pair for each sale, at least one
-- ARGV: none
--
-- Returns a flat array: now (Redis's clock in milliseconds since 1970), then for each sale, in order: mode ("" when there
-- is no readable sale, "rebuild" also when another server opened it, as in seckill.lua), epoch, sequence, stock (returned
-- and reserved units included), buyers, begin, end (milliseconds since 1970), number of the last operation that it
-- contains. Without a readable sale, all but buyers are 0. A key of another type is no readable sale, and no holders: it
-- spoils its own sale's answer and no other's.

local clock = redis.call('TIME')
local answer = {tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)}
local modes = {open = true, paused = true, off = true, rebuild = true}

local info = redis.pcall('INFO', 'server')

for i = 1, #KEYS, 2 do
  local sale = redis.pcall('HMGET', KEYS[i], 'mode', 'epoch', 'seq', 'stock', 'begin', 'end', 'returned', 'reserved', 'op',
    'server')
  local buyers = redis.pcall('HLEN', KEYS[i + 1])
  local mode = sale[1] -- nil when the key is no hash
  local readable = mode and modes[mode]
  if type(buyers) ~= 'number' then
    buyers, readable = 0, false
  end
  local fields = {}
  for f = 2, 9 do
    fields[f] = sale[f] and tonumber(sale[f])
    if not fields[f] and f <= 6 then
      readable = false
    end
    fields[f] = fields[f] or 0
  end
  local at = #answer
  if type(info) == 'string' and sale[10] and not string.find(info, sale[10], 1, true) then
    mode = 'rebuild'
  end
  if readable then
    local stock = fields[4] + fields[7] + (fields[8] > 0 and 1 or 0)
    answer[at + 1], answer[at + 2], answer[at + 3] = mode, fields[2], fields[3]
    answer[at + 4], answer[at + 5] = stock, buyers
    answer[at + 6], answer[at + 7], answer[at + 8] = fields[5], fields[6], fields[9]
  else
    answer[at + 1], answer[at + 2], answer[at + 3] = '', 0, 0
    answer[at + 4], answer[at + 5] = 0, buyers
    answer[at + 6], answer[at + 7], answer[at + 8] = 0, 0, 0
  end
end
return answer
