-- Takes the mutex for an owner, and hands out the next fencing token with it.
--
-- An owner is one call of TryLock or Lock, so a repetition of this script with the same owner is a client that did not
-- hear the answer: it is told the same token again. An owner that has released or given up is refused for a while, so
-- that a request that was stuck in the network cannot take the lock for somebody who has left.
--
-- KEYS[1]  the lock    hash {owner, token}, always with a time to live
-- KEYS[2]  the counter string, the last token handed out; lives for a day after that, so that names that are used once
--                      leave nothing behind. Seeded with the time in microseconds, so that tokens go on rising after
--                      the counter has expired, or was lost with the rest of Redis
-- KEYS[3]  the latch   string, this owner's release; exists for a minute after it
-- ARGV[1]  owner
-- ARGV[2]  lease, milliseconds
--
-- Returns  {1, token}  the lock is this owner's for a lease from now
--          {0, ms}     another owner has it, for so long if he does not renew (-1: for ever, which only a foreign
--                      key can be); nothing was changed
--          {-1, 0}     this owner has released or given up already; nothing was changed

if redis.call('EXISTS', KEYS[3]) == 1 then
  return {-1, 0}
end
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] then
  return {0, redis.call('PTTL', KEYS[1])}
end
local token
if owner then
  token = redis.call('HGET', KEYS[1], 'token')
else
  if redis.call('EXISTS', KEYS[2]) == 0 then
    local now = redis.call('TIME')
    redis.call('SET', KEYS[2], now[1] .. string.rep('0', 6 - #now[2]) .. now[2])
  end
  redis.call('INCR', KEYS[2])
  redis.call('EXPIRE', KEYS[2], 86400)
  token = redis.call('GET', KEYS[2]) -- as text: a number of this size does not survive Lua's own formatting
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'token', token)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, tonumber(token)}
