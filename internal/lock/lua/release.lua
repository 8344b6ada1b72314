-- Ends one hold; the last one frees the lock and wakes those who wait for it. What is left keeps its own lease. A
-- request that only waits is ended as well. After token.lua and the preludes of acquire.lua, which say who is woken
-- (wake) and what waiting leaves behind (vacate).
--
-- KEYS[1]  the holds       holds.lua
-- KEYS[2]  the high water  string; written again if it was lost meanwhile
-- KEYS[3]  the latch of this request: "1" it released, "0" it had nothing to release (mutex_release.lua)
-- KEYS[4]… the queue       queue.lua, of kinds that have one
-- ARGV[1]  the place       queue.lua; empty for kinds without a queue
-- ARGV[2]  how long the latch is kept, milliseconds
-- ARGV[3]  channel on which waiters listen; of kinds that have a queue, what their channels begin with
-- ARGV[4]  the hold
--
-- Returns  1  released, now or by an earlier call of the same request; published only now, and only by the last hold
--          0  the request does not hold the lock (any more); no hold was changed

local now = clock()
if holding(KEYS[1], ARGV[4], now) then
  local token = tonumber(token_of(KEYS[1]))
  drop(KEYS[1], ARGV[4]) -- gives memory back: what comes is allowed when Redis is full
  cover(KEYS[2], redis.call('GET', KEYS[2]), token)
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  if not settle(KEYS[1], now) then
    wake(ARGV[3], now)
  end
  return 1
end
if redis.call('GET', KEYS[3]) == '1' then
  return 1
end
redis.call('DEL', KEYS[3]) -- lets the next write through when Redis is full
redis.call('SET', KEYS[3], '0', 'PX', ARGV[2])
if vacate(ARGV[1]) then
  wake(ARGV[3], now)
end
return 0
