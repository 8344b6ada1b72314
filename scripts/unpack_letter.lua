-- unpack_letter.lua: replaces the dead letter of a packed entry by one for each of its orders, as replaying and discarding take
-- one order. All or nothing; a second call does nothing.
--
-- KEYS
--   1  dead  stream
-- ARGV
--   1  id of the dead letter; the caller has seen that its entry can be read (internal/redisstore/packed.go)
--
-- Returns how many dead letters it became; 0 if there is none with this id, or it is of no packed entry.

if #ARGV ~= 1 then
  return redis.error_reply('ERR unpack_letter.lua: bad arguments')
end
local letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
local of = {}
for i = 1, letter and #letter[2] or 0, 2 do
  of[letter[2][i]] = letter[2][i + 1]
end
local sequence, orders = tonumber(of['raw.s'] or ''), 0
if not (sequence and of['raw.v'] and of['raw.e'] and of['raw.p']) then
  return 0
end
for user, order in string.gmatch(of['raw.p'], '(%S+) (%S+)') do
  redis.call('XADD', KEYS[1], '*', 'key', of['key'] or '', 'why', of['why'] or '', 'raw.v', of['raw.v'], 'raw.u', user, 'raw.o', order,
    'raw.e', of['raw.e'], 'raw.s', string.format('%.0f', sequence > 0 and sequence + orders or 0))
  orders = orders + 1
end
redis.call('XDEL', KEYS[1], ARGV[1])
return orders
