-- replay.lua: queues the order of a dead letter again and removes the dead letter, in one step. So the order is queued
-- once, however often and by however many callers the call is sent.
--
-- KEYS (one hash slot)
--   1  dead    stream
--   2  orders  stream
--   3  buyers  hash  user id -> order, as in seckill.lua, of the voucher's sale
-- ARGV
--   1  id of the dead letter
--   2  voucher id, 3 user id, 4 order id
--
-- Returns 1 (queued), 0 (there is no such dead letter: it was replayed or discarded before) or 2 (the user does not
-- hold this order, so nothing shows that it was accepted and still waits; the dead letter stays).
--
-- The entry names the order and its units as the holder does, because a damaged entry may have lost them, and the
-- holder shows what was taken from the stock. Like an order queued by a rebuild, it has epoch and sequence 0: a damaged
-- entry's own sequence could raise the ledger's above any that Redis has given.

if #ARGV ~= 4 then
  return redis.error_reply('ERR replay.lua: bad arguments')
end
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then
  return 0
end
local held = redis.call('HGET', KEYS[3], ARGV[3])
if not held or (held ~= ARGV[4] and string.match(held, '^(%d+):%d+$') ~= ARGV[4]) then
  return 2
end
redis.call('XADD', KEYS[2], '*', 'v', ARGV[2], 'u', ARGV[3], 'o', held, 'e', '0', 's', '0')
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
