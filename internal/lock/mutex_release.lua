-- Gives the mutex back and wakes those who wait for it. The outcome is kept in the latch for a while: a repetition by
-- a client that did not hear the answer is told that it released, and does not touch a successor. After token.lua.
--
-- Called also by an owner who does not know whether he has the lock (his acquire's answer was lost). Then the latch
-- keeps an acquire that arrives only now from succeeding.
--
-- KEYS[1]  the lock     string "owner token"
-- KEYS[2]  the counter  string, the last token; written again if it was lost meanwhile
-- KEYS[3]  the latch of this owner: "1" he released, "0" he had nothing to release
-- ARGV[1]  owner
-- ARGV[2]  how long the latch is kept, milliseconds
-- ARGV[3]  channel on which waiters listen
--
-- Returns  1  released, now or by an earlier call of the same owner; published only now
--          0  the lock was not this owner's (any more); nothing but the latch was changed, nothing was published

local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
if found[1] and string.sub(found[1], 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
  keep_token(KEYS[2], found[2], string.sub(found[1], #ARGV[1] + 2))
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  redis.call('PUBLISH', ARGV[3], ARGV[1])
  return 1
end
if found[3] == '1' then
  return 1
end
redis.call('SET', KEYS[3], '0', 'PX', ARGV[2])
return 0
