-- views.lua: reads several sales at the same moment.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order id; and so on, a pair for each sale, at least one
-- ARGV: none
--
-- Returns a flat array: now (Redis's clock in milliseconds since 1970), then for each sale, in order: mode ("" when there
-- is no readable sale, "rebuild" also when another server opened it, as in seckill.lua), epoch, sequence, stock (returned
-- and reserved units included, but not one that is reserved for an acceptance), buyers, begin, end (milliseconds since 1970), number of the last operation that it
-- contains, the epoch of the rebuild under way (0: none), the units that the buyers have beyond one each, and the texts of
-- op_id and decided ("" for none). Without a readable sale, the other numbers but buyers are 0.
--
-- Each sale fails alone: a key of another type or a field that is not a number makes only that sale unreadable. A sale
-- that sells although a rebuild is marked as under way was changed by hand: its mode is "rebuild" as well.
--
-- Needs: clock, number, sale, server

local answer = {clock()}

for i = 1, #KEYS, 2 do
  local sale = redis.pcall('HMGET', KEYS[i], 'mode', 'epoch', 'seq', 'stock', 'begin', 'end', 'returned', 'reserved', 'op',
    'building', 'server', 'extra', 'reserved_units', 'reserved_kept', 'op_id', 'decided')
  local buyers = redis.pcall('HLEN', KEYS[i + 1])
  local mode = sale[1] -- nil: the key is not a hash
  local readable = mode and MODES[mode]
  if type(buyers) ~= 'number' then
    buyers, readable = 0, false
  end
  local fields = {}
  for f = 2, 10 do
    fields[f] = number(sale[f])
    if not fields[f] and f <= 6 then
      readable = false
    end
    fields[f] = fields[f] or 0
  end
  local at = #answer
  if fields[10] > 0 or other_server(sale[11]) then
    mode = 'rebuild'
  end
  if readable then
    local stock = unsold(fields[4], fields[7], fields[8], number(sale[13]), sale[14])
    answer[at + 1], answer[at + 2], answer[at + 3] = mode, fields[2], fields[3]
    answer[at + 4], answer[at + 5] = stock, buyers
    answer[at + 6], answer[at + 7], answer[at + 8], answer[at + 9] = fields[5], fields[6], fields[9], fields[10]
    answer[at + 10] = number(sale[12]) or 0
    answer[at + 11], answer[at + 12] = sale[15] or '', sale[16] or ''
  else
    answer[at + 1], answer[at + 2], answer[at + 3] = '', 0, 0
    answer[at + 4], answer[at + 5] = 0, buyers
    answer[at + 6], answer[at + 7], answer[at + 8], answer[at + 9] = 0, 0, 0, fields[10]
    answer[at + 10], answer[at + 11], answer[at + 12] = 0, '', ''
  end
end
return answer
