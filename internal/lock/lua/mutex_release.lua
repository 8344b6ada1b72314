-- Gives the mutex back: to one who waits for it in the same process, with no message, else to all, and wakes those who
-- wait. After mutex_free.lua; and token.lua, where a next one is named.
--
-- An owner who was told their token, and whose requests reach Redis once, has no latch: a repetition is recognised by
-- the token. Of all others it is not known how often they reach Redis, or whether they got the mutex. The outcome is
-- kept in their latch: a repetition is told that it released, and does not touch a successor, and an acquire that
-- arrives only now does not succeed. Only the owner's release hands the mutex on, so one that arrives late does not.
--
-- KEYS[1]  the lock        string (mutex_acquire.lua)
-- KEYS[2]  the high water  string (token.lua)
-- KEYS[3]  the latch       "1" this owner released, "0" they had nothing to release; only if it has to be kept
-- KEYS[4]  the latch of the next one
-- ARGV[1]  what to publish in any case; if it is empty, "freed" is, and only if the lock is marked
-- ARGV[2]  how long the release is remembered, milliseconds
-- ARGV[3]  channel on which waiters listen
-- ARGV[4]  owner
-- ARGV[5]  "latched": the latch is kept; the owner's token, if this was asked before and may have been done; else empty
-- ARGV[6]  the next one, if there is one
-- ARGV[7]  their lease, milliseconds
-- ARGV[8]  the highest token that the client has seen
-- ARGV[9]  their label and lease, a space before each (mutex_acquire.lua)
--
-- Returns  token  text: released, and the next one has the mutex for a lease from now; also when this is repeated
--          1      released, now or by an earlier call of the same owner; published only now. The next one has given up,
--                 or has had it
--          0      the lock was not this owner's (any more); nothing but the latch was changed, nothing was published

local state, latched = redis.call('GET', KEYS[1]), ARGV[5] == 'latched'
if state and string.sub(state, 1, #ARGV[4]) == ARGV[4] then
  local last, since = string.match(state, '^ (%d+) (%d+)', #ARGV[4] + 1)
  local mark = string.sub(state, -2) == ' w' and ' w' or ''
  local token
  if ARGV[6] and redis.call('EXISTS', KEYS[4]) == 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[7]) -- lets the next writes through when Redis is full
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
  redis.call('DEL', KEYS[3]) -- lets the next write through when Redis is full
  redis.call('SET', KEYS[3], '0', 'PX', ARGV[2])
  return 0
elseif not latched and not released(state, ARGV[5]) then
  return 0
end
if ARGV[6] and state and string.sub(state, 1, #ARGV[6]) == ARGV[6] then
  return string.match(state, '^ (%d+)', #ARGV[6] + 1)
end
return 1
