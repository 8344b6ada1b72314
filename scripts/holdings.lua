-- holdings.lua: reads which orders a user holds in several sales, and whether each sale is complete enough to tell.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order, as in seckill.lua; and so on, a pair for each sale, at least one
-- ARGV
--   1  user id
--
-- Returns a flat array, for each sale in order: the order ("" if the user is no holder or the holders cannot be read);
-- 1 if the sale is whole, else 0 (it is missing, unreadable, being rebuilt, or was opened by another server, as in
-- seckill.lua); epoch and sequence (0 if it is not whole).
--
-- Needs: number, sale, server

local answer = {}

for i = 1, #KEYS, 2 do
  local sale = redis.pcall('HMGET', KEYS[i], 'mode', 'epoch', 'seq', 'building', 'server')
  local order = redis.pcall('HGET', KEYS[i + 1], ARGV[1])
  local mode, epoch, seq = sale[1], number(sale[2]), number(sale[3])
  local entire = mode and MODES[mode] and mode ~= 'rebuild' and epoch and seq and (number(sale[4]) or 0) == 0
    and not other_server(sale[5])
  if type(order) == 'table' then -- the key is not a hash
    order, entire = '', false
  end
  local at = #answer
  answer[at + 1] = order or ''
  answer[at + 2], answer[at + 3], answer[at + 4] = entire and 1 or 0, entire and epoch or 0, entire and seq or 0
end
return answer
