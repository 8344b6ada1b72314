-- Takes the mutex for an owner and hands out the next fencing token. Follows mutex_take.lua, which handles the most
-- frequent case and sets found, state and high, and token.lua.
--
-- The lock's key has one of two forms. While held: "owner token since label lease", with " w" appended once somebody
-- listens for the release. For a while after a release: "-token since", with the last token. No owner begins with "-".
-- All holders with a token of since or later, except a present one, have released. Without the key the mutex is free as
-- well, but its last holder may not have released: the lease ended, or Redis lost the key.
--
-- An owner is one call of TryLock or Lock. If this script is repeated with the same owner, the client did not get the
-- answer, and it gets the same token again. An owner who gave up is refused for a while, and so is one who released but
-- may have asked more than once: a request that was stuck in the network must not take the lock for a caller that has
-- left.
--
-- KEYS[1]  the lock        string, always with a time to live
-- KEYS[2]  the high water  string (token.lua)
-- KEYS[3]  the latch       string, this owner's release; exists for a while after it
-- ARGV[1]  owner
-- ARGV[2]  lease, milliseconds
-- ARGV[3]  the highest token that the client has seen
-- ARGV[4]  " label lease": the label of the owner's process, without spaces, and the lease again
-- ARGV[5]  "0" if the owner does not listen; otherwise it will be notified of the release
--
-- Returns  token       text: the lock is this owner's for a lease from now
--          {0, ms}     another owner has it, for ms more if not renewed (-1: without end, which only a foreign key
--                      can be). At most the mark that somebody listens was added, and a time to live longer than the
--                      holder's lease was shortened
--          {-1, 0}     this owner has released or given up already; nothing was changed

if found[2] then
  return {-1, 0}
end
if state and string.byte(state) ~= 45 then -- not "-"
  local size = #ARGV[1] + 1
  if string.sub(state, 1, size) == ARGV[1] .. ' ' then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return string.match(state, '^%d+', size + 1)
  end
  local left = redis.call('PTTL', KEYS[1])
  -- Redis's clock was set back since. A living holder gets a whole lease in which to renew; a dead one expires with it.
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
