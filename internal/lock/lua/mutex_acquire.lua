-- Takes the mutex for an owner, and hands out the next fencing token with it. After mutex_take.lua,
-- which begins it and sets found, state and high, and token.lua.
--
-- The lock's key says who has the mutex, "owner token since label lease", with " w" behind it when somebody listens
-- for the release; or, for a while after a release, "-token since" with the last token. No owner begins with "-".
-- From the token since on, every holder who is not there any more has released. Without the key the mutex is free
-- too, and nobody knows what became of the last holder: their lease was over, or Redis lost the key.
--
-- An owner is one call of TryLock or Lock, so a repetition of this script with the same owner is a client that did not
-- hear the answer: it is told the same token again. An owner who has given up is refused for a while, and so is one who
-- has released but may have asked more than once: a request that was stuck in the network cannot take the lock for
-- somebody who has left.
--
-- KEYS[1]  the lock        string, always with a time to live
-- KEYS[2]  the high water  string (token.lua)
-- KEYS[3]  the latch       string, this owner's release; exists for a while after it
-- ARGV[1]  owner
-- ARGV[2]  lease, milliseconds
-- ARGV[3]  the highest token that the client has seen
-- ARGV[4]  label of the owner's process, without spaces, and the lease again, a space before each
-- ARGV[5]  "0": the owner does not listen; else they are to hear of the release
--
-- Returns  token       text: the lock is this owner's for a lease from now
--          {0, ms}     another owner has it, for so long if they do not renew (-1: for ever, which only a foreign
--                      key can be); nothing was changed, but for the mark that somebody listens, and for a time to live
--                      that is longer than the owner's lease
--          {-1, 0}     this owner has released or given up already; nothing was changed

if found[2] then
  return {-1, 0}
end
if state and string.byte(state) ~= 45 then -- not "-"
  local size = #ARGV[1]
  if string.sub(state, 1, size) == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return string.match(state, '^ (%d+)', size + 1)
  end
  local left = redis.call('PTTL', KEYS[1])
  -- Redis's clock was set back since. A holder who lives has a whole lease to renew in; a dead one goes with it.
  local lease = tonumber(string.match(state, '^%S+ %d+ %d+ %S+ (%d+)'))
  if lease and left > lease then
    redis.call('PEXPIRE', KEYS[1], lease)
    left = lease
  end
  if ARGV[5] ~= '0' and left > 0 and string.sub(state, -2) ~= ' w' then
    redis.call('SET', KEYS[1], state .. ' w', 'KEEPTTL')
  end
  return {0, left}
end
local last, since
if state then
  last, since = string.match(state, '^-(%d+) (%d+)')
end
local token = next_token(KEYS[2], high, last, ARGV[3])
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token .. ' ' .. (since or token) .. ARGV[4], 'PX', ARGV[2])
return token
