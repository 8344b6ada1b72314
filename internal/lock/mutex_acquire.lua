-- Takes the mutex for an owner, and hands out the next fencing token with it. After token.lua.
--
-- An owner is one call of TryLock or Lock, so a repetition of this script with the same owner is a client that did not
-- hear the answer: it is told the same token again. An owner that has released or given up is refused for a while, so
-- that a request that was stuck in the network cannot take the lock for somebody who has left.
--
-- KEYS[1]  the lock    string "owner token", always with a time to live
-- KEYS[2]  the counter string, the last token handed out (token.lua)
-- KEYS[3]  the latch   string, this owner's release; exists for a while after it
-- ARGV[1]  owner
-- ARGV[2]  lease, milliseconds
-- ARGV[3]  the highest token that the client has seen
--
-- Returns  {1, token}  the lock is this owner's for a lease from now
--          {0, ms}     another owner has it, for so long if he does not renew (-1: for ever, which only a foreign
--                      key can be); nothing was changed
--          {-1, 0}     this owner has released or given up already; nothing was changed

local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
if found[3] then
  return {-1, 0}
end
local token
if not found[1] then
  token = next_token(KEYS[2], found[2], ARGV[3])
elseif string.sub(found[1], 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
  token = string.sub(found[1], #ARGV[1] + 2)
else
  return {0, redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token, 'PX', ARGV[2])
return {1, tonumber(token)}
