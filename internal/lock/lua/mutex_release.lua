-- Releases the mutex: hands it to a next owner in the same process, without a message, or frees it for all and wakes
-- the waiters. Follows mutex_free.lua, and token.lua if there is a next owner.
--
-- If the owner knows its token and its requests reach Redis once, no latch is needed: the token identifies a
-- repetition. Otherwise an acquire may still be on its way, or have succeeded unnoticed. Then the outcome is stored in
-- the owner's latch: a repeated release gets the same answer and does not touch a successor, and an acquire that
-- arrives later fails. Only the release that ends the hold hands the mutex on; a late repetition does not.
--
-- KEYS[1]  the lock        string (mutex_acquire.lua)
-- KEYS[2]  the high water  string (token.lua)
-- KEYS[3]  the latch       "1" this owner released, "0" it had nothing to release; used only if latched
-- KEYS[4]  the latch of the next owner
-- ARGV[1]  the message to publish; if empty, "freed" is published, and only if the lock is marked as listened for
-- ARGV[2]  how long the release is remembered, milliseconds
-- ARGV[3]  channel on which waiters listen
-- ARGV[4]  owner
-- ARGV[5]  "latched": use the latch; the owner's token: this may be a repetition; empty: neither
-- ARGV[6]  the next owner, if there is one
-- ARGV[7]  the next owner's lease, milliseconds
-- ARGV[8]  the highest token that the client has seen
-- ARGV[9]  " label lease" of the next owner (mutex_acquire.lua)
--
-- Returns  token  text: released, and the next owner has the mutex for a lease from now; also if this is repeated
--          1      released, now or by an earlier call of the same owner; only the first publishes. A next owner does
--                 not have the mutex: it gave up, or had it and lost it
--          0      the lock was not, or no longer, this owner's; only the latch was changed, and nothing was published

local state, latched = redis.call('GET', KEYS[1]), ARGV[5] == 'latched'
if state and string.sub(state, 1, #ARGV[4] + 1) == ARGV[4] .. ' ' then
  local last, since = string.match(state, '^(%d+) (%d+)', #ARGV[4] + 2)
  local mark = string.sub(state, -2) == ' w' and ' w' or ''
  local token
  if ARGV[6] and redis.call('EXISTS', KEYS[4]) == 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[7]) -- lets a full Redis accept the next writes
    token = next_token(KEYS[2], redis.call('GET', KEYS[2]), last, ARGV[8])
    redis.call('SET', KEYS[1], ARGV[6] .. ' ' .. token .. ' ' .. since .. ARGV[9] .. mark, 'PX', ARGV[7])
  else
    free(KEYS[1], '-' .. last .. ' ' .. since, ARGV[2])
  end
  if latched then
    redis.call('SET', KEYS[3], '1', 'PX', ARGV[2])
  end
  if token then
    return token
  end
  if ARGV[1] ~= '' then
    redis.call('PUBLISH', ARGV[3], ARGV[1])
  elseif mark ~= '' then
    redis.call('PUBLISH', ARGV[3], 'freed')
  end
  return 1
end
if latched and redis.call('GET', KEYS[3]) ~= '1' then
  redis.call('DEL', KEYS[3]) -- lets a full Redis accept the next write
  redis.call('SET', KEYS[3], '0', 'PX', ARGV[2])
  return 0
elseif not latched and not released(state, ARGV[5]) then
  return 0
end
if ARGV[6] and state and string.sub(state, 1, #ARGV[6] + 1) == ARGV[6] .. ' ' then
  return string.match(state, '^%d+', #ARGV[6] + 2)
end
return 1
