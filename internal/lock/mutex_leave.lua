-- Ends a request for the mutex of which it is not known how often it reaches Redis, or whether it got the mutex,
-- because an answer was lost or the client repeats by itself: gives the mutex back if it has it, and wakes those who
-- wait. The outcome is kept in the latch: a repetition is told that it released, and does not touch a successor, and an
-- acquire that arrives only now does not succeed.
--
-- KEYS[1]  the lock     string (mutex_token.lua)
-- KEYS[2]  the latch of this owner: "1" he released, "0" he had nothing to release
-- ARGV[1]  owner
-- ARGV[2]  how long the release is remembered, milliseconds
-- ARGV[3]  channel on which waiters listen
--
-- Returns  1  released, now or by an earlier call of the same owner; published only now
--          0  the lock was not this owner's (any more); nothing but the latch was changed, nothing was published

local state = redis.call('GET', KEYS[1])
if state and string.sub(state, 1, #ARGV[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], '-' .. string.match(state, '^ (%d+)', #ARGV[1] + 1), 'PX', ARGV[2])
  redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[1])
  return 1
end
if redis.call('GET', KEYS[2]) == '1' then
  return 1
end
redis.call('SET', KEYS[2], '0', 'PX', ARGV[2])
return 0
