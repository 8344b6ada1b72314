-- holdings.lua: reads by which orders a user is a holder in sales, and whether what these lack does not exist.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order, as in seckill.lua; and so on, a pair for each sale, at least one
-- ARGV
--   1  user id
--
-- Returns a flat array, for each sale, in order: the order ("" when the user is no holder or the holders cannot be
-- read), 1 when the sale is whole, else 0 (it is missing, unreadable, being rebuilt, or another server opened it, as in
-- seckill.lua), epoch and sequence (0 when it is not whole).

local modes = {open = true, paused = true, off = true}
local info = redis.pcall('INFO', 'server')
local answer = {}

for i = 1, #KEYS, 2 do
  local sale = redis.pcall('HMGET', KEYS[i], 'mode', 'epoch', 'seq', 'building', 'server')
  local order = redis.pcall('HGET', KEYS[i + 1], ARGV[1])
  local epoch, seq = tonumber(sale[2] or ''), tonumber(sale[3] or '')
  local whole = sale[1] and modes[sale[1]] and epoch and seq and (tonumber(sale[4] or '') or 0) == 0
  if type(info) == 'string' and sale[5] and not string.find(info, sale[5], 1, true) then
    whole = false
  end
  if type(order) == 'table' then -- the key is no hash
    order, whole = '', false
  end
  local at = #answer
  answer[at + 1] = order or ''
  answer[at + 2], answer[at + 3], answer[at + 4] = whole and 1 or 0, whole and epoch or 0, whole and seq or 0
end
return answer
