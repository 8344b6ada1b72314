-- Ends one hold; the last one frees the lock and wakes those who wait for it. What is left keeps its own lease. The
-- latch is that of mutex_release.lua. After token.lua and holds.lua.
--
-- KEYS[1]  the lock     hash (holds.lua)
-- KEYS[2]  the counter  string, the last token; written again if it was lost meanwhile
-- KEYS[3]  the latch of this request: "1" it released, "0" it had nothing to release
-- ARGV[1]  owner
-- ARGV[2]  how long the latch is kept, milliseconds
-- ARGV[3]  channel on which waiters listen
-- ARGV[4]  request
--
-- Returns  1  released, now or by an earlier call of the same request; published only now, and only by the last hold
--          0  the request does not hold the lock (any more); nothing but the latch was changed, nothing was published

local now = clock()
if holding(KEYS[1], ARGV[1], ARGV[4], now) then
  keep_token(KEYS[2], redis.call('GET', KEYS[2]), redis.call('HGET', KEYS[1], 'token'))
  redis.call('HDEL', KEYS[1], ARGV[4])
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  if settle(KEYS[1], now) == 0 then
    redis.call('PUBLISH', ARGV[3], ARGV[1])
  end
  return 1
end
if redis.call('GET', KEYS[3]) == '1' then
  return 1
end
redis.call('SET', KEYS[3], '0', 'PX', ARGV[2])
return 0
