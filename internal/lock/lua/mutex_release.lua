-- Gives the mutex back and wakes those who wait for it. After mutex_free.lua.
--
-- An owner who was told their token, and whose requests reach Redis once, has no latch: a repetition is recognised by
-- the token. Of all others it is not known how often they reach Redis, or whether they got the mutex. The outcome is
-- kept in their latch: a repetition is told that it released, and does not touch a successor, and an acquire that
-- arrives only now does not succeed.
--
-- KEYS[1]  the lock   string (mutex_acquire.lua)
-- KEYS[2]  the latch  "1" this owner released, "0" they had nothing to release; only if it has to be kept
-- ARGV[1]  owner
-- ARGV[2]  how long the release is remembered, milliseconds
-- ARGV[3]  channel on which waiters listen
-- ARGV[4]  what to publish in any case; if it is empty, "freed" is, and only if the lock is marked
-- ARGV[5]  the owner's token, if this was asked before and may have been done; else empty
--
-- Returns  1  released, now or by an earlier call of the same owner; published only now
--          0  the lock was not this owner's (any more); nothing but the latch was changed, nothing was published

local state = redis.call('GET', KEYS[1])
if state and string.sub(state, 1, #ARGV[1]) == ARGV[1] then
  free(KEYS[1], '-' .. string.match(state, '^ (%d+ %d+)', #ARGV[1] + 1), ARGV[2])
  if KEYS[2] then
    redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  end
  if ARGV[4] ~= '' then
    redis.call('PUBLISH', ARGV[3], ARGV[4])
  elseif string.sub(state, -2) == ' w' then
    redis.call('PUBLISH', ARGV[3], 'freed')
  end
  return 1
end
if KEYS[2] then
  if redis.call('GET', KEYS[2]) == '1' then
    return 1
  end
  redis.call('DEL', KEYS[2]) -- lets the next write through when Redis is full
  redis.call('SET', KEYS[2], '0', 'PX', ARGV[2])
elseif released(state, ARGV[5]) then
  return 1
end
return 0
