-- Ends one hold; the last one frees the lock and wakes its waiters. Other holds keep their leases. It also ends a
-- request that only waits. Follows token.lua and the preludes of acquire.lua, which decide who is woken (wake) and
-- remove the place of a waiting request (vacate).
--
-- KEYS[1]  the holds       holds.lua
-- KEYS[2]  the high water  string; restored if it was lost
-- KEYS[3]  the latch of this request: "1" it released, "0" it had nothing to release (mutex_release.lua)
-- KEYS[4]… the queue       queue.lua, of kinds that have one
-- ARGV[1]  the place       queue.lua; empty for kinds without a queue
-- ARGV[2]  how long the latch is kept, milliseconds
-- ARGV[3]  channel of the waiters; for kinds with a queue, the prefix of their channels
-- ARGV[4]  the hold
--
-- Returns  1  released, now or by an earlier call of the same request; only the release that ends the last hold
--             publishes, and only once
--          0  the request does not, or no longer, hold the lock; no hold was changed

local now = clock()
if holding(KEYS[1], ARGV[4], now) then
  local token = tonumber(token_of(KEYS[1]))
  drop(KEYS[1], ARGV[4]) -- frees memory, so a full Redis accepts the next writes
  cover(KEYS[2], redis.call('GET', KEYS[2]), token)
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  if not remove_expired(KEYS[1], now) then
    wake(ARGV[3], now)
  end
  return 1
end
if redis.call('GET', KEYS[3]) == '1' then
  return 1
end
redis.call('DEL', KEYS[3]) -- lets a full Redis accept the next write
redis.call('SET', KEYS[3], '0', 'PX', ARGV[2])
if vacate(ARGV[1]) then
  wake(ARGV[3], now)
end
return 0
