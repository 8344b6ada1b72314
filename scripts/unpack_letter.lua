-- unpack_letter.lua: replaces the dead letter of a packed entry by one for each of its orders, because replaying and
-- discarding work on single orders. All or nothing; repeating it does nothing.
--
-- KEYS
--   1  dead  stream
-- ARGV
--   1  id of the dead letter
--   2… user, order, user, order… from its field raw.p. The caller has split the field and checked that at least one
--      of them is readable (internal/redisstore/packed.go); unreadable ones become dead letters as well
--
-- Returns the number of new dead letters; 0 if there is none with this id, or it is not of a packed entry. Epoch and
-- sequence are only for people: they are copied if present.
--
-- Needs: number

local orders = (#ARGV - 1) / 2
if orders < 1 or orders ~= math.floor(orders) then
  return redis.error_reply('ERR unpack_letter.lua: bad arguments')
end
local letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
local of = {}
for i = 1, letter and #letter[2] or 0, 2 do
  of[letter[2][i]] = letter[2][i + 1]
end
if not of['raw.p'] then
  return 0
end
local sequence = tonumber(of['raw.s'] or '') or 0
for i = 1, orders do
  local fields = {'key', of['key'] or '', 'why', of['why'] or '', 'raw.v', of['raw.v'] or '', 'raw.u', ARGV[2 * i], 'raw.o', ARGV[2 * i + 1]}
  if of['raw.e'] then
    fields[#fields + 1], fields[#fields + 2] = 'raw.e', of['raw.e']
  end
  if of['raw.s'] then
    fields[#fields + 1], fields[#fields + 2] = 'raw.s', sequence > 0 and whole(sequence + i - 1) or of['raw.s']
  end
  redis.call('XADD', KEYS[1], '*', unpack(fields))
end
redis.call('XDEL', KEYS[1], ARGV[1])
return orders
