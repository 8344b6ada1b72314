-- Ends one hold; the last one frees the lock and wakes those who wait for it. What is left keeps its own lease. A
-- request that only waits is ended as well. The latch is that of mutex_leave.lua. After token.lua and the preludes of
-- reentrant_acquire.lua, which say who is woken (wake) and what waiting leaves behind (vacate).
--
-- KEYS[1]  the holds    as their prelude says
-- KEYS[2]  the counter  string, the last token; written again if it was lost meanwhile
-- KEYS[3]  the latch of this request: "1" it released, "0" it had nothing to release
-- KEYS[4]… the queue    queue.lua, of kinds that have one
-- ARGV[1]  owner
-- ARGV[2]  how long the latch is kept, milliseconds
-- ARGV[3]  channel on which waiters listen; of kinds that have a queue, what their channels begin with
-- ARGV[4]  request
--
-- Returns  1  released, now or by an earlier call of the same request; published only now, and only by the last hold
--          0  the request does not hold the lock (any more); no hold was changed

local now = clock()
if holding(KEYS[1], ARGV[1], ARGV[4], now) then
  keep_token(KEYS[2], redis.call('GET', KEYS[2]), token_of(KEYS[1]))
  drop(KEYS[1], ARGV[1], ARGV[4])
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  if settle(KEYS[1], now) == 0 then
    wake(ARGV[3], now)
  end
  return 1
end
if redis.call('GET', KEYS[3]) == '1' then
  return 1
end
redis.call('SET', KEYS[3], '0', 'PX', ARGV[2])
if vacate(ARGV[4]) then
  wake(ARGV[3], now)
end
return 0
